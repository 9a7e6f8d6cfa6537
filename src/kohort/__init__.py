"""kohort: a Kafka-compatible broker that you pip install."""

__version__ = "0.1.0"
