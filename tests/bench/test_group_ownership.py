"""What the benchmarks say of who owned what, and for how long nobody did."""

import pytest

from bench.group_crew import event_of
from bench.group_member import longest_gap
from bench.group_ownership import Event, Ownership, What, owned_twice, settled_seconds, unowned_seconds

SECOND_NS = 1_000_000_000


def at(second: float, member: int, what: What, *partitions: int) -> Event:
    return Event(round(second * SECOND_NS), member, what, partitions)


def owned_by(shares: dict[int, set[int]], partition_count: int) -> Ownership:
    ownership = Ownership(partition_count)
    for member, partitions in shares.items():
        ownership.enter(member)
        ownership.gain(member, partitions)
    return ownership


@pytest.mark.parametrize(
    ("shares", "balanced"),
    [
        ({1: {0, 1}, 2: {2, 3}}, True),
        ({1: {0, 1}, 2: {2, 3}, 3: {4}}, True),
        ({1: {0, 1, 2}, 2: {3}}, False),
        ({1: {0, 1}, 2: {2}}, False),
        ({1: {0, 1}, 2: {1, 2, 3}}, False),
        ({1: {0, 1, 2, 3}, 2: set()}, False),
        ({}, False),
    ],
    ids=["evenly", "one has less", "one has two more", "one unowned", "one owned twice", "a newcomer waits", "nobody"],
)
def test_a_group_is_balanced_when_all_is_owned_once_and_evenly(shares: dict[int, set[int]], balanced: bool) -> None:
    assert owned_by(shares, 5 if len(shares) == 3 else 4).is_balanced() is balanced


def test_what_a_leaver_still_holds_is_owned_but_not_balanced() -> None:
    ownership = owned_by({1: {0, 1}, 2: {2, 3}}, 4)

    ownership.leave(2)
    ownership.gain(1, {2, 3})
    assert not ownership.is_balanced(), "two partitions are held twice"

    ownership.give_up(2, {2, 3})
    assert ownership.is_balanced()


def test_who_vanishes_holds_nothing_and_need_not_own_a_share() -> None:
    ownership = owned_by({1: {0, 1}, 2: {2, 3}}, 4)

    ownership.vanish(2)
    assert not ownership.is_balanced()

    ownership.gain(1, {2, 3})
    assert ownership.is_balanced()


def test_gaining_and_giving_up_twice_counts_once() -> None:
    ownership = owned_by({1: {0, 1}}, 2)

    ownership.gain(1, {0, 1})
    assert ownership.is_balanced()

    ownership.give_up(1, {0})
    ownership.give_up(1, {0})
    ownership.gain(1, {0})
    assert ownership.is_balanced()


def test_a_partition_given_before_it_was_given_up_is_found_whatever_order_the_lines_came_in() -> None:
    came = [at(0, 1, What.JOINING), at(0, 2, What.JOINING), at(1, 1, What.ASSIGNED, 7)]
    too_early, given_up = at(2, 2, What.ASSIGNED, 7), at(3, 1, What.REVOKED, 7)

    assert owned_twice([*came, too_early, given_up], 8) == [too_early]
    assert owned_twice([given_up, too_early, *reversed(came)], 8) == [too_early]


def test_a_partition_given_after_it_was_given_up_lost_or_its_owner_killed_was_never_owned_twice() -> None:
    came = [at(0, member, What.JOINING) for member in (1, 2, 3, 4)]
    moves = [
        at(1, 1, What.ASSIGNED, 7),
        at(2, 1, What.REVOKED, 7),
        at(3, 2, What.ASSIGNED, 7),
        at(4, 2, What.LOST, 7),
        at(5, 3, What.ASSIGNED, 7),
        at(6, 3, What.KILLED),
        at(7, 4, What.ASSIGNED, 7),
    ]

    assert owned_twice([*came, *moves], 8) == []


def test_a_move_is_timed_from_one_callback_to_the_other_and_nothing_else_is_a_move() -> None:
    events = [
        at(5.5, 2, What.ASSIGNED, 7),
        at(3.0, 1, What.REVOKED, 7, 8),
        at(3.5, 1, What.ASSIGNED, 8),
        at(1.0, 3, What.ASSIGNED, 9),
    ]

    assert unowned_seconds(events) == [2.5]


def test_a_step_lasts_from_the_first_coming_to_the_last_change_of_what_is_owned() -> None:
    events = [
        at(1.0, 1, What.JOINING),
        at(1.2, 2, What.JOINING),
        at(2.0, 1, What.ASSIGNED, 0),
        at(2.5, 2, What.ASSIGNED, 1),
        at(9.0, 3, What.CLOSED),
    ]

    assert settled_seconds(events) == 1.5


def test_a_step_that_changed_nothing_is_not_called_quick() -> None:
    assert settled_seconds([at(1.0, 1, What.LEAVING)]) == float("inf")


def test_silence_at_either_end_of_a_span_is_a_gap_too() -> None:
    moments = [100, 210, 230, 500]

    assert longest_gap(moments, 200, 240) == 20
    assert longest_gap(moments, 200, 400) == 170
    assert longest_gap(moments, 110, 230) == 100
    assert longest_gap([], 0, 50) == 50


def test_a_line_of_a_member_becomes_an_event() -> None:
    assert event_of("17 3 assigned 1,2,10") == Event(17, 3, What.ASSIGNED, (1, 2, 10), "1,2,10")
    assert event_of("17 3 revoked").partitions == ()
    assert event_of("17 3 gap 12000").detail == "12000"
    assert event_of("17 3 failed Broker: Group authorization failed").detail == "Broker: Group authorization failed"
