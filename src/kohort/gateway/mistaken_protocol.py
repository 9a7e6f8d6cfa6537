"""Which protocol a client speaks that does not speak Kafka's: for the log, so that nobody has to guess."""

_HTTP_BEGINNINGS = (
    b"GET ",
    b"POST ",
    b"PUT ",
    b"HEAD ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"PRI * HTTP",
)
_TLS_HANDSHAKE = b"\x16\x03"


def mistaken_protocol(beginning: bytes) -> str | None:
    """Its name, or None if these bytes look like nothing known. Taken for a size, all of them exceed every limit."""
    if beginning.startswith(_TLS_HANDSHAKE):
        return "TLS"
    if beginning.startswith(_HTTP_BEGINNINGS):
        return "HTTP"
    return None
