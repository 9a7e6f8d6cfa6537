"""What a log remembers of its idempotent producers: of each the epoch and the last five batches.

Decides which batches stay remembered, by the headers that went into the log; never decides whether a batch may be
appended, which is the broker's to say. Used by every store, from the log's first batch on or from a checkpoint.
"""

from collections.abc import MutableMapping
from typing import Final

from kohort.store.log import ProducerBatch, ProducerEntry
from kohort.wire.record_batch import NO_PRODUCER_ID, BatchHeader

BATCHES_REMEMBERED: Final = 5
"""As many as an idempotent producer may have in flight."""
_SEQUENCES: Final = 1 << 31


def remember(producers: MutableMapping[int, ProducerEntry], header: BatchHeader) -> None:
    """Takes note of a batch that was appended. A new epoch of a producer starts its batches afresh."""
    producer_id = header.producer_id
    if producer_id == NO_PRODUCER_ID:
        return
    known = producers.get(producer_id)
    batches = known.batches if known is not None and known.producer_epoch == header.producer_epoch else ()
    if not header.is_control:
        last_sequence = (header.base_sequence + header.last_offset_delta) % _SEQUENCES
        batch = ProducerBatch(header.base_sequence, last_sequence, header.last_offset, header.max_timestamp)
        batches = (*batches, batch)[-BATCHES_REMEMBERED:]
    producers[producer_id] = ProducerEntry(producer_id, header.producer_epoch, batches)
