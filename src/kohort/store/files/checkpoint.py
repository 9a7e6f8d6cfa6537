"""The checkpoint: every log there is, its settled segments, and how far the write-ahead log has been settled.

What the checkpoint says is true of everything settled; what came later is in the write-ahead log. Replaced as a whole,
in one step, so that it is always one moment's truth. Decides nothing. Read by recovery.py, written by background.py.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from kohort.store.files.disk import Disk
from kohort.store.files.frames import decode_log_id, encode_log_id
from kohort.store.files.segment import Segment, Settled
from kohort.store.log import LogId, ProducerBatch, ProducerEntry, StoreError

CHECKPOINT_PATH: Final = "checkpoint"
_NEW_PATH: Final = "checkpoint.new"
_MAGIC: Final = 0x6B574350
_HEAD: Final = Struct(">IIQIIIB")
_LOG: Final = Struct(">IHqqqII")
_SEGMENT: Final = Struct(">qqqqqqqIIIIIIq")
_PRODUCER: Final = Struct(">qhB")
_BATCH: Final = Struct(">iiqq")
_CRC: Final = Struct(">I")
_CRC_START: Final = 8


class LogEntry(NamedTuple):
    """A log in the checkpoint."""

    number: int
    log_id: LogId
    start_offset: int
    settled: Settled


class Checkpoint(NamedTuple):
    settled_sequence: int = 0
    """WAL segments up to this one are settled, or were found torn and given up."""
    chain: int = 0
    """The crc of the last frame settled: the next one names it."""
    next_log_number: int = 1
    is_clean: bool = True
    """Nothing came after it: the store was closed."""
    logs: tuple[LogEntry, ...] = ()


class CheckpointFile:
    """Writes checkpoints. It remembers the bytes of logs that did not change, so thousands of them cost little."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._encoded: dict[int, tuple[LogEntry, bytes]] = {}

    def write(self, checkpoint: Checkpoint) -> None:
        """Durable on return. Runs in the settling worker, or while the store is opened or closed."""
        data = self._encode(checkpoint)
        file = self._disk.open(_NEW_PATH, create=True)
        try:
            file.truncate(0)
            file.write((data,))
            file.sync()
        finally:
            file.close()
        self._disk.rename(_NEW_PATH, CHECKPOINT_PATH)
        self._disk.sync_directory("")

    def _encode(self, checkpoint: Checkpoint) -> bytes:
        encoded: dict[int, tuple[LogEntry, bytes]] = {}
        for entry in checkpoint.logs:
            known = self._encoded.get(entry.number)
            is_same = known is not None and known[0].settled is entry.settled and known[0] == entry
            encoded[entry.number] = known if known is not None and is_same else (entry, _encode_log(entry))
        self._encoded = encoded
        head = _HEAD.pack(
            _MAGIC,
            0,
            checkpoint.settled_sequence,
            checkpoint.chain,
            checkpoint.next_log_number,
            len(checkpoint.logs),
            checkpoint.is_clean,
        )
        data = bytearray().join((head, *(piece for _, piece in encoded.values())))
        _CRC.pack_into(data, 4, crc32c(memoryview(data)[_CRC_START:]))
        return bytes(data)

    def read(self) -> Checkpoint | None:
        """None if there is none."""
        try:
            file = self._disk.open(CHECKPOINT_PATH, read_only=True)
        except FileNotFoundError:
            return None
        try:
            data = file.pread(file.size, 0)
        finally:
            file.close()
        if len(data) < _HEAD.size or crc32c(memoryview(data)[_CRC_START:]) != _CRC.unpack_from(data, 4)[0]:
            raise StoreError(f"The file {CHECKPOINT_PATH!r} is damaged. Restore it, or all of the data directory.")
        _, _, settled_sequence, chain, next_log_number, count, is_clean = _HEAD.unpack_from(data)
        reader = _Reader(data, _HEAD.size)
        logs = tuple(_decode_log(reader) for _ in range(count))
        return Checkpoint(settled_sequence, chain, next_log_number, bool(is_clean), logs)


def _encode_log(entry: LogEntry) -> bytes:
    settled = entry.settled
    log_id = encode_log_id(entry.log_id)
    head = _LOG.pack(
        entry.number,
        len(log_id),
        entry.start_offset,
        settled.next_offset,
        settled.clean_offset,
        len(settled.segments),
        len(settled.producers),
    )
    segments = [_SEGMENT.pack(*segment) for segment in settled.segments]
    return b"".join((head, log_id, *segments, *_encode_producers(settled.producers)))


def _encode_producers(producers: Iterable[ProducerEntry]) -> Iterable[bytes]:
    for producer_id, producer_epoch, batches in producers:
        yield _PRODUCER.pack(producer_id, producer_epoch, len(batches))
        for batch in batches:
            yield _BATCH.pack(*batch)


class _Reader:
    """Takes one value after the other from the bytes."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def values(self, struct: Struct) -> tuple[int, ...]:
        found = struct.unpack_from(self._data, self._position)
        self._position += struct.size
        return found

    def bytes(self, length: int) -> bytes:
        self._position += length
        return self._data[self._position - length : self._position]


def _decode_log(reader: _Reader) -> LogEntry:
    number, id_length, start_offset, next_offset, clean_offset, segments, producers = reader.values(_LOG)
    return LogEntry(
        number,
        decode_log_id(reader.bytes(id_length)),
        start_offset,
        Settled(
            next_offset,
            clean_offset,
            tuple(Segment(*reader.values(_SEGMENT)) for _ in range(segments)),
            tuple(_decode_producer(reader) for _ in range(producers)),
        ),
    )


def _decode_producer(reader: _Reader) -> ProducerEntry:
    producer_id, producer_epoch, batches = reader.values(_PRODUCER)
    return ProducerEntry(
        producer_id, producer_epoch, tuple(ProducerBatch(*reader.values(_BATCH)) for _ in range(batches))
    )
