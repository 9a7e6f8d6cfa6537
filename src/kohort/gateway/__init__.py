"""Sockets and Kafka's API versions. Stateless: whatever must be remembered is the broker's."""
