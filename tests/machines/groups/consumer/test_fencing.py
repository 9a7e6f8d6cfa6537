import pytest

from kohort.model.errors import ErrorCode
from kohort.model.records.groups import CurrentMemberAssignmentRecord, MemberState
from tests.machines.groups.consumer.conversation import (
    GROUP,
    ORDERS,
    ORIGIN,
    AssignedTopic,
    Consumer,
    ConsumerGroupHeartbeat,
    GroupBook,
    group_book,
    refusal,
)


@pytest.fixture
def book() -> GroupBook:
    return group_book()


def alive(member_id: str, epoch: int, owned: tuple[int, ...] | None = None) -> ConsumerGroupHeartbeat:
    topics = None if owned is None else ((AssignedTopic(ORDERS, owned),) if owned else ())
    return ConsumerGroupHeartbeat(GROUP, member_id, epoch, topic_partitions=topics, origin=ORIGIN)


def test_who_is_not_a_member_is_told_so_whatever_it_does(book: GroupBook) -> None:
    Consumer(book, "a").join()
    unknown = (ErrorCode.UNKNOWN_MEMBER_ID, "Member x is not a member of group g.")
    assert refusal(book, alive("x", 1)) == unknown
    assert refusal(book, alive("x", -1)) == unknown


def test_an_epoch_from_the_future_is_fenced_with_both_epochs_said(book: GroupBook) -> None:
    Consumer(book, "a").join()
    assert refusal(book, alive("a", 3)) == (
        ErrorCode.FENCED_MEMBER_EPOCH,
        "The consumer group member has a greater member epoch (3) than the one known by the group coordinator (2). "
        "The member must abandon all its partitions and rejoin.",
    )


def test_an_epoch_from_the_past_is_fenced_with_both_epochs_said(book: GroupBook) -> None:
    Consumer(book, "a").join()
    assert refusal(book, alive("a", 1, ())) == (
        ErrorCode.FENCED_MEMBER_EPOCH,
        "The consumer group member has a smaller member epoch (1) than the one known by the group coordinator (2). "
        "The member must abandon all its partitions and rejoin.",
    )


def two_members(book: GroupBook) -> tuple[Consumer, Consumer]:
    """The first of which has lost the answer that said that it is in epoch 3."""
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    first.acknowledge()
    return first, second


def test_a_member_that_lost_one_answer_goes_on_if_it_owns_no_more_than_it_should(book: GroupBook) -> None:
    two_members(book)
    answer = book.say(alive("a", 2, (0, 1)))
    assert (answer.error_code, answer.member_epoch) == (0, 3)
    assert book.say(alive("a", 2, (1,))).member_epoch == 3
    assert book.say(alive("a", 2, ())).member_epoch == 3


@pytest.mark.parametrize("owned", [None, (0, 1, 2), (3,)])
def test_a_member_that_lost_one_answer_is_fenced_if_it_may_own_what_is_not_its(
    book: GroupBook, owned: tuple[int, ...] | None
) -> None:
    two_members(book)
    assert refusal(book, alive("a", 2, owned))[0] is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_that_is_two_steps_behind_is_fenced_even_if_it_owns_nothing(book: GroupBook) -> None:
    first, second = two_members(book)
    second.leave()
    book.settle()
    first.heartbeat()
    assert first.epoch == 4
    assert refusal(book, alive("a", 2, ()))[0] is ErrorCode.FENCED_MEMBER_EPOCH


def test_whoever_was_fenced_may_start_over_under_its_id(book: GroupBook) -> None:
    first, _ = two_members(book)
    assert refusal(book, alive("a", 1))[0] is ErrorCode.FENCED_MEMBER_EPOCH
    first.join()
    assert (first.epoch, first.owned) == (3, {ORDERS: (0, 1)})


def test_a_member_in_a_state_of_a_later_kafka_must_show_that_it_owns_nothing(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    book.records.append(CurrentMemberAssignmentRecord(GROUP, "a", 2, 2, MemberState.UNKNOWN, (), ()))
    book.restart()
    assert refusal(book, alive("a", 2))[0] is ErrorCode.FENCED_MEMBER_EPOCH
    assert refusal(book, alive("a", 2, (0,)))[0] is ErrorCode.FENCED_MEMBER_EPOCH
    member.send(2, owned={})
    assert member.owned == {ORDERS: (0, 1, 2, 3)}


def test_leaving_is_not_a_matter_of_epochs(book: GroupBook) -> None:
    Consumer(book, "a").join()
    answer = book.say(alive("a", -1, (0, 3)))
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "a", -1)
    assert (answer.heartbeat_interval_ms, answer.assignment) == (0, None)
    assert not book.group.members
