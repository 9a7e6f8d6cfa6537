"""The uniform assignor, against every assignment that there could be."""

from collections.abc import Iterator, Mapping
from itertools import product
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.machines.groups.assignors.assignor import Partitions, Subscriber
from kohort.machines.groups.assignors.uniform import assign_uniform
from kohort.model.ids import TopicId

A, B, C = (UUID(int=number) for number in (1, 2, 3))

Owners = Mapping[tuple[TopicId, int], str]


def owners(assigned: Mapping[str, Partitions]) -> Owners:
    """Who has each partition; two owners of one partition are an error."""
    found: dict[tuple[TopicId, int], str] = {}
    for member_id, topics in assigned.items():
        for topic_id, partitions in topics.items():
            assert partitions, "a topic without partitions is not in an assignment"
            assert list(partitions) == sorted(set(partitions))
            for partition in partitions:
                assert found.setdefault((topic_id, partition), member_id) == member_id
    return found


def every_assignment(subscribers: Mapping[str, Subscriber], counts: Mapping[TopicId, int]) -> Iterator[Owners]:
    places = [
        (topic_id, partition)
        for topic_id, count in counts.items()
        for partition in range(count)
        if any(topic_id in subscriber.topics for subscriber in subscribers.values())
    ]
    choices = [[m for m, subscriber in subscribers.items() if place[0] in subscriber.topics] for place in places]
    for choice in product(*choices):
        yield dict(zip(places, choice))


def loads(assignment: Owners, subscribers: Mapping[str, Subscriber]) -> dict[str, int]:
    count = dict.fromkeys(subscribers, 0)
    for member_id in assignment.values():
        count[member_id] += 1
    return count


def spread(assignment: Owners, subscribers: Mapping[str, Subscriber]) -> int:
    """The sum of squares: the smaller, the more even."""
    return sum(load * load for load in loads(assignment, subscribers).values())


def kept(assignment: Owners, subscribers: Mapping[str, Subscriber]) -> int:
    before = owners({member_id: subscriber.previous for member_id, subscriber in subscribers.items()})
    return sum(before.get(place) == member_id for place, member_id in assignment.items())


@st.composite
def groups(draw: st.DrawFn, same_topics: bool) -> tuple[dict[str, Subscriber], dict[TopicId, int]]:
    """A few members of a few partitions, with any disjoint previous assignment, some of it of topics that are gone."""
    counts = {topic_id: draw(st.integers(1, 3)) for topic_id in (A, B)}
    member_ids = [f"member-{number}" for number in range(draw(st.integers(1, 4)))]
    previous: dict[str, dict[TopicId, list[int]]] = {member_id: {} for member_id in member_ids}
    for topic_id, count in {**counts, C: 2}.items():
        for partition in range(count + 1):
            owner = draw(st.sampled_from([None, *member_ids]))
            if owner is not None:
                previous[owner].setdefault(topic_id, []).append(partition)
    subscribers = {}
    for member_id in member_ids:
        topics = (A, B) if same_topics else draw(st.sampled_from([(), (A,), (B,), (A, B)]))
        owned = {topic_id: tuple(partitions) for topic_id, partitions in previous[member_id].items()}
        subscribers[member_id] = Subscriber(topics, owned)
    return subscribers, counts


@settings(max_examples=150, deadline=None)
@given(groups(same_topics=True))
def test_members_that_want_the_same_are_balanced_and_no_balanced_assignment_keeps_more(
    group: tuple[dict[str, Subscriber], dict[TopicId, int]],
) -> None:
    subscribers, counts = group
    assigned = owners(assign_uniform(subscribers, counts))
    candidates = list(every_assignment(subscribers, counts))
    assert set(assigned) == set(candidates[0])
    best = min(spread(candidate, subscribers) for candidate in candidates)
    assert spread(assigned, subscribers) == best
    assert kept(assigned, subscribers) == max(
        kept(candidate, subscribers) for candidate in candidates if spread(candidate, subscribers) == best
    )


@settings(max_examples=150, deadline=None)
@given(groups(same_topics=False))
def test_where_members_want_different_topics_no_move_of_one_partition_makes_them_more_even(
    group: tuple[dict[str, Subscriber], dict[TopicId, int]],
) -> None:
    subscribers, counts = group
    assigned = owners(assign_uniform(subscribers, counts))
    wanted = {
        (topic_id, partition)
        for topic_id, count in counts.items()
        for partition in range(count)
        if any(topic_id in subscriber.topics for subscriber in subscribers.values())
    }
    assert set(assigned) == wanted
    now = spread(assigned, subscribers)
    for place, owner in assigned.items():
        assert place[0] in subscribers[owner].topics
        for other, subscriber in subscribers.items():
            if place[0] in subscriber.topics:
                assert spread({**assigned, place: other}, subscribers) >= now


@settings(max_examples=100, deadline=None)
@given(st.booleans().flatmap(lambda same_topics: groups(same_topics=same_topics)))
def test_an_assignment_that_nothing_disturbs_stays_as_it_is(
    group: tuple[dict[str, Subscriber], dict[TopicId, int]],
) -> None:
    subscribers, counts = group
    first = assign_uniform(subscribers, counts)
    again = {m: subscriber._replace(previous=first[m]) for m, subscriber in subscribers.items()}
    second = assign_uniform(again, counts)
    assert second == first
    assert all(second[member_id] is first[member_id] for member_id in first)


def test_a_member_that_joins_takes_only_what_balance_needs() -> None:
    subscribers = {
        "a": Subscriber((A,), {A: (0, 1, 2)}),
        "b": Subscriber((A,), {A: (3, 4, 5)}),
        "c": Subscriber((A,), {}),
    }
    assigned = assign_uniform(subscribers, {A: 6})
    assert assigned == {"a": {A: (0, 1)}, "b": {A: (3, 4)}, "c": {A: (2, 5)}}


def test_partitions_that_were_added_to_a_topic_are_handed_out() -> None:
    subscribers = {"a": Subscriber((A,), {A: (0,)}), "b": Subscriber((A,), {A: (1,)})}
    assert assign_uniform(subscribers, {A: 4}) == {"a": {A: (0, 2)}, "b": {A: (1, 3)}}


def test_a_group_without_members_is_assigned_nothing() -> None:
    assert assign_uniform({}, {}) == {}


def test_the_order_in_which_members_are_told_makes_no_difference() -> None:
    members = [(f"m{number}", Subscriber((A, B), {})) for number in range(5)]
    assert assign_uniform(dict(members), {A: 7, B: 4}) == assign_uniform(dict(reversed(members)), {A: 7, B: 4})
