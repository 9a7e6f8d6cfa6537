"""What consumers of the classic protocol say to each other, as far as a coordinator must understand it.

Machines know no bytes, so they are given the reader and writer of wire/consumer_protocol.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

CONSUMER_PROTOCOL_TYPE: Final = "consumer"

OwnedPartitions = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Subscription:
    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: OwnedPartitions | None = None
    """None in a version that does not say."""
    generation_id: int = -1
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class ConsumerAssignment:
    partitions: OwnedPartitions
    user_data: bytes | None = None


class ConsumerProtocol(Protocol):
    def decode_subscription(self, data: bytes) -> Subscription | None:
        """None if that is no subscription."""

    def decode_assignment(self, data: bytes) -> ConsumerAssignment | None:
        """None if that is no assignment."""

    def encode_assignment(self, version: int, assignment: ConsumerAssignment) -> bytes: ...
