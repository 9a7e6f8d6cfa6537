"""Recovery: brings a store to the state that its last acknowledged append left, whatever happened after it.

The checkpoint says what is settled; the WAL segments behind it are read in order, settled one after the other, and
given up from the first frame on that is torn or missing. What crashes left over in directories is swept away.
Everything here blocks: the store is being opened, nobody is served yet.
"""

import logging
from typing import Final, NamedTuple

from kohort.store.files.aligned_memory import AlignedMemory
from kohort.store.files.checkpoint import CHECKPOINT_PATH, Checkpoint, CheckpointFile, LogEntry
from kohort.store.files.disk import PAGE_SIZE, Disk, File
from kohort.store.files.frames import (
    FRAME_HEADER_SIZE,
    Entry,
    EntryKind,
    FrameHeader,
    decode_frame_header,
    decode_log_id,
    decode_offset,
    entries,
    is_intact,
    page_up,
)
from kohort.store.files.leftovers import is_log_directory, remove_log_directory, sweep
from kohort.store.files.segment import Settled, log_directory
from kohort.store.files.settle import settle_part
from kohort.store.files.tail import TailPart, WalSegment
from kohort.store.files.wal import WAL_DIRECTORY
from kohort.store.log import LogConfig, LogId, StoreError
from kohort.wire.record_batch import decode_header

_logger = logging.getLogger(__name__)
_READ_AHEAD: Final = 1 << 20


class _Found(NamedTuple):
    """A WAL segment on the disk."""

    sequence: int
    path: str


class _Log:
    """A log while it is being recovered."""

    def __init__(self, number: int, log_id: LogId, start_offset: int, settled: Settled) -> None:
        self.number: Final = number
        self.log_id: Final = log_id
        self.start_offset = start_offset
        self.settled = settled
        self.part: TailPart | None = None

    @property
    def end_offset(self) -> int:
        return self.part.next_offset if self.part is not None else self.settled.next_offset


class Recovery:
    def __init__(self, disk: Disk, checkpoints: CheckpointFile, now_ms: int) -> None:
        self._disk = disk
        self._checkpoints = checkpoints
        self._now_ms = now_ms
        self._memory: AlignedMemory | None = None
        self._logs: dict[int, _Log] = {}
        self._next_log_number = 1
        self._sequence = 0
        self._chain = 0
        self._deleted: list[str] = []
        """Directories of logs that the WAL segment being replayed deletes."""

    def run(self) -> Checkpoint:
        """What the store begins with: everything settled, the WAL free."""
        checkpoint = self._checkpoints.read()
        if checkpoint is None:
            self._refuse_strangers()
            checkpoint = Checkpoint()
            self._checkpoints.write(checkpoint)
        self._logs = {entry.number: _Log(*entry) for entry in checkpoint.logs}
        self._next_log_number = checkpoint.next_log_number
        self._sequence = checkpoint.settled_sequence
        self._chain = checkpoint.chain
        found = self._segments_after(checkpoint.settled_sequence)
        if checkpoint.is_clean and not found:
            return checkpoint
        sweep(self._disk, checkpoint.logs)
        for segment in found:
            self._replay(segment)
            self._checkpoints.write(self._checkpoint())
        return self._checkpoint()

    def _checkpoint(self) -> Checkpoint:
        logs = tuple(LogEntry(log.number, log.log_id, log.start_offset, log.settled) for log in self._logs.values())
        return Checkpoint(self._sequence, self._chain, self._next_log_number, False, logs)

    def _refuse_strangers(self) -> None:
        """Partitions without a checkpoint are not ours to overwrite: somebody else's, or the checkpoint was lost."""
        strangers = [name for name in self._disk.list("") if is_log_directory(name)]
        if strangers:
            raise StoreError(
                f"The data directory holds partitions ({strangers[0]}, ...) but no file {CHECKPOINT_PATH!r}: "
                "restore it, or choose another data directory."
            )

    def _segments_after(self, settled_sequence: int) -> list[_Found]:
        """The WAL segments that were begun later, in their order."""
        found: list[_Found] = []
        for name in self._disk.list(WAL_DIRECTORY):
            path = f"{WAL_DIRECTORY}/{name}"
            file = self._disk.open(path, read_only=True)
            try:
                header = decode_frame_header(memoryview(file.pread(FRAME_HEADER_SIZE, 0)), 0)
            finally:
                file.close()
            if header is not None and header.sequence > settled_sequence:
                found.append(_Found(header.sequence, path))
        return sorted(found)

    def _replay(self, found: _Found) -> None:
        """Applies the frames that continue the chain, and settles what they bring."""
        file = self._disk.open(found.path, read_only=True)
        try:
            # What is in the page cache only, since no client asked for more, must not be lost when others build on it.
            file.sync()
            pages = _Pages(file, self._memory)
            self._memory = pages.memory
            segment = WalSegment(-1, file, pages.memory, found.sequence, self._now_ms)
            chain, position = self._chain, 0
            while (header := pages.header(position)) is not None and header.sequence == found.sequence:
                end = position + FRAME_HEADER_SIZE + header.length
                if header.previous != chain or not pages.load(end) or not is_intact(pages.view, position, header):
                    _logger.warning(
                        "The write-ahead log was torn at byte %d of %s, when the broker or the machine stopped. "
                        "What was written after that was not durable, and is cut off.",
                        position,
                        found.path,
                    )
                    break
                for entry in entries(pages.view, position, end):
                    self._apply(entry, segment)
                chain = header.crc
                position = page_up(end)
            self._settle()
            self._chain, self._sequence = chain, found.sequence
        finally:
            file.close()

    def _apply(self, entry: Entry, segment: WalSegment) -> None:
        view = segment.memory.view
        log = self._logs.get(entry.log_number)
        match entry.kind:
            case EntryKind.MADE:
                if log is None:
                    log_id = decode_log_id(bytes(view[entry.start : entry.end]))
                    self._logs[entry.log_number] = _Log(entry.log_number, log_id, 0, Settled())
                self._next_log_number = max(self._next_log_number, entry.log_number + 1)
            case EntryKind.BATCHES:
                if log is not None:
                    _take_batches(log, segment, entry)
            case EntryKind.TRIMMED:
                if log is not None:
                    log.start_offset = max(log.start_offset, decode_offset(bytes(view[entry.start : entry.end])))
            case EntryKind.DELETED:
                if log is not None:
                    del self._logs[entry.log_number]
                    self._deleted.append(log_directory(log.log_id))
            case _:
                raise StoreError(
                    f"The write-ahead log has an entry of kind {entry.kind}: was it written by a newer version?"
                )

    def _settle(self) -> None:
        """First of all deleted logs go, so that others of the same name find their directories empty."""
        if self._deleted:
            self._checkpoints.write(self._checkpoint())
            for directory in self._deleted:
                remove_log_directory(self._disk, directory)
            self._deleted.clear()
        for log in self._logs.values():
            if log.part is not None:
                log.settled = settle_part(
                    self._disk, log.log_id, log.settled, log.part, LogConfig(), self._now_ms, is_first=True
                )
                log.part = None


class _Pages:
    """A WAL file, read into memory as far as it is needed."""

    def __init__(self, file: File, memory: AlignedMemory | None) -> None:
        self._file = file
        self._loaded = 0
        size = page_up(max(file.size, PAGE_SIZE))
        self.memory: Final = memory if memory is not None and memory.size >= size else AlignedMemory(size)
        self.view: Final = self.memory.view

    def load(self, end: int) -> bool:
        """Whether the file has so many bytes; then they are in memory."""
        if end > self._file.size:
            return False
        while self._loaded < end:
            until = min(self._loaded + _READ_AHEAD, len(self.view))
            self._file.read_into(self.view[self._loaded : until], self._loaded)
            self._loaded = until
        return True

    def header(self, position: int) -> FrameHeader | None:
        if not self.load(position + FRAME_HEADER_SIZE):
            return None
        return decode_frame_header(self.view, position)


def _take_batches(log: _Log, segment: WalSegment, entry: Entry) -> None:
    """Into the log's part, but for what is settled already."""
    if log.part is None:
        log.part = TailPart(segment, log.number, log.settled.next_offset)
    position = entry.start
    while position < entry.end:
        header = decode_header(segment.memory.view, position)
        if header.base_offset >= log.end_offset:
            log.part.add(header, position, position + header.size)
        position += header.size
