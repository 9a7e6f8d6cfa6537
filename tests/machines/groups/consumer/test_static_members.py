import pytest

from kohort.model.errors import ErrorCode
from kohort.model.records.groups import (
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMetadataRecord,
    CurrentMemberAssignmentRecord,
    RemoveConsumerGroupMemberMetadataRecord,
    RemoveCurrentMemberAssignmentRecord,
    RemoveTargetAssignmentMemberRecord,
    TargetAssignmentMemberRecord,
)
from tests.machines.groups.consumer.conversation import (
    GROUP,
    ORDERS,
    ORIGIN,
    Consumer,
    ConsumerGroupHeartbeat,
    GroupBook,
    converge,
    group_book,
    refusal,
)


@pytest.fixture
def book() -> GroupBook:
    return group_book()


def static(book: GroupBook, member_id: str, instance_id: str = "i1", **fields: object) -> Consumer:
    return Consumer(book, member_id, instance_id=instance_id, **fields)


JOIN = ConsumerGroupHeartbeat(
    GROUP,
    "b",
    0,
    "i1",
    rebalance_timeout_ms=60_000,
    subscribed_topic_names=("orders",),
    topic_partitions=(),
    origin=ORIGIN,
)


def test_nobody_joins_as_an_instance_that_another_member_is(book: GroupBook) -> None:
    static(book, "a").join()
    assert refusal(book, JOIN) == (
        ErrorCode.UNRELEASED_INSTANCE_ID,
        "Static member b with instance id i1 cannot join the group because the instance id is owned by a member.",
    )


def test_a_static_member_may_start_over_where_it_is(book: GroupBook) -> None:
    member = static(book, "a")
    member.join()
    count = len(book.records)
    member.join()
    assert (member.epoch, member.owned) == (2, {ORDERS: (0, 1, 2, 3)})
    assert len(book.records) == count


def test_who_comes_back_under_another_id_has_what_it_had_and_nobody_else_is_concerned(book: GroupBook) -> None:
    first, other = static(book, "a"), Consumer(book, "z")
    first.join()
    other.join()
    converge(first, other)
    assert (first.owned, other.owned) == ({ORDERS: (0, 1)}, {ORDERS: (2, 3)})
    answer = first.leave(-2)
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("a", -2, 0)
    epoch = book.group.epoch
    count = len(book.records)
    again = static(book, "b")
    again.join()
    assert (again.epoch, again.owned) == (3, {ORDERS: (0, 1)})
    assert book.group.epoch == epoch
    other.heartbeat()
    assert (other.epoch, other.owned) == (3, {ORDERS: (2, 3)})
    assert [type(record) for record in book.records[count:]] == [
        RemoveCurrentMemberAssignmentRecord,
        RemoveTargetAssignmentMemberRecord,
        RemoveConsumerGroupMemberMetadataRecord,
        ConsumerGroupMemberMetadataRecord,
        TargetAssignmentMemberRecord,
        CurrentMemberAssignmentRecord,
        CurrentMemberAssignmentRecord,
    ]


def test_who_comes_back_with_another_subscription_begins_a_rebalance(book: GroupBook) -> None:
    first = static(book, "a")
    first.join()
    first.leave(-2)
    again = static(book, "b", subscribed_topic_names=())
    again.join()
    assert again.owned == {}
    assert book.group.epoch == 3


def test_an_instance_keeps_its_partitions_while_it_is_away(book: GroupBook) -> None:
    away, other = static(book, "a"), Consumer(book, "z")
    away.join()
    away.leave(-2)
    other.join()
    converge(other)
    assert other.owned == {}
    back = static(book, "b")
    back.join()
    other.heartbeat()
    assert (back.owned, other.owned) == ({ORDERS: (0, 1)}, {ORDERS: (2, 3)})


def test_who_leaves_for_a_while_has_given_up_what_it_was_to_give_up(book: GroupBook) -> None:
    first, other = static(book, "a"), Consumer(book, "z")
    first.join()
    other.join()
    book.settle()
    first.heartbeat()
    first.leave(-2)
    assert book.member("a").position.pending == {}
    other.heartbeat()
    assert other.owned == {ORDERS: (2, 3)}


def test_who_leaves_for_a_while_and_comes_back_under_its_old_id_goes_on(book: GroupBook) -> None:
    member = static(book, "a")
    member.join()
    member.leave(-2)
    member.join()
    assert (member.epoch, member.owned) == (2, {ORDERS: (0, 1, 2, 3)})


def test_the_former_member_of_an_instance_is_fenced(book: GroupBook) -> None:
    former = static(book, "a")
    former.join()
    former.leave(-2)
    static(book, "b").join()
    fenced = (ErrorCode.FENCED_INSTANCE_ID, "Static member a with instance id i1 was fenced by member b.")
    alive = ConsumerGroupHeartbeat(GROUP, "a", 2, "i1", origin=ORIGIN)
    assert refusal(book, alive) == fenced
    assert refusal(book, alive._replace(member_epoch=-1)) == fenced
    assert refusal(book, alive._replace(member_epoch=-2)) == fenced
    assert refusal(book, alive._replace(instance_id=None))[0] is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_instance_that_nobody_knows_is_unknown(book: GroupBook) -> None:
    static(book, "a").join()
    unknown = (ErrorCode.UNKNOWN_MEMBER_ID, "Instance id i2 is unknown.")
    alive = ConsumerGroupHeartbeat(GROUP, "a", 2, "i2", origin=ORIGIN)
    assert refusal(book, alive) == unknown
    assert refusal(book, alive._replace(member_epoch=-1)) == unknown
    assert refusal(book, alive._replace(member_epoch=-2)) == unknown


def test_a_member_that_is_away_is_fenced_until_it_joins(book: GroupBook) -> None:
    member = static(book, "a")
    member.join()
    member.leave(-2)
    code, message = refusal(book, ConsumerGroupHeartbeat(GROUP, "a", 2, "i1", origin=ORIGIN))
    assert code is ErrorCode.FENCED_MEMBER_EPOCH
    assert message is not None
    assert "(2)" in message
    assert "(-2)" in message


def test_a_member_that_stays_away_expires_as_if_it_had_been_silent_since(book: GroupBook) -> None:
    away, other = static(book, "a"), Consumer(book, "z")
    away.join()
    other.join()
    book.wait(20_000)
    away.leave(-2)
    for _ in range(5):
        book.wait(5000)
        converge(other, rounds=1)
    assert list(book.group.members) == ["z"]
    converge(other)
    assert other.owned == {ORDERS: (0, 1, 2, 3)}


def test_a_static_member_that_leaves_for_good_is_gone(book: GroupBook) -> None:
    member = static(book, "a")
    member.join()
    assert member.leave().member_epoch == -1
    assert not book.group.members
    assert not book.group.static_members


def test_a_member_that_comes_back_takes_over_from_one_that_died_with_the_broker(book: GroupBook) -> None:
    member, other = static(book, "a"), Consumer(book, "z")
    member.join()
    other.join()
    converge(member, other)
    member.leave(-2)
    book.restart()
    again = static(book, "b")
    again.join()
    assert again.owned == {ORDERS: (0, 1)}
    bumps = sum(isinstance(record, ConsumerGroupMetadataRecord) for record in book.records)
    assert bumps == 2
