"""A process that holds consumers of librdkafka, each polled by a thread of its own, and tells what happens to them.

Started by group_crew.py as `python -m bench.group_member`; java/GroupMembers.java speaks the same lines. It knows no
broker: an order brings all settings. One order a line on stdin, until that ends:

    join MEMBER TOPIC NAME=VALUE ...     make a consumer with these settings and subscribe
    leave MEMBER                         close it
    gaps FROM_NS UNTIL_NS                tell of each member the longest time without a message between these moments

One event a line on stdout, its moment in ns of the machine's monotonic clock, which all processes share:

    MOMENT_NS MEMBER joining|assigned|revoked|lost|leaving|closed|gap|failed [PARTITION,... or NUMBER or text]
"""

import os
import sys
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from confluent_kafka import Consumer

_POLL_S: Final = 0.1


class Member:
    """One consumer and its thread."""

    def __init__(self, number: str, topic: str, settings: dict[str, Any]) -> None:
        self.number = number
        self._topic = topic
        self._settings = settings
        self._message_moments: list[int] = []
        self._is_leaving = threading.Event()
        threading.Thread(target=self._live, daemon=True).start()

    def leave(self) -> None:
        self._is_leaving.set()

    def tell_gap(self, from_ns: int, until_ns: int) -> None:
        tell(self.number, "gap", longest_gap(self._message_moments, from_ns, until_ns))

    def _live(self) -> None:
        try:
            tell(self.number, "joining")
            consumer = Consumer(self._settings)
            consumer.subscribe(
                [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            while not self._is_leaving.is_set():
                self._poll(consumer)
            tell(self.number, "leaving")
            consumer.close()
            tell(self.number, "closed")
        except Exception as failure:
            tell(self.number, "failed", repr(failure))

    def _poll(self, consumer: Consumer) -> None:
        message = consumer.poll(_POLL_S)
        if message is None:
            return
        self._message_moments.append(time.monotonic_ns())
        if message.error() is not None:
            tell(self.number, "failed", message.error())

    def _on_assign(self, _consumer: Any, partitions: Iterable[Any]) -> None:
        tell(self.number, "assigned", _numbers(partitions))

    def _on_revoke(self, _consumer: Any, partitions: Iterable[Any]) -> None:
        tell(self.number, "revoked", _numbers(partitions))

    def _on_lost(self, _consumer: Any, partitions: Iterable[Any]) -> None:
        tell(self.number, "lost", _numbers(partitions))


def longest_gap(moments: Sequence[int], from_ns: int, until_ns: int) -> int:
    """Between two messages in this span; its two ends count as messages, so silence is seen too."""
    within = moments[bisect_left(moments, from_ns) : bisect_right(moments, until_ns)]
    return max(later - earlier for earlier, later in pairwise((from_ns, *within, until_ns)))


def tell(member: str, what: str, detail: object = "") -> None:
    """One write for each line, so that the lines of two threads do not mix; the moment is now, not when it is read."""
    os.write(1, f"{time.monotonic_ns()} {member} {what} {detail}".rstrip().encode() + b"\n")


def _numbers(partitions: Iterable[Any]) -> str:
    return ",".join(str(partition.partition) for partition in partitions)


def main() -> None:
    members: dict[str, Member] = {}
    for line in sys.stdin:
        match line.split():
            case ["join", number, topic, *settings]:
                members[number] = Member(number, topic, dict(setting.split("=", 1) for setting in settings))
            case ["leave", number]:
                members.pop(number).leave()
            case ["gaps", from_ns, until_ns]:
                for member in members.values():
                    member.tell_gap(int(from_ns), int(until_ns))
            case order:
                raise ValueError(f"no order: {order}")
    os._exit(0)  # Nobody listens any more: the members end where they are.


if __name__ == "__main__":
    main()
