"""The idempotent producers of one partition: which batch is next in its producer's sequence, and which came before.

Decides whether a batch continues its producer's sequence, repeats one of the last five, or is refused. What it
remembers includes batches that are still on their way to the disk, so a pipelining producer is judged as it sent.
It never writes: the log keeps the same facts, and `reload` takes them from there at open and after a failed append.

A sequence counts records, not batches, and goes from 2^31 - 1 back to 0. An epoch is a producer's own restart: a higher
one begins again at 0, a lower one is a ghost.

Next hop: store/producers.py, which says what stays remembered, here and in the log alike.
"""

from collections.abc import Iterable
from typing import Final

from kohort.model.errors import ErrorCode, ProtocolError
from kohort.store import producers as memory
from kohort.store.log import ProducerBatch, ProducerEntry
from kohort.wire.record_batch import NO_TIMESTAMP, BatchHeader

GREATEST_SEQUENCE: Final = (1 << 31) - 1
NO_SEQUENCE: Final = -1


def first_offset(batch: ProducerBatch) -> int:
    """The offset that a remembered batch began at."""
    return batch.last_offset - ((batch.last_sequence - batch.first_sequence) & GREATEST_SEQUENCE)


def last_timestamp(entry: ProducerEntry) -> int:
    """When the producer was last heard of."""
    return entry.batches[-1].timestamp if entry.batches else NO_TIMESTAMP


class Producers:
    """What one partition remembers of its producers."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: Final[dict[int, ProducerEntry]] = {}

    def reload(self, entries: Iterable[ProducerEntry]) -> None:
        """Forgets everything and believes the log."""
        self._entries.clear()
        self._entries.update((entry.producer_id, entry) for entry in entries)

    def find_duplicate(self, header: BatchHeader) -> ProducerBatch | None:
        """The remembered batch that this one repeats; None if it is new and in sequence, else ProtocolError."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            # Its memory may have gone with retention or expiry: any sequence is a beginning.
            return None
        if header.producer_epoch != entry.producer_epoch:
            _check_new_epoch(header, entry.producer_epoch)
            return None
        first = header.base_sequence
        last = (first + header.last_offset_delta) & GREATEST_SEQUENCE
        for batch in entry.batches:
            if batch.first_sequence == first and batch.last_sequence == last:
                return batch
        newest = entry.batches[-1].last_sequence if entry.batches else NO_SEQUENCE
        if first != (newest + 1) & GREATEST_SEQUENCE:
            raise ProtocolError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Out of order sequence number for producer {header.producer_id}: "
                f"{first} (incoming seq. number), {newest} (current end sequence number)",
            )
        return None

    def remember(self, header: BatchHeader) -> None:
        """Takes in a batch that goes to the log at header.base_offset."""
        memory.remember(self._entries, header)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forgets producers whose last batch is this old (producer.id.expiration.ms)."""
        oldest_ms = now_ms - expiration_ms
        for producer_id in [key for key, entry in self._entries.items() if last_timestamp(entry) <= oldest_ms]:
            del self._entries[producer_id]

    def entries(self) -> Iterable[ProducerEntry]:
        """Every producer, in the order in which each was first heard of."""
        return self._entries.values()


def _check_new_epoch(header: BatchHeader, known_epoch: int) -> None:
    if header.producer_epoch < known_epoch:
        raise ProtocolError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {header.producer_id} is {header.producer_epoch}, "
            f"which is smaller than the last seen epoch {known_epoch}",
        )
    if header.base_sequence != 0:
        raise ProtocolError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Invalid sequence number for new epoch of producer {header.producer_id}: {header.producer_epoch} "
            f"(request epoch), {header.base_sequence} (seq. number), {known_epoch} (current producer epoch)",
        )
