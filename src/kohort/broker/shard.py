"""A shard: one machine on one log. It does what the machine decides, and keeps what clients see behind what is durable.

Theory. A decision's records are replayed by the machine as it decides, so the next command sees them, and appended
here. A reply goes out when every record that it could have seen is durable: its own, and all that were appended before
and are not yet done. So unfinished appends stand in a line, and a reply waits behind the last of them. If an append
fails, nothing is undone: the machine is dropped with all who wait for it, and a new one is loaded from the log. Who is
answered
COORDINATOR_LOAD_IN_PROGRESS asks again; what it asked for may or may not have happened, as after a lost connection.
The same is done with a machine that failed half-way, whose state nobody can trust.

When the log has grown by more than its last snapshot, the machine's state is appended as a snapshot, between two
control batches of Kafka's kind, and the log is trimmed to where that begins.

It never decides anything about groups, topics or offsets. Next hop: the machine (machines/contract.py), then the log
(store/log.py).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kohort.broker.snapshots import SnapshotMark, footer_batch, header_batch, snapshot_mark
from kohort.carrier.contract import AnswerTo
from kohort.machines.contract import CancelTimer, Decision, Machine, Moment, Reply, SetTimer, Token
from kohort.model.errors import ErrorCode, ProtocolError, Refused
from kohort.model.ids import OrgId
from kohort.store.log import Chunk, Durability, Log, StoreError
from kohort.wire.batch_writer import BatchWriter
from kohort.wire.errors import DecodeError
from kohort.wire.record_batch import Batch, whole_batches

logger = logging.getLogger(__name__)

Record = TypeVar("Record")

READ_BYTES: Final = 1 << 20
"""How much of the log is loaded at a time."""
MIN_GROWTH_BYTES: Final = 1 << 18
"""No snapshot is taken before the log has grown by this much: some thousand small records, that a start has to read."""
RELOAD_RETRY_MS: Final = 1000
APPEND_CHECK_MS: Final = 2
"""How often a reload looks whether the appends before it are done."""

_LOADING: Final = Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "The state is being loaded from its log.")

_STOPPING: Final = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The broker is stopping.")

_MACHINE_FAILED: Final = Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker's log says what went wrong.")

_OVERDUE: Final = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The store takes too long to confirm a write.")


class RecordCodec(Protocol[Record]):
    """How a machine's records lie in a log: a module of wire/."""

    def write(self, writer: BatchWriter, records: Iterable[Record]) -> None: ...

    def decode_batch(self, batch: Batch) -> Iterable[Record]: ...


class Timer(Protocol):
    def cancel(self) -> None: ...


CallAt = Callable[[int, Callable[[], None]], Timer]
"""Calls something at a time, in milliseconds of the clock that the shard was given."""

CallSoon = Callable[[Callable[[], None]], object]
"""Calls something when the loop comes round."""


@dataclass(eq=False, slots=True)
class _Append(Generic[Record]):
    """Records on their way to the disk, and the replies that wait for them."""

    began_ms: int
    writer: BatchWriter
    records: list[Record]
    replies: list[Reply]
    events: list[object]


class _Owed(NamedTuple):
    """A reply that a client waits for."""

    shard: "Shard[Any]"
    token: Token

    def forget(self) -> None:
        self.shard.forget(self.token)

    def hurry(self) -> None:
        self.shard.hurry(self.token)


class Shard(Generic[Record]):
    """One machine on one log."""

    def __init__(
        self,
        make_machine: Callable[[], Machine[Any, Record]],
        log: Log,
        codec: RecordCodec[Record],
        *,
        durability: Durability,
        now_ms: Callable[[], int],
        entropy: Callable[[], bytes],
        call_at: CallAt,
        call_soon: CallSoon | None = None,
        on_record: Callable[[Record], None] | None = None,
        on_event: Callable[[object], None] | None = None,
        on_loaded: Callable[[], None] | None = None,
    ) -> None:
        """With call_soon, the records of all decisions of a turn of the loop are appended together.
        on_record hears of what is durable: the state as snapshot records at each load, then each record in order.
        on_event hears of the events of decisions that are durable.
        on_loaded is called after each load, before the first command that comes from elsewhere.
        """
        self._make_machine = make_machine
        self._log = log
        self._codec = codec
        self._durability = durability
        self._now_ms = now_ms
        self._entropy = entropy
        self._call_at = call_at
        self._call_soon = call_soon
        self._on_record = on_record
        self._on_event = on_event
        self._on_loaded = on_loaded
        self._machine: Machine[Any, Record] | None = None
        self._unfinished: deque[_Append[Record]] = deque()
        self._gathering: _Append[Record] | None = None
        """The last of the unfinished, if it has not been given to the log yet."""
        self._owed: dict[Token, AnswerTo] = {}
        self._last_token: Token = 0
        self._timers: dict[Hashable, Timer] = {}
        self._snapshot_bytes = 0
        self._grown_bytes = 0
        self._reload: asyncio.Task[None] | None = None
        self._is_closed = False
        self.was_asked = False
        """Somebody had a command while there was no state yet to decide it on."""

    # Commands

    def handle(self, org_id: OrgId, command: object, answer_to: AnswerTo) -> _Owed | None:
        """Decides a command. The answer comes when it may be seen; None when it has come already."""
        machine = self._machine
        if machine is None:
            self.was_asked = True
            answer_to(_STOPPING if self._is_closed else _LOADING)
            return None
        self._last_token = token = self._last_token + 1
        now_ms = self._now_ms()
        try:
            answer = machine.answer_at_once(command, now_ms)
            if answer is None:
                decision = machine.handle(org_id, command, token, Moment(now_ms, self._entropy()))
        except ProtocolError as refusal:
            answer = Refused(refusal.code, refusal.message)
        except Exception:
            self._drop_failed_machine()
            answer_to(_MACHINE_FAILED)
            return None
        if answer is not None:
            if not self._unfinished:
                answer_to(answer)
                return None
            decision = Decision(replies=(Reply(token, answer),))
        self._owed[token] = answer_to
        self._carry_out(decision, now_ms)
        return _Owed(self, token) if token in self._owed else None

    def forget(self, token: Token) -> None:
        """Nobody waits for this answer any more."""
        if self._owed.pop(token, None) is not None and self._machine is not None:
            self._decide(self._machine.on_forget, token)

    def hurry(self, token: Token) -> None:
        """Another request waits behind this answer: it comes now, if the machine only held it back."""
        if token in self._owed and self._machine is not None:
            self._decide(self._machine.on_hurry, token)

    def close(self) -> None:
        """Decides nothing from now on. Who waits for others is told to ask elsewhere; who only waits for the disk still
        gets what the disk says."""
        self._is_closed = True
        if self._reload is not None:
            self._reload.cancel()
        self._flush()
        self._forget_timers()
        self._machine = None
        decided = {reply.token for append in self._unfinished for reply in append.replies}
        for token in [token for token in self._owed if token not in decided]:
            self._owed.pop(token)(_STOPPING)

    def _on_timer(self, key: Hashable) -> None:
        del self._timers[key]
        if self._machine is not None:
            self._decide(self._machine.on_timer, key)

    # Decisions

    def _decide(self, decide: Callable[[Any, Moment], Decision[Record]], about: object) -> None:
        moment = Moment(self._now_ms(), self._entropy())
        try:
            decision = decide(about, moment)
        except Exception:
            self._drop_failed_machine()
            return
        self._carry_out(decision, moment.now_ms)

    def _carry_out(self, decision: Decision[Record], now_ms: int) -> None:
        """Timers before replies: an answer may bring the next command before it returns."""
        for timer in decision.timers:
            self._set_timer(timer)
        if decision.records:
            self._append(decision, now_ms)
        elif self._unfinished:
            self._unfinished[-1].replies += decision.replies
            self._unfinished[-1].events += decision.events
        else:
            self._tell(decision.events)
            self._give(decision.replies)

    def _set_timer(self, timer: SetTimer | CancelTimer) -> None:
        running = self._timers.pop(timer.key, None)
        if running is not None:
            running.cancel()
        if isinstance(timer, SetTimer):
            self._timers[timer.key] = self._call_at(timer.at_ms, partial(self._on_timer, timer.key))

    def _append(self, decision: Decision[Record], now_ms: int) -> None:
        append = self._gathering
        if append is None:
            append = _Append(now_ms, BatchWriter(self._log.end_offset, now_ms), [], [], [])
            self._gathering = append
            self._unfinished.append(append)
            if self._call_soon is not None:
                self._call_soon(self._flush)
        try:
            self._codec.write(append.writer, decision.records)
        except Exception:
            self._drop_failed_machine(decision.replies)
            return
        append.records += decision.records
        append.replies += decision.replies
        append.events += decision.events
        if self._call_soon is None:
            self._flush()

    def _flush(self) -> None:
        """Gives the log what was gathered."""
        append, self._gathering = self._gathering, None
        if append is not None:
            batches = append.writer.batches()
            self._grown_bytes += sum(len(batch.data) for batch in batches)
            self._log.append(batches, self._durability, partial(self._appended, append))

    def _appended(self, append: _Append[Record], error: StoreError | None) -> None:
        if not self._unfinished or self._unfinished[0] is not append:
            return  # An append of a machine that was dropped.
        if error is not None:
            logger.warning("%s: an append failed, the state is loaded again: %s", self._log.id, error)
            self._drop_machine()
            self._load_again()
            return
        self._unfinished.popleft()
        if self._on_record is not None:
            for record in append.records:
                self._on_record(record)
        self._tell(append.events)
        self._give(append.replies)
        if self._machine is not None and self._grown_bytes > max(self._snapshot_bytes, MIN_GROWTH_BYTES):
            self._take_snapshot(self._machine)

    def _give(self, replies: Iterable[Reply]) -> None:
        owed = self._owed
        for token, answer in replies:
            answer_to = owed.pop(token, None)
            if answer_to is not None:
                answer_to(answer)

    def _tell(self, events: Iterable[object]) -> None:
        if self._on_event is not None:
            for event in events:
                self._on_event(event)

    def refuse_overdue(self, until_ms: int) -> None:
        """Whoever has waited for the disk since this time is told to ask again. The records may still get there."""
        for append in [append for append in self._unfinished if append.began_ms <= until_ms]:
            replies, append.replies = append.replies, []
            self._give(Reply(reply.token, _OVERDUE) for reply in replies)

    # Snapshots

    def _take_snapshot(self, machine: Machine[Any, Record]) -> None:
        self._flush()
        offset, now_ms = self._log.end_offset, self._now_ms()
        header = header_batch(offset, now_ms)
        writer = BatchWriter(header.header.next_offset, now_ms)
        self._codec.write(writer, machine.snapshot())
        batches = [header, *writer.batches()]
        batches.append(footer_batch(batches[-1].header.next_offset, now_ms))
        append: _Append[Record] = _Append(now_ms, writer, [], [], [])
        self._unfinished.append(append)
        self._snapshot_bytes = sum(len(batch.data) for batch in batches)
        self._grown_bytes = 0
        self._log.append(batches, self._durability, partial(self._snapshot_appended, append, offset))

    def _snapshot_appended(self, append: _Append[Record], offset: int, error: StoreError | None) -> None:
        self._appended(append, error)
        if error is None:
            self._log.trim(offset, self._trimmed)

    def _trimmed(self, error: StoreError | None) -> None:
        if error is not None:
            logger.warning("%s: the log could not be trimmed to its snapshot: %s", self._log.id, error)

    # Loading

    @property
    def log_is_empty(self) -> bool:
        return self._log.start_offset == self._log.end_offset

    def start_loading(self) -> asyncio.Task[None]:
        """Loads in the background, again and again until that succeeds; meanwhile commands are told to come again."""
        self._reload = task = asyncio.get_running_loop().create_task(self._load_until_it_succeeds())
        return task

    async def load(self) -> None:
        """Makes the machine from its log; from then on commands are decided. StoreError if the log cannot be read."""
        machine = self._make_machine()
        self._snapshot_bytes = self._grown_bytes = 0
        in_snapshot = False
        offset, end = self._log.start_offset, self._log.readable_offset
        while offset < end:
            for header, data in whole_batches(await self._read(offset, end)):
                if not header.is_control:
                    for record in self._codec.decode_batch(Batch(header, data)):
                        machine.replay(record)
                elif snapshot_mark(data) is SnapshotMark.HEADER:
                    in_snapshot = True
                    self._snapshot_bytes = self._grown_bytes = 0
                else:
                    in_snapshot = False
                if in_snapshot or header.is_control:
                    self._snapshot_bytes += header.size
                else:
                    self._grown_bytes += header.size
                offset = header.next_offset
        self._machine = machine
        if self._on_record is not None:
            for record in machine.snapshot():
                self._on_record(record)
        moment = Moment(self._now_ms(), self._entropy())
        self._carry_out(machine.on_loaded(moment), moment.now_ms)
        if self._on_loaded is not None:
            self._on_loaded()

    async def _read(self, offset: int, end: int) -> memoryview:
        chunk: asyncio.Future[Chunk] = asyncio.get_running_loop().create_future()

        def done(outcome: Chunk | StoreError) -> None:
            if chunk.cancelled():
                return
            if isinstance(outcome, StoreError):
                chunk.set_exception(outcome)
            else:
                chunk.set_result(outcome)

        self._log.read(offset, READ_BYTES, end, done)
        buffers = (await chunk).buffers
        return memoryview(buffers[0] if len(buffers) == 1 else b"".join(buffers))

    def _drop_machine(self) -> None:
        """Forgets the state and all who wait for it. Appends that are still under way belong to nobody then."""
        self._machine = self._gathering = None
        self._unfinished.clear()
        self._forget_timers()
        waiting = list(self._owed.values())
        self._owed.clear()
        for answer_to in waiting:
            answer_to(_STOPPING if self._is_closed else _LOADING)

    def _forget_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _drop_failed_machine(self, replies: Iterable[Reply] = ()) -> None:
        """A mistake of ours, told with its traceback: what the machine has replayed by now is in no log."""
        logger.exception("%s: a decision failed, the state is loaded again", self._log.id)
        self._give(Reply(token, _MACHINE_FAILED) for token, _ in replies)
        self._drop_machine()
        self._load_again()

    def _load_again(self) -> None:
        if not self._is_closed:
            self.start_loading()

    async def _load_until_it_succeeds(self) -> None:
        """What a dropped machine was appending is the new one's past as well, so its end is waited for."""
        while not self._is_closed:
            if self._log.readable_offset < self._log.end_offset:
                await asyncio.sleep(APPEND_CHECK_MS / 1000)
                continue
            try:
                await self.load()
            except (StoreError, DecodeError) as failure:
                logger.warning("%s: the state could not be loaded, trying again: %s", self._log.id, failure)
                await asyncio.sleep(RELOAD_RETRY_MS / 1000)
            else:
                return
