"""Simulated members of a KIP-848 group: what each says next, and what it makes of the answer. No sockets, no clock.

They do what librdkafka does: one heartbeat at a time; a full one until the first partitions come; at once another, with
all that is owned, when an assignment changed; otherwise nothing but the epoch. The few bytes of ConsumerGroupHeartbeat
version 1 are made and read here by hand, since a load of ten thousand members must cost less than its broker; the tests
hold them against kio. Next hop: group_swarm.py sends them.
"""

import base64
import math
from collections.abc import Sequence
from struct import Struct
from typing import Final

from bench.connection import LoadError
from bench.frames import CLIENT_ID
from bench.group_ownership import Ownership

LEAVING: Final = -1
_API_KEY: Final = 68
_REBALANCE_TIMEOUT_MS: Final = 300_000
_HEADER: Final = Struct(">hhi")
_NUMBER: Final = Struct(">i")
_SHORT: Final = Struct(">h")
_ANSWER: Final = Struct(">iibih")
"""Size, correlation id, tags, throttle time, error code."""
_EPOCH_AND_INTERVAL: Final = Struct(">iib")
"""The third says whether an assignment follows."""
_TOPIC_ID_SIZE: Final = 16
_UNCHANGED: Final = b"\0\0" + _NUMBER.pack(-1) + b"\0\0\0\0\0"
"""No instance, no rack, no timeout; subscription, pattern, assignor and partitions as they were; no tags."""

Partition = tuple[bytes, int]
"""A topic's id and a number."""


class SimulatedGroup:
    """What all members of one group share."""

    def __init__(self, name: str, topics: Sequence[str], partition_count: int) -> None:
        self.name = name
        self.ownership = Ownership(partition_count)
        self.changes = 0
        """How often somebody gained partitions or gave them up."""
        names = b"".join(_string(topic) for topic in topics)
        self.subscription = (
            b"\0\0" + _NUMBER.pack(_REBALANCE_TIMEOUT_MS) + _count(len(topics)) + names + b"\0\0" + _count(0) + b"\0"
        )
        """The end of a full heartbeat: this subscription, and nothing owned."""


class SimulatedMember:
    """One member; it speaks when its driver asks it to, and owns what it was given."""

    def __init__(self, group: SimulatedGroup, number: int) -> None:
        self.interval_s = 0.0
        self.is_gone = False
        self._group = group
        self._number = number
        self.member_id = base64.urlsafe_b64encode(number.to_bytes(16)).rstrip(b"=").decode()
        self.epoch = 0
        self._owned: frozenset[Partition] = frozenset()
        self._has_partitions_to_tell = False
        self._head = (
            _HEADER.pack(_API_KEY, 1, 0)
            + _SHORT.pack(len(CLIENT_ID))
            + CLIENT_ID.encode()
            + b"\0"
            + _string(group.name)
            + _string(self.member_id)
        )
        self._quiet_answer = b""
        """The last answer with nothing new in it: the same bytes again need not be read."""

    def request(self) -> bytes:
        """The frame it sends now."""
        if self._has_partitions_to_tell:
            self._has_partitions_to_tell = False
            return self._frame(_UNCHANGED[:-2] + _partitions(self._owned) + b"\0")
        return self._frame(_UNCHANGED if self._owned else self._group.subscription)

    def enter(self) -> None:
        """From the moment of its first heartbeat on it is to own its share."""
        self._group.ownership.enter(self._number)

    def leave_request(self) -> bytes:
        """The frame that ends its membership; it owns nothing any more."""
        self.epoch, self.interval_s = LEAVING, math.inf
        self._group.ownership.vanish(self._number)
        self._group.changes += bool(self._owned)
        return self._frame(_UNCHANGED)

    def answered(self, answer: bytes) -> bool:
        """Reads the answer; whether it wants to speak again at once."""
        if answer == self._quiet_answer:
            return False
        position = self._epoch_position(answer)
        epoch, interval_ms, has_assignment = _EPOCH_AND_INTERVAL.unpack_from(answer, position)
        if self.epoch == LEAVING:
            self.is_gone = epoch == LEAVING
            return False
        self.epoch, self.interval_s = epoch, interval_ms / 1000
        if has_assignment < 0:
            self._quiet_answer = answer
            return False
        return self._take(read_partitions(answer, position + _EPOCH_AND_INTERVAL.size))

    def _take(self, assigned: frozenset[Partition]) -> bool:
        if assigned == self._owned:
            return False
        ownership = self._group.ownership
        ownership.give_up(self._number, self._owned - assigned)
        ownership.gain(self._number, assigned - self._owned)
        if ownership.contested:
            raise LoadError(f"{self.member_id} was given partitions that another still owns")
        self._group.changes += 1
        self._owned = assigned
        self._has_partitions_to_tell = True
        return True

    def _epoch_position(self, answer: bytes) -> int:
        """Where the epoch stands in an answer that is this member's and no error."""
        *_, error = _ANSWER.unpack_from(answer)
        expected = b"\0" + _string(self.member_id)
        position = _ANSWER.size + len(expected)
        if error or answer[_ANSWER.size : position] != expected:
            raise LoadError(f"the heartbeat of {self.member_id} at epoch {self.epoch} got error {error}: {answer!r}")
        return position

    def _frame(self, tail: bytes) -> bytes:
        body = self._head + _NUMBER.pack(self.epoch) + tail
        return _NUMBER.pack(len(body)) + body


def read_partitions(answer: bytes, position: int) -> frozenset[Partition]:
    """The partitions of an assignment that begins here."""
    partitions: list[Partition] = []
    topic_count, position = _read_count(answer, position)
    for _ in range(topic_count):
        topic_id = answer[position : position + _TOPIC_ID_SIZE]
        count, position = _read_count(answer, position + _TOPIC_ID_SIZE)
        numbers = Struct(f">{count}i").unpack_from(answer, position)
        partitions += [(topic_id, number) for number in numbers]
        position += 4 * count + 1
    return frozenset(partitions)


def _partitions(owned: frozenset[Partition]) -> bytes:
    numbers: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(owned):
        numbers.setdefault(topic_id, []).append(number)
    topics = [
        topic_id + _count(len(found)) + Struct(f">{len(found)}i").pack(*found) + b"\0"
        for topic_id, found in numbers.items()
    ]
    return _count(len(topics)) + b"".join(topics)


def _string(text: str) -> bytes:
    return _count(len(text)) + text.encode()


def _count(count: int) -> bytes:
    """Of a compact array or string: one more, as an unsigned varint."""
    rest = count + 1
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _read_count(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number - 1, position
        shift += 7
