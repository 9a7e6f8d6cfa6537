"""Offsets kept by the combinations in which they were committed, against a plain table of partitions."""

from hypothesis import given
from hypothesis import strategies as st

from kohort.machines.groups.committed import TopicOffsets
from kohort.model.records.groups import OffsetCommitRecord

partitions = st.lists(st.integers(0, 30), min_size=1, max_size=31, unique=True).map(tuple)
steps = st.lists(st.tuples(st.booleans(), partitions), max_size=60)


def commit(number: int, partitions: tuple[int, ...]) -> OffsetCommitRecord:
    offsets = tuple(number * 100 + partition for partition in partitions)
    metadata = tuple(f"{number}-{partition}" for partition in partitions) if number % 2 else ()
    return OffsetCommitRecord("g", "orders", partitions, offsets, (number,) * len(partitions), metadata, number)


@given(steps)
def test_the_last_commit_of_each_partition_counts_whatever_was_committed_with_it(
    steps: list[tuple[bool, tuple[int, ...]]],
) -> None:
    offsets, table = TopicOffsets(), dict[int, int]()
    for number, (is_removal, partitions) in enumerate(steps):
        if is_removal:
            offsets.remove(partitions[0])
            table.pop(partitions[0], None)
        else:
            offsets.put(commit(number, partitions))
            table.update(dict.fromkeys(partitions, number))
        assert bool(offsets) == bool(table)
    assert sorted(offsets.partitions()) == sorted(table)
    for partition in range(31):
        committed = offsets.get(partition)
        number = table.get(partition)
        if committed is None or number is None:
            assert (committed, number) == (None, None)
            continue
        assert committed.offset == number * 100 + partition
        assert committed.leader_epoch == number
        assert committed.metadata == (f"{number}-{partition}" if number % 2 else "")


@given(steps)
def test_what_counts_comes_back_from_its_records(steps: list[tuple[bool, tuple[int, ...]]]) -> None:
    offsets, again = TopicOffsets(), TopicOffsets()
    for number, (_, partitions) in enumerate(steps):
        offsets.put(commit(number, partitions))
    for record in offsets.records():
        again.put(record)
    assert {each: again.get(each) for each in again.partitions()} == {
        each: offsets.get(each) for each in offsets.partitions()
    }


def test_what_no_longer_counts_is_not_kept_for_ever() -> None:
    offsets = TopicOffsets()
    for first in range(1000):
        offsets.put(commit(first, (first, *range(1000, 2000))))
    assert sum(len(slot.record.partitions) for slot in offsets._slots.values()) < 3 * 2000 + 64
