"""What store/log.py promises of a log, said once for every store."""

from functools import partial
from uuid import UUID

import pytest

from kohort.store.log import (
    Chunk,
    Durability,
    Log,
    LogConfig,
    LogId,
    OffsetOutOfRangeError,
    ProducerBatch,
    ProducerEntry,
    StoreError,
    TimestampOffset,
)
from kohort.wire.record_batch import Batch, at_offset, decode_header
from tests.batches import values
from tests.contract.houses import House

EVERYTHING = 1 << 62
ORDERS = LogId(0, "orders", UUID(int=7), 0)
REFUNDS = LogId(0, "refunds", UUID(int=8), 3)
PLAIN = LogConfig()


def append(house: House, log: Log, *batches: Batch, durability: Durability = Durability.FSYNC) -> StoreError | None:
    """Appends and waits; what done was told."""
    outcomes: list[StoreError | None] = []
    log.append(batches, durability, outcomes.append)
    house.work(lambda: bool(outcomes))
    return outcomes[0]


def fill(house: House, log: Log, count: int, *, size: int = 10, timestamp: int = 1_000) -> list[Batch]:
    """Appends so many batches of two records each, one append apiece, and waits for the last."""
    outcomes: list[StoreError | None] = []
    batches = [values(log.end_offset + 2 * n, 2, size=size, timestamp=timestamp + n) for n in range(count)]
    for one in batches:
        log.append([one], Durability.FSYNC, outcomes.append)
    house.work(lambda: len(outcomes) == count)
    assert outcomes == [None] * count
    return batches


def read(
    house: House, log: Log, offset: int, max_bytes: int = EVERYTHING, until: int = EVERYTHING, at_least_one: bool = True
) -> list[Batch]:
    """The whole batches that a read finds. A last one that is cut short is left out, as a consumer does."""
    outcomes: list[Chunk | StoreError] = []
    log.read(offset, max_bytes, until, outcomes.append, at_least_one)
    house.work(lambda: bool(outcomes))
    chunk = outcomes[0]
    if isinstance(chunk, StoreError):
        raise chunk
    data = b"".join(chunk.buffers)
    assert chunk.size == len(data)
    batches: list[Batch] = []
    position = 0
    while len(data) - position >= 61:
        header = decode_header(data, position)
        if position + header.size > len(data):
            break
        batches.append(Batch(header, data[position : position + header.size]))
        position += header.size
    return batches


def read_all(house: House, log: Log) -> list[Batch]:
    """Every batch of the log, however many reads it takes."""
    batches: list[Batch] = []
    offset = log.start_offset
    while offset < log.readable_offset:
        found = read(house, log, offset)
        if not found:
            break
        batches += found
        offset = found[-1].header.next_offset
    return batches


def find_time(house: House, log: Log, timestamp: int) -> TimestampOffset | StoreError | None:
    outcomes: list[TimestampOffset | StoreError | None] = []
    log.find_time(timestamp, outcomes.append)
    house.work(lambda: bool(outcomes))
    return outcomes[0]


def find_max_timestamp(house: House, log: Log) -> TimestampOffset | StoreError | None:
    outcomes: list[TimestampOffset | StoreError | None] = []
    log.find_max_timestamp(outcomes.append)
    house.work(lambda: bool(outcomes))
    return outcomes[0]


def trim(house: House, log: Log, offset: int) -> StoreError | None:
    outcomes: list[StoreError | None] = []
    log.trim(offset, outcomes.append)
    house.work(lambda: bool(outcomes))
    return outcomes[0]


def bounds(log: Log) -> tuple[int, int, int]:
    return (log.start_offset, log.readable_offset, log.end_offset)


@pytest.fixture
def log(house: House) -> Log:
    return house.store.log(ORDERS, PLAIN)


class TestAppend:
    def test_a_new_log_is_empty(self, log: Log) -> None:
        assert bounds(log) == (0, 0, 0)
        assert log.size_bytes == 0
        assert log.id == ORDERS

    def test_the_end_moves_at_once_and_what_is_readable_when_it_is_done(self, house: House, log: Log) -> None:
        outcomes: list[StoreError | None] = []
        log.append([values(0, 3)], Durability.FSYNC, outcomes.append)
        assert bounds(log) == (0, 0, 3)
        assert outcomes == []
        house.work(lambda: bool(outcomes))
        assert outcomes == [None]
        assert bounds(log) == (0, 3, 3)

    def test_the_memory_of_batches_is_the_callers_again_at_once_however_long_they_wait(
        self, house: House, log: Log
    ) -> None:
        """More than a WAL has room for, each batch received into the memory of the one before."""
        wanted = [values(2 * n, 2, size=5_000) for n in range(40)]
        memory = bytearray(max(len(batch.data) for batch in wanted))
        outcomes: list[StoreError | None] = []
        for batch in wanted:
            memory[: len(batch.data)] = batch.data
            received = batch._replace(data=memoryview(memory)[: len(batch.data)])
            log.append([received], Durability.FSYNC, outcomes.append)
        memory[100:] = bytes(len(memory) - 100)
        house.work(lambda: len(outcomes) == len(wanted))
        assert read_all(house, log) == wanted

    @pytest.mark.parametrize("durability", Durability)
    def test_appends_are_done_in_the_order_they_were_made(self, house: House, log: Log, durability: Durability) -> None:
        order: list[tuple[int, int]] = []

        def note(n: int, _: StoreError | None) -> None:
            order.append((n, log.readable_offset))

        for n in range(20):
            log.append([values(n, 1)], durability, partial(note, n))
        house.work(lambda: len(order) == 20)
        assert [n for n, _ in order] == list(range(20))
        assert all(readable > n for n, readable in order)

    def test_mixed_durabilities_of_one_log_are_still_done_in_order(self, house: House, log: Log) -> None:
        order: list[int] = []

        def note(n: int, _: StoreError | None) -> None:
            order.append(n)

        for n in range(20):
            durability = Durability.OS if n % 3 else Durability.FSYNC
            log.append([values(n, 1)], durability, partial(note, n))
        house.work(lambda: len(order) == 20)
        assert order == list(range(20))

    def test_several_batches_of_one_append_come_back_each(self, house: House, log: Log) -> None:
        batches = [values(0, 2), values(2, 5), values(7, 1)]
        assert append(house, log, *batches) is None
        assert read_all(house, log) == batches

    def test_a_batch_may_leave_a_gap_before_it(self, house: House, log: Log) -> None:
        first, second = values(0, 2), values(10, 2)
        append(house, log, first, second)
        assert log.end_offset == 12
        assert read(house, log, 5) == [second]

    def test_the_header_wins_over_the_bytes_before_the_crc(self, house: House, log: Log) -> None:
        produced = values(0, 2)
        append(house, log, values(0, 4))
        append(house, log, at_offset(produced.header, produced.data, 4, 9))
        found = read(house, log, 4)[0].header
        assert (found.base_offset, found.leader_epoch, found.crc) == (4, 9, produced.header.crc)

    def test_the_size_is_that_of_all_batches(self, house: House, log: Log) -> None:
        batches = fill(house, log, 30)
        assert log.size_bytes == sum(len(one.data) for one in batches)

    def test_the_caller_may_reuse_its_memory_after_an_append(self, house: House, log: Log) -> None:
        expected = values(0, 2)
        memory = bytearray(expected.data)
        log.append([Batch(expected.header, memory)], Durability.FSYNC, lambda _: None)
        memory[:] = bytes(len(memory))
        house.work(lambda: log.readable_offset == 2)
        assert read_all(house, log) == [expected]

    def test_a_batch_larger_than_any_buffer_comes_back_whole(self, house: House, log: Log) -> None:
        large = values(0, 1, size=3_000_000)
        assert append(house, log, large) is None
        fill(house, log, 3)
        assert read(house, log, 0, 10) == [large]


class TestRead:
    def test_a_read_inside_a_batch_begins_with_that_batch(self, house: House, log: Log) -> None:
        batches = fill(house, log, 10)
        assert read(house, log, 5)[0] == batches[2]

    def test_a_read_at_the_end_finds_nothing(self, house: House, log: Log) -> None:
        fill(house, log, 3)
        assert read(house, log, 6) == []

    @pytest.mark.parametrize("offset", [-1, 7])
    def test_a_read_outside_of_the_log_is_refused(self, house: House, log: Log, offset: int) -> None:
        fill(house, log, 3)
        with pytest.raises(OffsetOutOfRangeError):
            read(house, log, offset)

    def test_a_read_beyond_what_is_readable_is_refused(self, house: House, log: Log) -> None:
        fill(house, log, 3)
        log.append([values(6, 5)], Durability.FSYNC, lambda _: None)
        with pytest.raises(OffsetOutOfRangeError):
            read_now(log, 7)

    def test_what_is_not_readable_yet_is_not_read(self, house: House, log: Log) -> None:
        fill(house, log, 3)
        log.append([values(6, 5)], Durability.FSYNC, lambda _: None)
        assert read_now(log, 6).size == 0

    def test_a_read_stops_at_about_so_many_bytes(self, house: House, log: Log) -> None:
        batches = fill(house, log, 10)
        size = len(batches[0].data)
        assert read(house, log, 0, 3 * size) == batches[:3]

    def test_at_least_one_batch_comes_whole_however_large(self, house: House, log: Log) -> None:
        batches = fill(house, log, 3, size=500)
        assert read(house, log, 2, 1) == [batches[1]]

    def test_without_at_least_one_a_read_keeps_to_its_bytes(self, house: House, log: Log) -> None:
        fill(house, log, 3, size=500)
        assert read(house, log, 2, 600, at_least_one=False) == []

    def test_no_batch_begins_at_or_beyond_the_until_offset(self, house: House, log: Log) -> None:
        batches = fill(house, log, 10)
        assert read(house, log, 0, until=6) == batches[:3]
        assert read(house, log, 0, until=7) == batches[:4]
        assert read(house, log, 6, until=6) == []

    def test_logs_do_not_see_each_other(self, house: House, log: Log) -> None:
        other = house.store.log(REFUNDS, PLAIN)
        mine, theirs = [], []
        for _ in range(10):
            mine += fill(house, log, 2)
            theirs += fill(house, other, 3, size=30)
        assert read_all(house, log) == mine
        assert read_all(house, other) == theirs


def read_now(log: Log, offset: int) -> Chunk:
    """A read of what lies in memory: its done is called before read returns."""
    outcomes: list[Chunk | StoreError] = []
    log.read(offset, EVERYTHING, EVERYTHING, outcomes.append)
    chunk = outcomes[0]
    if isinstance(chunk, StoreError):
        raise chunk
    return chunk


class TestTimes:
    def test_the_first_batch_that_reaches_a_time_is_found(self, house: House, log: Log) -> None:
        append(house, log, values(0, 2, timestamp=100), values(2, 2, timestamp=300), values(4, 2, timestamp=200))
        assert find_time(house, log, 0) == TimestampOffset(0, 100)
        assert find_time(house, log, 100) == TimestampOffset(0, 100)
        assert find_time(house, log, 101) == TimestampOffset(2, 300)
        assert find_time(house, log, 200) == TimestampOffset(2, 300)
        assert find_time(house, log, 301) is None

    def test_a_time_is_looked_for_from_the_start_on(self, house: House, log: Log) -> None:
        append(house, log, values(0, 2, timestamp=300), values(2, 2, timestamp=100), values(4, 2, timestamp=200))
        trim(house, log, 2)
        assert find_time(house, log, 100) == TimestampOffset(2, 100)
        assert find_time(house, log, 201) is None

    def test_the_first_batch_with_the_greatest_time_is_found(self, house: House, log: Log) -> None:
        append(house, log, values(0, 2, timestamp=100), values(2, 2, timestamp=300), values(4, 2, timestamp=300))
        assert find_max_timestamp(house, log) == TimestampOffset(2, 300)

    def test_an_empty_log_has_no_times(self, house: House, log: Log) -> None:
        assert find_time(house, log, 0) is None
        assert find_max_timestamp(house, log) is None


class TestProducers:
    def test_the_last_five_batches_of_a_producer_are_remembered(self, house: House, log: Log) -> None:
        for n in range(7):
            append(house, log, values(2 * n, 2, producer_id=4, producer_epoch=1, base_sequence=2 * n))
        expected = tuple(ProducerBatch(2 * n, 2 * n + 1, 2 * n + 1, 1_000) for n in range(2, 7))
        assert list(log.producers()) == [ProducerEntry(4, 1, expected)]

    def test_a_new_epoch_forgets_the_batches_of_the_old(self, house: House, log: Log) -> None:
        append(house, log, values(0, 2, producer_id=4, producer_epoch=1, base_sequence=0))
        append(house, log, values(2, 2, producer_id=4, producer_epoch=2, base_sequence=0))
        assert list(log.producers()) == [ProducerEntry(4, 2, (ProducerBatch(0, 1, 3, 1_000),))]

    def test_a_sequence_goes_on_with_zero_after_the_greatest(self, house: House, log: Log) -> None:
        append(house, log, values(0, 3, producer_id=4, producer_epoch=1, base_sequence=(1 << 31) - 2))
        assert [entry.batches[0].last_sequence for entry in log.producers()] == [0]

    def test_batches_without_a_producer_leave_no_entry(self, house: House, log: Log) -> None:
        fill(house, log, 2)
        assert list(log.producers()) == []

    def test_producers_survive_a_restart(self, house: House, log: Log) -> None:
        for n in range(300):
            append(house, log, values(n, 1, producer_id=n % 3, producer_epoch=0, base_sequence=n // 3))
        before = sorted(log.producers())
        house.reopen()
        assert sorted(house.store.log(ORDERS, PLAIN).producers()) == before


class TestTrim:
    def test_what_was_trimmed_cannot_be_read(self, house: House, log: Log) -> None:
        batches = fill(house, log, 10)
        assert trim(house, log, 6) is None
        assert bounds(log) == (6, 20, 20)
        assert read_all(house, log) == batches[3:]
        with pytest.raises(OffsetOutOfRangeError):
            read(house, log, 5)

    def test_the_start_may_lie_inside_a_batch(self, house: House, log: Log) -> None:
        batches = fill(house, log, 10)
        trim(house, log, 7)
        assert log.start_offset == 7
        assert read(house, log, 7)[0] == batches[3]

    def test_the_start_never_moves_down(self, house: House, log: Log) -> None:
        fill(house, log, 10)
        trim(house, log, 6)
        assert trim(house, log, 2) is None
        assert log.start_offset == 6

    def test_everything_may_be_trimmed(self, house: House, log: Log) -> None:
        fill(house, log, 10)
        trim(house, log, 20)
        assert bounds(log) == (20, 20, 20)
        assert read(house, log, 20) == []
        assert append(house, log, values(20, 1)) is None
        assert read_all(house, log) == [values(20, 1)]

    def test_a_trim_beyond_the_end_is_refused(self, house: House, log: Log) -> None:
        fill(house, log, 2)
        assert isinstance(trim(house, log, 5), OffsetOutOfRangeError)
        assert log.start_offset == 0

    def test_a_trim_survives_a_restart(self, house: House, log: Log) -> None:
        batches = fill(house, log, 10)
        trim(house, log, 7)
        house.reopen()
        again = house.store.log(ORDERS, PLAIN)
        assert bounds(again) == (7, 20, 20)
        assert read_all(house, again) == batches[3:]
