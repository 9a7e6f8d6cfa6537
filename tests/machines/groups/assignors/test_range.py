"""The range assignor: runs of partitions, co-partitioned, in the order of the members."""

from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.machines.groups.assignors.assignor import Subscriber
from kohort.machines.groups.assignors.range import assign_range

A, B = UUID(int=1), UUID(int=2)


def test_each_topic_is_cut_into_runs_and_the_first_members_get_the_longer_ones() -> None:
    subscribers = {member_id: Subscriber((A,), {}) for member_id in ("c", "a", "b")}
    assert assign_range(subscribers, {A: 5}) == {"a": {A: (0, 1)}, "b": {A: (2, 3)}, "c": {A: (4,)}}


def test_more_members_than_partitions_leave_some_without() -> None:
    subscribers = {member_id: Subscriber((A,), {}) for member_id in ("a", "b", "c")}
    assert assign_range(subscribers, {A: 2}) == {"a": {A: (0,)}, "b": {A: (1,)}, "c": {}}


def test_static_members_come_first_by_their_instance_so_that_a_new_member_id_moves_nothing() -> None:
    def assigned(first_id: str, second_id: str) -> list[object]:
        subscribers = {
            first_id: Subscriber((A,), {}, "instance-1"),
            second_id: Subscriber((A,), {}, "instance-2"),
            "a-dynamic-one": Subscriber((A,), {}),
        }
        return [assign_range(subscribers, {A: 3})[member_id] for member_id in (first_id, second_id, "a-dynamic-one")]

    assert assigned("x", "y") == assigned("y", "x") == [{A: (0,)}, {A: (1,)}, {A: (2,)}]


def test_a_topic_goes_only_to_those_who_want_it() -> None:
    subscribers = {"a": Subscriber((A,), {}), "b": Subscriber((A, B), {}), "c": Subscriber((B,), {})}
    assert assign_range(subscribers, {A: 2, B: 3}) == {"a": {A: (0,)}, "b": {A: (1,), B: (0, 1)}, "c": {B: (2,)}}


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 9), st.integers(1, 20), st.data())
def test_topics_of_the_same_size_are_divided_alike_evenly_and_whole(
    members: int, partitions: int, data: st.DataObject
) -> None:
    subscribers = {f"m{number}": Subscriber((A, B), {}) for number in data.draw(st.permutations(range(members)))}
    assigned = assign_range(subscribers, {A: partitions, B: partitions})
    for topics in assigned.values():
        assert topics.get(A) == topics.get(B)
        if A in topics:
            assert topics[A] == tuple(range(topics[A][0], topics[A][-1] + 1))
    sizes = [len(topics.get(A, ())) for topics in assigned.values()]
    assert max(sizes) - min(sizes) <= 1
    assert sorted(p for topics in assigned.values() for p in topics.get(A, ())) == list(range(partitions))
