"""Bytes to values and back, sans I/O: frames, Kafka's messages, record batches. The only room that knows kio."""
