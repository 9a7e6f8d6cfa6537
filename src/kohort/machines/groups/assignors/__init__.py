"""How partitions are divided among the members of a group of the consumer protocol: one file for each assignor."""
