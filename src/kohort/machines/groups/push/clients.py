"""What is known of each client: how long it bears to wait for the answer to a heartbeat (GROUPS.md 2 and 3.5).

Found in the sources of the clients and by experiment. A client that is not here may stop consuming while it waits, as
KafkaJS does, or take the connection for dead: it is always answered at once.

Next hop: push.py, which reckons with it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kohort.model.commands.groups import Origin


class Bearing(NamedTuple):
    """How long a client's heartbeats may be held; 0 is not at all."""

    classic_ms: int = 0
    classic_static_ms: int = 0
    """Of a static member."""
    consumer_margin_ms: int = 0
    """In the consumer protocol: until this long before the next heartbeat is due."""
    consumer_ms: int = 0
    """In the consumer protocol, if the client counts its interval from the answer: so long, whatever the interval."""
    bears_held_join: bool = False
    """The first heartbeat of a consumer may wait too: the client would not come back before its interval is over."""


NO_BEARING: Final = Bearing()

_ALMOST_THREE_SECONDS: Final = 2800
"""Nearly the heartbeat.interval.ms that every client has by default."""

# Disconnects if a heartbeat of the consumer protocol takes longer than the interval, so its margin is the larger one.
_LIBRDKAFKA: Final = Bearing(_ALMOST_THREE_SECONDS, _ALMOST_THREE_SECONDS, consumer_margin_ms=300, bears_held_join=True)

_BY_SOFTWARE: Final[Mapping[str, Bearing]] = {
    # A static member waits for its held heartbeat when it is closed. Beyond the interval, both its threads spin.
    "apache-kafka-java": Bearing(_ALMOST_THREE_SECONDS, 1000, consumer_margin_ms=150),
    "librdkafka": _LIBRDKAFKA,
    "confluent-kafka-python": _LIBRDKAFKA,
    "confluent-kafka-go": _LIBRDKAFKA,
    "confluent-kafka-dotnet": _LIBRDKAFKA,
    "confluent-kafka-javascript": _LIBRDKAFKA,
    # Counts its interval from the answer, and reads for 10 s.
    "kgo": Bearing(_ALMOST_THREE_SECONDS, _ALMOST_THREE_SECONDS, consumer_ms=3000, bears_held_join=True),
    # The end of its session waits for the heartbeat.
    "sarama": Bearing(1000, 1000),
    "kafka-python": Bearing(_ALMOST_THREE_SECONDS, _ALMOST_THREE_SECONDS),
}

_AIOKAFKA: Final = Bearing(_ALMOST_THREE_SECONDS, _ALMOST_THREE_SECONDS)


def bearing_of(origin: Origin) -> Bearing:
    known = _BY_SOFTWARE.get(origin.software_name)
    if known is not None:
        return known
    if "rdkafka" in origin.software_version:
        return _LIBRDKAFKA  # As in 2.16.1-rdkafka-2.16.0: a binding tells its own name and what it is built on.
    if not origin.software_name and origin.client_id.startswith("aiokafka-"):
        return _AIOKAFKA  # It tells no name; this is how its default client id begins.
    return NO_BEARING
