"""Sequences of idempotent producers, with the eyes of Kafka."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.broker.producers import GREATEST_SEQUENCE, Producers, first_offset
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.wire.record_batch import BatchHeader, decode_header
from tests.broker.broker_in_memory import batch_of

EMPTY = decode_header(batch_of(["a"], 0))
PRODUCER = 7


def header(sequence: int, count: int = 1, *, epoch: int = 0, offset: int = 0, timestamp: int = 1000) -> BatchHeader:
    return EMPTY._replace(
        base_offset=offset,
        base_sequence=sequence,
        last_offset_delta=count - 1,
        record_count=count,
        producer_id=PRODUCER,
        producer_epoch=epoch,
        max_timestamp=timestamp,
    )


def sent(*headers: BatchHeader) -> Producers:
    producers = Producers()
    for each in headers:
        assert producers.find_duplicate(each) is None
        producers.remember(each)
    return producers


def refusal(producers: Producers, refused: BatchHeader) -> ErrorCode:
    with pytest.raises(ProtocolError) as error:
        producers.find_duplicate(refused)
    return error.value.code


def test_an_unknown_producer_may_begin_with_any_sequence() -> None:
    assert Producers().find_duplicate(header(41)) is None


def test_a_gap_an_overlap_and_a_step_back_are_out_of_order() -> None:
    producers = sent(header(0, 3))
    for sequence in (4, 2, 1):
        assert refusal(producers, header(sequence)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_last_five_batches_are_known_again_and_no_older_one() -> None:
    producers = sent(*(header(sequence, offset=100 + sequence) for sequence in range(6)))
    assert refusal(producers, header(0)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    for sequence in range(1, 6):
        duplicate = producers.find_duplicate(header(sequence))
        assert duplicate is not None
        assert first_offset(duplicate) == 100 + sequence


def test_a_repetition_of_another_length_is_none() -> None:
    producers = sent(header(0, 3))
    assert refusal(producers, header(0, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_new_epoch_begins_at_zero_and_ends_the_old_one() -> None:
    producers = sent(header(0), header(1))
    assert refusal(producers, header(2, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.find_duplicate(header(0, epoch=1)) is None
    producers.remember(header(0, epoch=1))
    assert refusal(producers, header(2, epoch=0)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_go_from_the_greatest_back_to_zero() -> None:
    producers = sent(header(GREATEST_SEQUENCE - 1, 4, offset=50), header(2, offset=54))
    duplicate = producers.find_duplicate(header(GREATEST_SEQUENCE - 1, 4))
    assert duplicate is not None
    assert (duplicate.last_sequence, first_offset(duplicate)) == (1, 50)
    assert sent(header(GREATEST_SEQUENCE)).find_duplicate(header(0)) is None


def test_silence_is_forgotten_when_its_time_is_up() -> None:
    producers = sent(header(0, timestamp=1000))
    producers.expire(1999, 1000)
    assert [entry.producer_id for entry in producers.entries()] == [PRODUCER]
    producers.expire(2000, 1000)
    assert list(producers.entries()) == []


@given(
    start=st.sampled_from([0, GREATEST_SEQUENCE - 5]),
    sends=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), max_size=60),
)
def test_a_producer_that_repeats_at_will_has_every_record_once_and_in_order(
    start: int, sends: list[tuple[int, int]]
) -> None:
    """The oracle counts records: (0, count) sends that many new ones, (n, _) sends the n-th last batch again."""
    producers = Producers()
    batches: list[BatchHeader] = []
    count_in_log = 0
    for back, count in sends:
        if back == 0 or back > len(batches):
            batch = header((start + count_in_log) & GREATEST_SEQUENCE, count, offset=count_in_log)
            assert producers.find_duplicate(batch) is None
            producers.remember(batch)
            batches.append(batch)
            count_in_log += count
        elif back <= 5:
            duplicate = producers.find_duplicate(batches[-back])
            assert duplicate is not None
            assert first_offset(duplicate) == batches[-back].base_offset
        else:
            assert refusal(producers, batches[-back]) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
