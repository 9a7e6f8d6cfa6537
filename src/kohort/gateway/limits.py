"""How much a gateway lets clients take. Kafka's names where the limit is Kafka's; -1 is without limit.

Next hop: listener.py and connection.py, which hold clients to it.
"""

from dataclasses import dataclass
from typing import Final

from kohort.model.settings import BrokerSettings

MAX_IN_FLIGHT: Final = 1024
"""Requests of one connection that may wait for their answers at once; those behind stay in the socket."""


@dataclass(frozen=True, slots=True)
class Limits:
    max_connections: int = (1 << 31) - 1
    max_connections_per_ip: int = (1 << 31) - 1
    connections_max_idle_ms: int = 600_000
    socket_request_max_bytes: int = 100 << 20
    queued_max_request_bytes: int = 256 << 20
    """All requests that were handled and wait for their answers; and, once more, all large ones still arriving."""
    unsent_max_bytes: int = 8 << 20
    """Answers of one connection that its client has not taken yet; above, its requests are left in the socket."""
    stalled_client_ms: int = 30_000
    """How long a client may leave a request half sent or its answers unread without a byte moving."""


def limits_of(settings: BrokerSettings) -> Limits:
    """The limits that an operator has set."""
    return Limits(
        max_connections=settings.max_connections,
        max_connections_per_ip=settings.max_connections_per_ip,
        connections_max_idle_ms=settings.connections_max_idle_ms,
        socket_request_max_bytes=settings.socket_request_max_bytes,
        queued_max_request_bytes=settings.queued_max_request_bytes,
    )
