"""How the real clients differ, as far as a coordinator can see it (GROUPS.md 2).

Next hop: client.py and consumer_member.py, which behave like that.
"""

from typing import NamedTuple


class Software(NamedTuple):
    name: str
    """As its ApiVersions request says."""
    request_timeout_ms: int = 30_000
    waits_for_interval_only: bool = False
    """A heartbeat that is not answered within the heartbeat interval costs the connection."""
    says_all_without_partitions: bool = False
    """As long as it owns nothing, each heartbeat says all about the member."""
    counts_from_answer: bool = False
    """The next heartbeat comes an interval after the last answer, not after the last request."""
    acknowledges_nothing: bool = False
    """It acknowledges a first assignment that is empty."""
    pipelines_heartbeats: bool = False
    """In the classic protocol it sends the next heartbeat whether the last one was answered or not."""


JAVA = Software("apache-kafka-java", acknowledges_nothing=True, pipelines_heartbeats=True)
LIBRDKAFKA = Software("librdkafka", waits_for_interval_only=True, says_all_without_partitions=True)
FRANZ_GO = Software("kgo", request_timeout_ms=10_000, says_all_without_partitions=True, counts_from_answer=True)
UNHEARD_OF = Software("")

ALL = (JAVA, LIBRDKAFKA, FRANZ_GO, UNHEARD_OF)
