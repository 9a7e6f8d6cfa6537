"""The catalog: cluster id, broker registry, topics and their settings, as one pure state machine."""
