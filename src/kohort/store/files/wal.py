"""The write-ahead log: takes every append of every log, and commits them in groups.

An append is copied once, into memory that mirrors the current WAL segment, and can be read from there when its commit
is done. A commit gathers what was appended until the event loop has run through, or until the commit before is done,
and writes it as one frame. Decides when appends are done and when a segment is full; what becomes of a full one is
decided in background.py. When all segments wait to be settled, appends wait too, in order and in memory of their own:
whoever bounds the unanswered requests of its clients has bounded that memory.
"""

import errno
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from kohort.store.files.aligned_memory import MemoryPool
from kohort.store.files.disk import Disk, File
from kohort.store.files.frames import (
    CONTROL_ENTRY_ROOM,
    ENTRY_HEADER_SIZE,
    FRAME_HEADER_SIZE,
    EntryKind,
    encode_log_id,
    finish_frame,
    pack_entry,
    page_up,
)
from kohort.store.files.settings import FilesSettings
from kohort.store.files.tail import Tail, TailPart, WalSegment
from kohort.store.files.workers import Workers
from kohort.store.log import AppendDone, Durability, StoreError, StoreFailedError, StoreFullError
from kohort.wire.record_batch import Batch, lay_down

WAL_DIRECTORY: Final = "wal"
_COPIED_HERE_UP_TO: Final = 4 << 20
"""A commit that need not be synced is a copy into the page cache: cheaper than to wake a thread, and done in less time
than it took to receive the bytes. One of more bytes than this would keep the others waiting."""
_SYNCED_HERE_UP_TO: Final = 16 << 10
_FEW_APPENDS: Final = 2
"""So small a commit of so few appends is synced here too while the disk is quick: it is there before a thread would be
awake. Where more come at once, the loop has other things to do meanwhile."""
_QUICK_MS: Final = 2
"""A write that takes so long shows a busy disk: until one takes less, the next ones are left to the thread."""
_OUT_OF_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def as_store_error(error: BaseException, what: str) -> StoreError:
    """What an operating system's error means to the store."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, OSError) and error.errno in _OUT_OF_SPACE:
        return StoreFullError(f"There is no space left to {what}: free some, or move the data directory.")
    return StoreFailedError(f"The disk failed to {what}: {error}. Restart the broker; it recovers what was written.")


_Append = tuple[Tail, int, AppendDone]
"""Of which log, its end with the append, and who is told: a bare tuple, because one is made for each append."""
_BATCHES: Final = int(EntryKind.BATCHES)
_FSYNC: Final = Durability.FSYNC


class _Waiting(NamedTuple):
    """An append that has found no room yet: batches, or one entry of another kind."""

    append: _Append
    size: int
    durability: Durability
    batches: Sequence[Batch]
    kind: EntryKind
    payload: bytes


class Frame:
    """One group of appends that becomes durable as one."""

    __slots__ = ("appends", "end", "is_durable", "made", "segment", "start")

    def __init__(self, segment: WalSegment, start: int) -> None:
        self.segment: Final = segment
        self.start: Final = start
        self.end = start
        self.is_durable = False
        self.appends: list[_Append] = []
        self.made: list[Tail] = []
        """Logs whose number is told in this frame."""


class Wal:
    def __init__(
        self,
        disk: Disk,
        workers: Workers,
        settings: FilesSettings,
        memory: MemoryPool,
        now_ms: Callable[[], int],
        on_sealed: Callable[[WalSegment], None],
        on_failure: Callable[[StoreFailedError], None],
    ) -> None:
        self._disk = disk
        self._workers = workers
        self._settings = settings
        self._memory = memory
        self._now_ms = now_ms
        self._on_sealed = on_sealed
        self._on_failure = on_failure
        self._free: list[tuple[int, File]] = []
        self._slots = 0
        self._is_preparing = False
        self._next_sequence = 1
        self._chain = 0
        self._unsynced: list[File] = []
        self._is_disk_quick = True
        self._segment: WalSegment | None = None
        self._frame: Frame | None = None
        self._position = 0
        """Where the next entry goes; beyond _limit there is no room."""
        self._limit = -1
        self._closed_frames: list[Frame] = []
        self._in_flight: list[Frame] | None = None
        self._is_repairing = False
        self._is_scheduled = False
        self._waiting: deque[_Waiting] = deque()
        self._failure: StoreError | None = None
        self.is_full = False
        """The disk is: no segment will become free until there is space again."""
        self.last_append_ms = 0

    def start(self, next_sequence: int, chain: int) -> None:
        """Ready for appends, with at least one segment. Blocking: the store is being opened."""
        self._next_sequence = next_sequence
        self._chain = chain
        names = [name for name in self._disk.list(WAL_DIRECTORY) if name.isdigit()]
        self._slots = max((int(name) + 1 for name in names), default=1)
        for slot in range(min(self._slots, self._settings.wal_segments)):
            self._free.append((slot, self._prepared(slot)))
        self._free.reverse()

    @property
    def chain(self) -> int:
        """The crc of the last frame written."""
        return self._chain

    @property
    def next_sequence(self) -> int:
        return self._next_sequence

    @property
    def begun_ms(self) -> int | None:
        """When the oldest append came that no full segment holds; None if there is none."""
        segment = self._segment
        if segment is None or not (segment.appends or segment.unwritten_frames or self._has_open_frame):
            return None
        return segment.begun_ms

    @property
    def _has_open_frame(self) -> bool:
        return self._frame is not None and bool(self._frame.appends)

    def append(self, tail: Tail, batches: Sequence[Batch], durability: Durability, done: AppendDone) -> None:
        """Takes the batches in at once. `done` is called later, in order."""
        end_offset = tail.end_offset
        size = ENTRY_HEADER_SIZE
        for header, data in batches:
            if header.base_offset < end_offset:
                raise ValueError(
                    f"A batch at offset {header.base_offset} was appended to a log that ends at {end_offset}."
                )
            end_offset = header.base_offset + header.last_offset_delta + 1
            size += len(data)
        tail.end_offset = end_offset
        append = (tail, end_offset, done)
        if self._waiting or self._position + size > self._limit:
            self._wait(_Waiting(append, size, durability, batches, EntryKind.BATCHES, b""))
        else:
            self._lay_batches(append, batches, size, durability)

    def note(self, tail: Tail, kind: EntryKind, payload: bytes, done: AppendDone) -> None:
        """Writes something else about the log, behind everything appended, durably."""
        append = (tail, tail.end_offset, done)
        self._wait(_Waiting(append, ENTRY_HEADER_SIZE + len(payload), Durability.FSYNC, (), kind, payload))

    def _lay_batches(self, append: _Append, batches: Sequence[Batch], size: int, durability: Durability) -> None:
        frame = self._frame
        assert frame is not None
        tail = append[0]
        part = tail.parts[-1] if tail.parts else None
        if part is None or part.segment is not frame.segment:
            part = self._begin_part(tail, frame)
        view = part.view
        position = self._position
        pack_entry(view, position, _BATCHES, tail.log_number, size - ENTRY_HEADER_SIZE)
        position += ENTRY_HEADER_SIZE
        for batch in batches:
            header = batch.header
            part.positions.append(position)
            position = lay_down(batch, view, position)
            part.ends.append(position)
            part.next_offsets.append(header.base_offset + header.last_offset_delta + 1)
            part.timestamps.append(header.max_timestamp)
            if header.producer_id >= 0:
                part.has_producers = True
        self._position = position
        frame.appends.append(append)
        if durability is _FSYNC:
            frame.is_durable = True
        if not self._is_scheduled:
            self._commit_soon()

    def _begin_part(self, tail: Tail, frame: Frame) -> TailPart:
        self._record(tail, frame)
        first_offset = tail.parts[-1].next_offset if tail.parts else tail.first_offset
        part = TailPart(frame.segment, tail.log_number, first_offset)
        tail.parts.append(part)
        frame.segment.parts.append(part)
        return part

    def _record(self, tail: Tail, frame: Frame) -> None:
        if not tail.is_recorded:
            tail.is_recorded = True
            frame.made.append(tail)
            self._lay_entry(frame, EntryKind.MADE, tail.log_number, encode_log_id(tail.log_id))

    def _lay_entry(self, frame: Frame, kind: EntryKind, log_number: int, payload: bytes) -> None:
        view = frame.segment.memory.view
        pack_entry(view, self._position, kind, log_number, len(payload))
        start = self._position + ENTRY_HEADER_SIZE
        self._position = start + len(payload)
        view[start : self._position] = payload

    def _commit_soon(self) -> None:
        """When the event loop has taken what waits, so that one commit serves it all."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._workers.soon(self._commit)

    # Appends that wait for room

    def _wait(self, waiting: _Waiting) -> None:
        if self._failure is not None:
            tail, _, done = waiting.append
            tail.end_offset = tail.readable_offset
            self._workers.soon(partial(done, self._failure))
            return
        self._waiting.append(waiting)
        self._admit()
        if self._waiting and self._waiting[-1] is waiting:
            self._waiting[-1] = _with_bytes_of_its_own(waiting)

    def _admit(self) -> None:
        """Lets in, in order, what waits and finds room."""
        while self._waiting and not self._is_repairing:
            append, size, durability, batches, kind, payload = self._waiting[0]
            if self._position + size > self._limit and not self._make_room(size):
                break
            self._waiting.popleft()
            frame = self._frame
            assert frame is not None
            if kind is EntryKind.BATCHES:
                self._lay_batches(append, batches, size, durability)
            else:
                self._record(append[0], frame)
                self._lay_entry(frame, kind, append[0].log_number, payload)
                frame.appends.append(append)
                frame.is_durable = True
                self._commit_soon()
        if self._waiting:
            self._commit_soon()

    def _make_room(self, size: int) -> bool:
        """Begins the next segment, if there is one free."""
        self.seal()
        if not self._free:
            self.prepare()
            return False
        slot, file = self._free.pop()
        need = page_up(FRAME_HEADER_SIZE + size + CONTROL_ENTRY_ROOM)
        memory = self._memory.take(max(self._settings.wal_segment_bytes, need))
        self._segment = WalSegment(slot, file, memory, self._next_sequence, self._now_ms())
        self._next_sequence += 1
        self._begin_frame(self._segment, 0)
        if not self._free:
            self.prepare()
        return True

    def _begin_frame(self, segment: WalSegment, start: int) -> None:
        self._frame = Frame(segment, start)
        self._position = start + FRAME_HEADER_SIZE
        self._limit = segment.memory.size - CONTROL_ENTRY_ROOM

    def seal(self) -> None:
        """Nothing more goes into the current segment: it can be settled once its frames are written."""
        self._close_frame()
        segment = self._segment
        if segment is None or not (segment.appends or segment.unwritten_frames):
            return
        segment.is_sealed = True
        self._segment = self._frame = None
        self._limit = -1
        if not segment.unwritten_frames:
            self._on_sealed(segment)
        else:
            self._commit_soon()

    def _close_frame(self) -> None:
        """What the open frame holds is a frame of its own; the next one begins on the next page."""
        frame, segment = self._frame, self._segment
        if frame is None or segment is None or not frame.appends:
            return
        frame.end = self._position
        segment.unwritten_frames += 1
        self._closed_frames.append(frame)
        start = page_up(frame.end)
        if start + FRAME_HEADER_SIZE + CONTROL_ENTRY_ROOM >= segment.memory.size:
            self._frame = None
            self._limit = -1
        else:
            self._begin_frame(segment, start)

    # Segments to come

    def prepare(self) -> None:
        """Has one more segment made, if there may be more."""
        if self._is_preparing or self._slots >= self._settings.wal_segments:
            return
        self._is_preparing = True
        self._workers.settle(partial(self._prepared, self._slots), self._on_prepared)

    def _prepared(self, slot: int) -> File:
        """The slot's file, full size. Runs in the settling worker, or while the store is opened."""
        path = f"{WAL_DIRECTORY}/{slot}"
        file = self._disk.open(path, create=True)
        if file.size > self._settings.wal_segment_bytes:
            file.truncate(self._settings.wal_segment_bytes)
        if file.size < self._settings.wal_segment_bytes:
            file.preallocate(self._settings.wal_segment_bytes)
        self._disk.sync_directory(WAL_DIRECTORY)
        return file

    def _on_prepared(self, outcome: File | BaseException) -> None:
        self._is_preparing = False
        if isinstance(outcome, BaseException):
            error = as_store_error(outcome, "prepare a file of the write-ahead log")
            if isinstance(error, StoreFailedError):
                self.fail(error)
            return
        self._free.append((self._slots, outcome))
        self._slots += 1
        self._admit()

    def on_settled(self, segment: WalSegment) -> None:
        """The segment's file may be used again."""
        self.is_full = False
        self._free.append((segment.slot, segment.file))
        self._admit()

    def on_settling_failed(self, error: StoreError) -> None:
        if isinstance(error, StoreFailedError):
            self.fail(error)
        else:
            self.is_full = True
            self._refuse_waiting()

    # Commits

    def _commit(self, may_write_here: bool = True) -> None:
        """Writes what was appended, unless a commit is under way: its end comes here again."""
        self._is_scheduled = False
        if self._in_flight is not None or self._is_repairing or self._failure is not None:
            return
        self._close_frame()
        segment = self._segment
        if segment is not None and (self._frame is None or segment.appends >= self._settings.wal_segment_appends):
            self.seal()
        frames, self._closed_frames = self._closed_frames, []
        if not frames:
            self._refuse_waiting()
            return
        self.last_append_ms = self._now_ms()
        self._in_flight = frames
        work = partial(self._write, frames, self._chain)
        if not (may_write_here and self._is_cheap(frames)):
            self._workers.write(work, self._on_written)
            return
        try:
            outcome: int | BaseException = work()
        except OSError as error:
            outcome = error
        self._on_written(outcome)

    def _is_cheap(self, frames: list[Frame]) -> bool:
        """Whether to write takes less time than to wake a thread for it and to be woken by it."""
        if len(frames) > 1:
            return False
        frame = frames[0]
        size = frame.end - frame.start
        if not frame.is_durable:
            return size <= _COPIED_HERE_UP_TO
        is_small = size <= _SYNCED_HERE_UP_TO and len(frame.appends) <= _FEW_APPENDS
        return is_small and self._is_disk_quick and not self._unsynced

    def _write(self, frames: list[Frame], chain: int) -> int:
        """Runs in the WAL writer or on the loop, one call at a time; the chain after these frames."""
        began_ms = self._now_ms()
        for frame in frames:
            segment, file = frame.segment, frame.segment.file
            chain = finish_frame(segment.memory.view, frame.start, frame.end, segment.sequence, chain)
            segment.chain = chain
            pages = segment.memory.view[frame.start : page_up(frame.end)]
            if frame.is_durable and not self._unsynced:
                file.write_at(pages, frame.start, durable=True)
                continue
            file.write_at(pages, frame.start, durable=False)
            if file not in self._unsynced:
                self._unsynced.append(file)
            if frame.is_durable:
                for unsynced in self._unsynced:
                    unsynced.sync()
                self._unsynced.clear()
        self._is_disk_quick = self._now_ms() - began_ms < _QUICK_MS
        return chain

    def _on_written(self, outcome: int | BaseException) -> None:
        frames, self._in_flight = self._in_flight, None
        if frames is None or self._failure is not None:
            return
        if isinstance(outcome, BaseException):
            self._on_write_failed(frames, as_store_error(outcome, "write to the write-ahead log"))
            return
        self._chain = outcome
        if self._has_open_frame or self._closed_frames:
            self._commit_next()
        for frame in frames:
            for tail, end_offset, done in frame.appends:
                tail.readable_offset = end_offset
                done(None)
        for frame in frames:
            self._count_written(frame)

    def _commit_next(self) -> None:
        """Keeps the writer busy while this thread tells who waited; what is written here comes after that."""
        frames = [*self._closed_frames, *([self._frame] if self._frame is not None else [])]
        if any(frame.is_durable for frame in frames):
            self._commit(may_write_here=False)
        else:
            self._commit_soon()

    def _count_written(self, frame: Frame) -> None:
        segment = frame.segment
        segment.appends += len(frame.appends)
        segment.unwritten_frames -= 1
        if segment.is_sealed and not segment.unwritten_frames:
            self._on_sealed(segment)

    # What is refused

    @property
    def _unwritten(self) -> list[Frame]:
        """Every frame that is not known to be written, in order."""
        return [*(self._in_flight or ()), *self._closed_frames, *([self._frame] if self._frame is not None else [])]

    def abandon(self, tail: Tail, reason: StoreError) -> None:
        """Appends of this log that are not done yet fail, when their turn comes."""
        for frame in self._unwritten:
            frame.appends = [_abandoned(append, tail, reason) for append in frame.appends]
        self._waiting = deque(
            waiting._replace(append=_abandoned(waiting.append, tail, reason)) for waiting in self._waiting
        )

    def _refuse_waiting(self) -> None:
        """Appends that wait for room on a full disk fail, once everything before them is done."""
        if self._waiting and self.is_full and not any(frame.appends for frame in self._unwritten):
            self._roll_back(StoreFullError("There is no space left on the disk: free some, then it works again."))

    def _on_write_failed(self, frames: list[Frame], error: StoreError) -> None:
        self._in_flight = frames
        if isinstance(error, StoreFailedError):
            self.fail(error)
            return
        self._is_repairing = True
        self._limit = -1
        self._workers.write(partial(self._erase, frames), partial(self._on_erased, error))

    def _erase(self, frames: list[Frame]) -> None:
        """No restart shall find what was refused. Runs in the WAL writer."""
        for frame in reversed(frames):
            frame.segment.file.truncate(frame.start)
            frame.segment.file.sync()

    def _on_erased(self, error: StoreError, outcome: BaseException | None) -> None:
        self._is_repairing = False
        if isinstance(outcome, BaseException):
            self.fail(StoreFailedError(f"The write-ahead log cannot be repaired: {outcome}. Restart the broker."))
        elif self._failure is None:
            self._roll_back(error)

    def _roll_back(self, error: StoreError) -> None:
        """Everything that is not written fails, and the log goes on where the last written frame ends."""
        frames = self._unwritten
        refused = [append for frame in frames for append in frame.appends]
        refused += [waiting.append for waiting in self._waiting]
        self._waiting.clear()
        self._closed_frames.clear()
        self._in_flight = None
        for frame in frames:
            for tail in frame.made:
                tail.is_recorded = False
        for append in refused:
            append[0].roll_back()
        if frames:
            self._resume(frames)
        for _, _, done in refused:
            done(error)

    def _resume(self, frames: list[Frame]) -> None:
        """The first of these frames is begun again; segments begun after its own are given back."""
        segment, *later = dict.fromkeys(frame.segment for frame in frames)
        for unused in later:
            self._free.append((unused.slot, unused.file))
            self._memory.give_back(unused.memory)
        segment.is_sealed = False
        segment.unwritten_frames = 0
        segment.chain = self._chain
        self._segment = segment
        self._begin_frame(segment, frames[0].start)

    def close(self) -> None:
        """The workers are closed already."""
        self._limit = -1
        if self._segment is not None:
            self._free.append((self._segment.slot, self._segment.file))
            self._segment = self._frame = None
        for _, file in self._free:
            file.close()
        self._free.clear()

    def fail(self, error: StoreFailedError) -> None:
        """For good: nothing is written any more."""
        if self._failure is not None:
            return
        self._failure = error
        self._roll_back(error)
        self._limit = -1
        self._on_failure(error)


def _with_bytes_of_its_own(waiting: _Waiting) -> _Waiting:
    """Its caller may use the memory of the batches for something else."""
    return waiting._replace(batches=[batch._replace(data=bytes(batch.data)) for batch in waiting.batches])


def _abandoned(append: _Append, tail: Tail, reason: StoreError) -> _Append:
    of, end_offset, done = append
    return (of, end_offset, lambda _: done(reason)) if of is tail else append
