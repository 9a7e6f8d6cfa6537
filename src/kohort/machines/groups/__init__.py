"""The coordinator of consumer groups: one machine for each partition of an org's __consumer_offsets."""
