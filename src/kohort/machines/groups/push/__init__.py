"""How long which client's heartbeat may be held, so that news reaches it at once."""
