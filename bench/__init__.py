"""Measures every figure that kohort promises, each beside Apache Kafka in the same run: `python -m bench --list`."""
