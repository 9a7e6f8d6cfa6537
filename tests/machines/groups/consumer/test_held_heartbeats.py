"""Heartbeats that have nothing to say are answered when there is something to say."""

import pytest

from kohort.model.commands.groups import AssignedTopic, ConsumerGroupHeartbeat
from kohort.model.errors import ErrorCode
from tests.machines.groups.consumer.conversation import (
    BILLS,
    GROUP,
    HOLD_MS,
    ORDERS,
    ORIGIN,
    PATIENT,
    Consumer,
    GroupBook,
    converge,
    group_book,
    topic,
)
from tests.playbook import UNANSWERED

WAITS_TO_JOIN = PATIENT._replace(software_name="joins-held", connection_id=3)


@pytest.fixture
def book() -> GroupBook:
    return group_book()


def patient(book: GroupBook, member_id: str, **fields: object) -> Consumer:
    return Consumer(book, member_id, origin=PATIENT, **fields)


def held_member(book: GroupBook, member_id: str = "a") -> Consumer:
    """The only member of its group, whose heartbeat is held."""
    member = patient(book, member_id)
    member.join()
    assert member.acknowledge() is UNANSWERED
    book.settle()
    return member


def test_a_heartbeat_that_has_nothing_to_say_is_held_until_shortly_before_the_next_is_due(book: GroupBook) -> None:
    member = patient(book, "a")
    assert member.join().member_epoch == 2, "a join has something to say"
    assert member.acknowledge() is UNANSWERED
    book.wait(HOLD_MS - 1)
    assert member.hear() is UNANSWERED
    book.wait(1)
    answer = member.hear()
    assert (answer.member_epoch, answer.assignment, answer.heartbeat_interval_ms) == (2, None, 1000)


def test_clients_that_are_not_known_to_bear_it_are_answered_at_once(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    assert member.heartbeat().member_epoch == 2
    assert not book.machine.state.held


def test_who_has_to_give_something_up_hears_of_it_when_another_joins(book: GroupBook) -> None:
    member = held_member(book)
    Consumer(book, "b").join()
    answer = member.hear()
    assert answer.assignment.topic_partitions == (AssignedTopic(ORDERS, (0, 1)),)
    assert answer.member_epoch == 2


def test_who_owes_a_revocation_is_never_held(book: GroupBook) -> None:
    member = held_member(book)
    Consumer(book, "b").join()
    member.hear()
    for _ in range(3):
        assert member.heartbeat().member_epoch == 2
        assert member.send(2, owned={ORDERS: (0, 1, 2)}).member_epoch == 2


def test_who_waits_for_partitions_hears_when_they_are_free(book: GroupBook) -> None:
    first, second = held_member(book), patient(book, "b")
    second.join()
    first.hear()
    assert second.acknowledge() is UNANSWERED, "it has nothing, and there is nothing for it"
    first.acknowledge()
    answer = second.hear()
    assert (answer.member_epoch, second.owned) == (3, {ORDERS: (2, 3)})


def test_who_gains_hears_when_a_member_leaves(book: GroupBook) -> None:
    first, second = held_member(book), patient(book, "b")
    second.join()
    converge(first, second)
    second.acknowledge()
    first.leave()
    answer = second.hear()
    assert (answer.member_epoch, second.owned) == (4, {ORDERS: (0, 1, 2, 3)})


def test_nobody_is_told_of_an_epoch_alone(book: GroupBook) -> None:
    members = [patient(book, f"m{number}") for number in range(4)]
    for each in members:
        each.join()
    converge(*members, rounds=10)
    for each in members:
        each.acknowledge()
    epoch = book.group.epoch
    Consumer(book, "z").join()
    book.settle()
    assert book.group.target_epoch == epoch + 1
    assert [each.hear() for each in members] == [UNANSWERED] * 4
    assert {book.member(each.member_id).position.epoch for each in members} == {epoch}
    book.wait(HOLD_MS)
    assert [each.hear().member_epoch for each in members] == [epoch + 1] * 4


def test_losers_hear_before_gainers(book: GroupBook) -> None:
    wants = {"subscribed_topic_names": ("orders", "bills"), "server_assignor": "range"}
    gainer, loser = patient(book, "a", **wants), patient(book, "b", **wants)
    gainer.join()
    loser.join()
    converge(gainer, loser)
    gainer.acknowledge()
    loser.acknowledge()
    tokens = [loser.token, gainer.token]
    book.set_topics(topic("orders", ORDERS, 6), topic("bills", BILLS, 1))
    assert loser.hear().assignment.topic_partitions == (AssignedTopic(ORDERS, (3,)),)
    gainer.hear()
    assert gainer.owned == {ORDERS: (0, 1), BILLS: (0,)}
    assert [token for token in book.answers if token in tokens] == tokens


def test_a_heartbeat_is_hurried_without_moving_anything(book: GroupBook) -> None:
    member = held_member(book)
    Consumer(book, "y", subscribed_topic_names=()).join()
    Consumer(book, "z", subscribed_topic_names=("else",)).join()
    book.settle()
    assert book.group.target_epoch == 3
    assert member.hear() is UNANSWERED
    count = len(book.records)
    assert member.token is not None
    book.hurry(member.token)
    answer = member.hear()
    assert (answer.member_epoch, answer.assignment) == (2, None)
    assert len(book.records) == count
    assert member.heartbeat().member_epoch == 3


def test_a_full_request_is_told_all_whatever_ends_its_wait(book: GroupBook) -> None:
    everything = (AssignedTopic(ORDERS, (0, 1, 2, 3)),)
    member = patient(book, "a")
    member.join()
    assert member.ask_for_all() is UNANSWERED
    assert member.token is not None
    book.hurry(member.token)
    assert member.hear().assignment.topic_partitions == everything
    member.ask_for_all()
    book.wait(HOLD_MS)
    assert member.hear().assignment.topic_partitions == everything


def test_who_owns_something_else_than_it_should_is_answered_at_once(book: GroupBook) -> None:
    member = patient(book, "a")
    member.join()
    assert member.send(2, owned={ORDERS: (0,)}).member_epoch == 2


def test_who_lost_an_answer_is_answered_at_once(book: GroupBook) -> None:
    first, second = held_member(book), patient(book, "b")
    second.join()
    converge(first, second)
    assert book.member("a").position.epoch == 3
    assert first.send(2, owned=first.owned).member_epoch == 3


def test_an_answer_that_was_pushed_and_lost_does_not_fence_its_member(book: GroupBook) -> None:
    first, second = held_member(book), patient(book, "b")
    second.join()
    converge(first, second)
    second.acknowledge()
    first.leave()
    assert book.member("b").position.epoch == 4
    answer = second.send(3, owned={ORDERS: (2, 3)})
    assert (answer.error_code, answer.member_epoch) == (0, 4)


def test_an_answer_is_told_once_and_the_epoch_moves_by_one_step_at_most(book: GroupBook) -> None:
    member = held_member(book)
    for number in range(5):
        Consumer(book, f"x{number}").join()
        book.settle()
    assert book.member("a").position.epoch == 2
    assert member.hear().member_epoch == 2


def test_a_member_that_sends_again_has_given_up_the_heartbeat_that_is_held(book: GroupBook) -> None:
    member = held_member(book)
    former = member.token
    assert former is not None
    member.origin = PATIENT._replace(connection_id=77)
    member.heartbeat()
    assert book.answers[former].error_code == 0  # type: ignore[attr-defined]
    assert len(book.machine.state.held) <= 1


def test_a_lost_connection_takes_the_heartbeat_with_it_and_nothing_else(book: GroupBook) -> None:
    member = held_member(book)
    assert member.token is not None
    book.forget(member.token)
    assert not book.machine.state.held
    book.wait(HOLD_MS)
    assert member.heartbeat() is UNANSWERED
    assert member.epoch == 2


def test_a_member_that_expires_hears_that_it_is_none(book: GroupBook) -> None:
    member = held_member(book)
    former = member.token
    assert former is not None
    leave = ConsumerGroupHeartbeat(GROUP, "a", -1, origin=ORIGIN)
    book.say(leave)
    assert book.answers[former].error_code == ErrorCode.UNKNOWN_MEMBER_ID  # type: ignore[attr-defined]


def test_an_instance_whose_place_was_taken_hears_that_it_is_fenced(book: GroupBook) -> None:
    member = Consumer(book, "a", origin=PATIENT, instance_id="i1")
    member.join()
    member.acknowledge()
    former = member.token
    assert former is not None
    book.say(ConsumerGroupHeartbeat(GROUP, "a", -2, "i1", origin=ORIGIN))
    assert book.answers[former].error_code == ErrorCode.FENCED_MEMBER_EPOCH  # type: ignore[attr-defined]


def test_a_session_lasts_from_the_arrival_of_a_heartbeat_and_not_from_its_answer(book: GroupBook) -> None:
    member = held_member(book)
    at_ms = book.member("a").presence.heard_at_ms
    book.wait(HOLD_MS)
    assert member.hear().error_code == 0
    book.wait(at_ms + 44_999 - book.now_ms)
    assert "a" in book.group.members
    book.wait(1)
    assert "a" not in book.group.members


# Joins that are held


def test_a_join_is_held_until_there_is_something_for_it_if_the_client_would_not_ask_again(book: GroupBook) -> None:
    first = held_member(book)
    second = Consumer(book, "b", origin=WAITS_TO_JOIN)
    assert second.join() is UNANSWERED
    book.settle()
    first.hear()
    first.acknowledge()
    answer = second.hear()
    assert (answer.member_epoch, second.owned) == (3, {ORDERS: (2, 3)})


def waiting(book: GroupBook, member_id: str, **fields: object) -> Consumer:
    return Consumer(book, member_id, origin=WAITS_TO_JOIN, **fields)


def test_a_join_is_not_held_if_there_is_something_for_it_or_never_will_be(book: GroupBook) -> None:
    first = Consumer(book, "a")
    first.join()
    book.wait(2000)
    assert waiting(book, "b", subscribed_topic_names=("none",)).join().member_epoch == 3
    first.leave()
    book.wait(2000)
    other = waiting(book, "c")
    other.join()
    book.settle()
    assert other.hear().member_epoch == 5


def test_the_first_of_a_group_waits_a_moment_for_others_and_nobody_has_to_give_anything_up(book: GroupBook) -> None:
    members = [waiting(book, each) for each in "abcd"]
    for each in members:
        assert each.join() is UNANSWERED
        book.wait(49)
    assert [each.hear() for each in members] == [UNANSWERED] * 4
    book.wait(1)
    assert {each.hear().member_epoch for each in members} == {5}
    assert [each.partitions for each in members] == [1] * 4
    assert len(book.events) == 1
    assert {move.from_member for move in book.events[0].moves} == {None}


def test_nobody_waits_for_others_longer_than_half_a_second(book: GroupBook) -> None:
    first = waiting(book, "a")
    first.join()
    for number in range(15):
        book.wait(40)
        waiting(book, f"m{number}").join()
        if 40 * (number + 1) < 500:
            assert first.hear() is UNANSWERED
    assert first.hear().member_epoch > 1


def test_in_a_large_group_they_wait_longer_since_it_takes_longer_to_come_together(book: GroupBook) -> None:
    first = waiting(book, "a")
    first.join()
    for number in range(1200):
        if number % 2:
            book.now_ms += 1
        waiting(book, f"m{number}").join()
    assert book.now_ms == book.group.changed_at_ms + 600
    assert first.hear() is UNANSWERED
    book.wait(50)
    assert first.hear().member_epoch == 1202


def test_who_cannot_wait_is_given_everything_at_once(book: GroupBook) -> None:
    patiently = waiting(book, "a")
    patiently.join()
    Consumer(book, "b").join()
    assert patiently.hear().member_epoch == 3
    assert patiently.owned == {ORDERS: (0, 1)}


def test_a_member_that_comes_to_a_group_at_rest_waits_for_nobody_else(book: GroupBook) -> None:
    first = held_member(book)
    book.wait(2000)
    first.hear()
    first.acknowledge()
    waiting(book, "b").join()
    assert first.hear().assignment.topic_partitions == (AssignedTopic(ORDERS, (0, 1)),)


def test_who_waited_and_gets_nothing_is_told_so_when_that_is_known(book: GroupBook) -> None:
    names = ("none",)
    first, second = waiting(book, "a", subscribed_topic_names=names), waiting(book, "b", subscribed_topic_names=names)
    assert first.join() is UNANSWERED
    assert second.join() is UNANSWERED
    book.wait(50)
    answer = second.hear()
    assert (answer.member_epoch, answer.assignment.topic_partitions, answer.heartbeat_interval_ms) == (3, (), 1000)
    assert first.hear().member_epoch == 3


def test_joins_of_a_burst_are_held_until_there_is_a_target(book: GroupBook) -> None:
    book.set_topics(topic("orders", ORDERS, 6))
    first = held_member(book)
    second, third = waiting(book, "b"), waiting(book, "c")
    assert second.join() is UNANSWERED
    assert third.join() is UNANSWERED
    book.settle()
    first.hear()
    first.acknowledge()
    assert second.hear().member_epoch == third.hear().member_epoch == 4
    assert (second.partitions, third.partitions) == (2, 2)


def test_a_join_that_was_held_in_vain_is_told_to_come_again_soon(book: GroupBook) -> None:
    Consumer(book, "a").join()
    second = Consumer(book, "b", origin=WAITS_TO_JOIN)
    second.join()
    book.wait(700)
    answer = second.hear()
    assert answer.assignment.topic_partitions == ()
    assert answer.heartbeat_interval_ms == 300
    assert answer.member_epoch == 3


def test_a_join_may_be_hurried_and_is_told_where_it_stands(book: GroupBook) -> None:
    held_member(book)
    second = Consumer(book, "b", origin=WAITS_TO_JOIN)
    second.join()
    book.settle()
    epoch = book.member("b").position.epoch
    assert second.token is not None
    book.hurry(second.token)
    answer = second.hear()
    assert (answer.member_epoch, answer.assignment.topic_partitions) == (epoch, ())
    assert epoch > 0


# Members that cannot be held


def test_a_member_that_waits_and_cannot_be_told_comes_again_soon_until_it_has_everything(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    assert first.interval_ms == 1000
    second.join()
    assert second.interval_ms == 300
    book.settle()
    first.heartbeat()
    assert first.interval_ms == 1000
    assert second.heartbeat().heartbeat_interval_ms == 300
    first.acknowledge()
    assert second.heartbeat().heartbeat_interval_ms == 1000
