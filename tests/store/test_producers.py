"""What is remembered of producers."""

from kohort.store.log import ProducerBatch, ProducerEntry
from kohort.store.producers import remember
from kohort.wire.record_batch import BatchHeader
from tests.batches import values


def header(base_sequence: int, count: int = 1, *, producer_id: int = 1, epoch: int = 0) -> BatchHeader:
    batch = values(100, count, producer_id=producer_id, producer_epoch=epoch, base_sequence=base_sequence)
    return batch.header


def remembered(*headers: BatchHeader) -> dict[int, ProducerEntry]:
    producers: dict[int, ProducerEntry] = {}
    for one in headers:
        remember(producers, one)
    return producers


def test_the_sixth_batch_pushes_the_first_out() -> None:
    entry = remembered(*(header(sequence) for sequence in range(6)))[1]
    assert [batch.first_sequence for batch in entry.batches] == [1, 2, 3, 4, 5]


def test_a_batch_is_remembered_by_its_sequences_its_last_offset_and_its_time() -> None:
    assert remembered(header(7, 3))[1].batches == (ProducerBatch(7, 9, 102, 1_000),)


def test_sequences_wrap_to_zero_behind_the_greatest() -> None:
    assert remembered(header((1 << 31) - 1, 2))[1].batches[0].last_sequence == 0


def test_a_new_epoch_starts_afresh() -> None:
    assert remembered(header(4), header(0, epoch=1))[1] == ProducerEntry(1, 1, (ProducerBatch(0, 0, 100, 1_000),))


def test_producers_are_remembered_apart() -> None:
    assert list(remembered(header(0), header(0, producer_id=2))) == [1, 2]


def test_a_marker_brings_an_epoch_and_no_batch() -> None:
    marker = header(-1, epoch=3)._replace(attributes=0x30)
    assert remembered(header(0), marker)[1] == ProducerEntry(1, 3, ())


def test_a_batch_without_a_producer_leaves_nothing() -> None:
    assert remembered(values(0, 1).header) == {}
