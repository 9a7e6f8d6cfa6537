"""A store that forgets: the same Protocol in plain lists, for tests and throw-away brokers."""
