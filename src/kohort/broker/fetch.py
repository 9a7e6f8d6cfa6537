"""Fetching: partitions are read in turn, within the bounds the client set, and a client that found little waits.

Decides how the bytes of an answer are shared out (the first partition that has any gives at least one batch, however
large), when a fetch is answered, and when it waits: until enough has become readable, or its time is up. A waiting
fetch is known to its partitions only, so an append costs nothing to those who wait elsewhere; it counts the bytes it is
told of, and reads again when they are enough, behind the other appends that became readable with them. Whatever is read
leaves as the buffers that the log gave.

Next hop: fetch_sessions.py for what a fetch wants, partition.py for what is there.
"""

from asyncio import AbstractEventLoop, Handle
from collections.abc import Callable
from typing import Final

from kohort.broker.fetch_sessions import FetchSessions, Interest, Result, WantedPartition
from kohort.broker.partition import Partition
from kohort.broker.partitions import Partitions
from kohort.carrier.contract import AnswerTo, Pending
from kohort.model.commands.data import NO_DIVERGENCE, Fetch, Fetched, PartitionFetched
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import OrgId
from kohort.wire.record_batch import whole_batches


class Fetches:
    """Takes Fetch commands."""

    def __init__(
        self,
        partitions: Partitions,
        sessions: FetchSessions,
        *,
        max_bytes: int,
        loop: AbstractEventLoop,
        now_ms: Callable[[], int],
    ) -> None:
        self.partitions: Final = partitions
        self.max_bytes: Final = max_bytes
        self.loop: Final = loop
        self._sessions: Final = sessions
        self._now_ms: Final = now_ms

    def handle(self, org_id: OrgId, command: Fetch, answer_to: AnswerTo) -> Pending | None:
        interest = self._sessions.interest(org_id, command, self._now_ms())
        if isinstance(interest, Fetched):
            answer_to(interest)
            return None
        fetching = _Fetching(self, org_id, command, interest, answer_to)
        fetching.read()
        return None if fetching.is_answered else fetching


class _Fetching:
    """One fetch, from its first read to its answer: what its partitions tell, and what is owed to its client."""

    __slots__ = (
        "_alarm",
        "_answer_to",
        "_bytes_left",
        "_command",
        "_fetches",
        "_has_to_answer",
        "_interest",
        "_is_reading",
        "_missing",
        "_org_id",
        "_position",
        "_results",
        "_size",
        "_watched",
        "is_answered",
    )

    def __init__(
        self, fetches: Fetches, org_id: OrgId, command: Fetch, interest: Interest, answer_to: AnswerTo
    ) -> None:
        self._fetches: Final = fetches
        self._org_id: Final = org_id
        self._command: Final = command
        self._interest: Final = interest
        self._answer_to: Final = answer_to
        self._results: list[Result] = []
        self._size = 0
        self._bytes_left = 0
        self._missing = 0
        self._position = 0
        self._is_reading = False
        self._has_to_answer = command.max_wait_ms <= 0
        self._alarm: Handle | None = None
        self._watched: list[Partition] = []
        self.is_answered = False

    # Reading

    def read(self) -> None:
        self._results = []
        self._watched = []
        self._size = 0
        self._bytes_left = min(self._command.max_bytes, self._fetches.max_bytes)
        self._position = 0
        self._read_on()

    def _read_on(self) -> None:
        """Reads one partition after the other. If bytes have to come from disk, their arrival calls this again."""
        wanted = self._interest.wanted
        self._is_reading = True
        while self._position < len(wanted):
            if not self._read_one(wanted[self._position]):
                self._is_reading = False
                return
            self._position += 1
        self._is_reading = False
        self._finish_reading()

    def _read_one(self, wanted: WantedPartition) -> bool:
        """Whether all that is to be said of the partition is there already."""
        results = self._results
        partition = self._fetches.partitions.find(self._org_id, wanted.topic, wanted.topic_id, wanted.partition)
        if partition is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if self._command.by_topic_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            results.append((wanted, PartitionFetched(wanted.partition, code)))
            return True
        self._watched.append(partition)
        log = partition.log
        if wanted.knows(log.start_offset, log.readable_offset):
            return True
        count = len(results)
        try:
            partition.fetch(
                wanted.fetch_offset,
                min(wanted.max_bytes, self._bytes_left),
                self._take,
                read_committed=self._command.read_committed,
                at_least_one=self._size == 0,
                leader_epoch=wanted.current_leader_epoch,
                last_fetched_epoch=wanted.last_fetched_epoch,
            )
        except ProtocolError as error:
            self._take(PartitionFetched(wanted.partition, error.code))
        return len(results) > count

    def _take(self, fetched: PartitionFetched) -> None:
        if self.is_answered:
            return
        self._results.append((self._interest.wanted[self._position], fetched))
        if fetched.records:
            size = sum(map(len, fetched.records))
            self._size += size
            self._bytes_left = max(0, self._bytes_left - size)
        elif fetched.error_code or fetched.diverging_epoch is not NO_DIVERGENCE:
            self._has_to_answer = True
        if not self._is_reading:
            self._position += 1
            self._read_on()

    def _finish_reading(self) -> None:
        missing = min(self._command.min_bytes, self._fetches.max_bytes) - self._size
        if self._has_to_answer or missing <= 0 or not self._watched:
            self._answer()
            return
        if self._size and any(map(_left_some, self._results)):
            self._answer()
            return
        self._missing = missing
        for partition in self._watched:
            partition.add_waiter(self)
        self._alarm = self._fetches.loop.call_later(self._command.max_wait_ms / 1000, self._wake)

    # Waiting

    def on_readable(self, size: int) -> None:
        self._missing -= size
        if self._missing <= 0:
            self._wake_soon()

    def on_changed(self) -> None:
        self._wake_soon()

    def _wake_soon(self) -> None:
        """Reads when everybody has been told: a group commit makes many appends readable, one after the other."""
        self._stop_waiting()
        self._alarm = self._fetches.loop.call_soon(self._wake)

    def _wake(self) -> None:
        """The wait is over: what is there now is the answer, be it enough or not."""
        self._stop_waiting()
        self._has_to_answer = True
        self.read()

    def _stop_waiting(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        for partition in self._watched:
            partition.remove_waiter(self)
        self._watched = []

    def _answer(self) -> None:
        self.is_answered = True
        self._answer_to(self._interest.answer(self._results))

    # As carrier.contract.Pending

    def forget(self) -> None:
        self.is_answered = True
        self._stop_waiting()

    def hurry(self) -> None:
        """Not a fetch: two of them in flight on one connection would hurry each other for ever."""


def _left_some(result: Result) -> bool:
    """Whether the bounds kept back bytes that are there: then waiting would not bring more of them."""
    wanted, fetched = result
    next_offset = wanted.fetch_offset
    for header, _ in whole_batches(b"".join(fetched.records)):
        next_offset = header.next_offset
    return next_offset < fetched.high_watermark
