"""One file for each Kafka API: which versions work, and how a request becomes a command and an answer a message."""
