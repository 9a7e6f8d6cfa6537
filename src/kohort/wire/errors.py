"""The one way in which this room refuses bytes."""


class DecodeError(Exception):
    """Bytes that are no message or no record batch: malformed, cut short, or beyond a bound. The text names what."""
