"""Classic members of a group that follows the consumer protocol: GROUPS.md 4.10, Classic members inside; 4.11."""

import pytest

from kohort.machines.groups.consumer.timers import RejoinTimer, SyncTimer
from kohort.model.commands.groups import LeavingMember, OffsetFetch, Protocol
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import CurrentMemberAssignmentRecord, MemberState
from kohort.wire import consumer_protocol
from tests.machines.groups.consumer.conversation import GROUP, ORDERS, Consumer
from tests.machines.groups.migration.conversation import (
    CLASSIC_SESSION_MS,
    HOLD_MS,
    REBALANCE_MS,
    ClassicConsumer,
    MixedBook,
    all_owned,
    converge_mixed,
    mixed_book,
    stay_alive,
)


def consumer_group(book: MixedBook, name: str = "new") -> Consumer:
    """A group of one member, which speaks the consumer protocol and stays in it."""
    member = Consumer(book, name)
    member.join()
    book.settle()
    return member


def with_classic(book: MixedBook, name: str = "ana", **fields: object) -> tuple[ClassicConsumer, Consumer]:
    """A group of two that is at rest, one member of each protocol."""
    new = consumer_group(book)
    ana = ClassicConsumer(book, name, **fields)  # type: ignore[arg-type]
    ana.rejoin()
    converge_mixed(ana, new)
    return ana, new


# JoinGroup


def test_a_classic_member_shares_the_partitions() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    assert (len(ana.owned), new.partitions) == (2, 2)
    assert all_owned(ana, new) == [0, 1, 2, 3]
    assert book.kind == "consumer"


def test_a_new_dynamic_member_is_told_its_id_first() -> None:
    book = mixed_book()
    consumer_group(book)
    ana = ClassicConsumer(book, "ana")
    asked = ana.ask_to_join()
    assert asked.code is ErrorCode.MEMBER_ID_REQUIRED
    assert asked.answer.member_id.startswith("ana-")
    assert list(book.group.members) == ["new"]


def test_one_that_cannot_come_twice_is_a_member_at_once() -> None:
    book = mixed_book()
    consumer_group(book)
    ana = ClassicConsumer(book, "ana", requires_known_member_id=False)
    ana.wait_to_join()
    assert list(book.group.classic_members) == [ana.member_id]


def test_the_answer_looks_like_a_generation_that_somebody_else_leads() -> None:
    book = mixed_book()
    consumer_group(book)
    ana = ClassicConsumer(book, "ana", protocols=("cooperative-sticky", "range"))
    answer = ana.wait_to_join()
    assert answer.generation_id == book.member(ana.member_id).position.epoch
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "cooperative-sticky")
    assert (answer.leader, answer.members, answer.skip_assignment) == ("", (), False)
    assert answer.member_id == ana.member_id


def test_a_member_that_is_not_known_any_more_may_come_with_its_old_id() -> None:
    book = mixed_book()
    consumer_group(book)
    ana = ClassicConsumer(book, "ana")
    ana.member_id = "from-before"
    ana.wait_to_join()
    assert list(book.group.members) == ["new", "from-before"]


def test_a_join_with_the_same_subscription_brings_no_new_epoch() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    epoch = book.group.epoch
    ana.rejoin()
    assert book.group.epoch == epoch
    assert ana.generation_id == epoch


def test_a_join_with_other_topics_brings_one() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    epoch = book.group.epoch
    ana.topics = ()
    ana.rejoin()
    assert book.group.epoch == epoch + 1
    converge_mixed(ana, new)
    assert (ana.owned, new.partitions) == ((), 4)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (Protocol("sticky", b""),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": (Protocol("range", b"\0"),), "requires_known_member_id": False}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"group_instance_id": "one", "member_id": "somebody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "two", "member_id": "somebody"}, ErrorCode.FENCED_INSTANCE_ID),
    ],
)
def test_a_join_that_is_refused_changes_nothing(changes: dict[str, object], code: ErrorCode) -> None:
    book = mixed_book()
    with_classic(book, "two", instance_id="two")
    assert ClassicConsumer(book, "ana").ask_to_join(**changes).code is code


def test_a_protocol_must_be_one_that_all_classic_members_can_follow() -> None:
    book = mixed_book()
    with_classic(book, protocols=("range", "roundrobin"))
    with_range = ClassicConsumer(book, "ben", protocols=("sticky", "range"))
    with_range.wait_to_join()
    late = ClassicConsumer(book, "late", protocols=("roundrobin",))
    assert late.join().code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_no_classic_member_comes_where_migration_is_disabled() -> None:
    book = mixed_book(group_consumer_migration_policy="disabled")
    consumer_group(book)
    assert ClassicConsumer(book, "ana").join().code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("policy", ["upgrade", "downgrade"])
def test_any_other_policy_lets_classic_members_in(policy: str) -> None:
    book = mixed_book(group_consumer_migration_policy=policy)
    with_classic(book)


def test_a_full_group_has_room_only_for_those_who_are_in_it() -> None:
    book = mixed_book(group_consumer_max_size=2)
    ana, _ = with_classic(book)
    assert ClassicConsumer(book, "late").join().code is ErrorCode.GROUP_MAX_SIZE_REACHED
    ana.rejoin()
    assert ana.joined is not None
    assert ana.joined.code is ErrorCode.NONE


# The way to the target


def test_a_member_that_gives_up_everything_first_needs_one_step() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    late = Consumer(book, "late")
    late.join()
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.join()
    assert ana.learn() is ErrorCode.NONE
    position = book.member(ana.member_id).position
    assert (position.state, position.epoch) == (MemberState.STABLE, book.group.epoch)
    converge_mixed(ana, new, late)


def test_a_cooperative_member_keeps_what_it_may_while_it_gives_up_the_rest() -> None:
    book = mixed_book()
    ana, new = with_classic(book, is_cooperative=True, protocols=("cooperative-sticky",))
    before = set(ana.owned)
    others = [Consumer(book, name) for name in ("late", "later")]
    for other in others:
        other.join()
    book.settle()
    ana.join()
    ana.learn()
    ana.sync()
    kept = set(ana.assigned())
    assert kept < before
    assert book.member(ana.member_id).position.pending.keys() == {ORDERS}
    ana.owned = ana.assigned()
    converge_mixed(ana, new, *others)
    assert set(ana.owned) == kept


def test_what_a_member_has_to_give_up_is_nobody_elses_until_it_comes_again_without_it() -> None:
    book = mixed_book(partitions=2)
    new = Consumer(book, "new", subscribed_topic_names=())
    new.join()
    ana = ClassicConsumer(book, "ana", is_cooperative=True)
    ana.rejoin()
    assert ana.owned == (0, 1)
    book.settle()
    ben = ClassicConsumer(book, "ben", is_cooperative=True)
    ben.rejoin()
    assert ben.owned == ()
    assert ben.heartbeat().code is ErrorCode.NONE
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    epoch = ana.generation_id
    ana.join()
    ana.learn()
    assert ana.generation_id == epoch
    assert book.member(ana.member_id).position.state is MemberState.UNREVOKED_PARTITIONS
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.sync()
    assert len(ana.assigned()) == 1
    assert ben.heartbeat().code is ErrorCode.NONE
    ana.owned = ana.assigned()
    ana.rejoin()
    assert ana.generation_id == book.group.epoch
    assert ben.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    ben.rejoin()
    assert all_owned(ana, ben) == [0, 1]
    converge_mixed(ana, ben)


# SyncGroup


def test_an_assignment_comes_in_the_version_that_the_member_subscribed_with() -> None:
    for version in (0, 1, 2, 3):
        book = mixed_book()
        consumer_group(book)
        ana = ClassicConsumer(book, "ana", version=version)
        ana.rejoin()
        assert ana.synced is not None
        assert int.from_bytes(ana.synced.answer.assignment[:2], "big") == version


def test_a_version_that_nobody_knows_yet_is_answered_in_the_last_one_that_is_known() -> None:
    book = mixed_book()
    consumer_group(book)
    ana = ClassicConsumer(book, "ana", version=4)
    ana.rejoin()
    assert ana.synced is not None
    assert int.from_bytes(ana.synced.answer.assignment[:2], "big") == 3


def test_what_was_sent_of_the_protocol_comes_back() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    answer = ana.sync().answer
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    old = ana.sync(protocol_type=None, protocol_name=None).answer
    assert (old.protocol_type, old.protocol_name) == (None, None)
    assert old.assignment == answer.assignment


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"member_id": "nobody", "group_instance_id": None}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "new", "group_instance_id": None}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "new", "group_instance_id": "one"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"generation_id": 1}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 99}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_sync_is_refused_if(changes: dict[str, object], code: ErrorCode) -> None:
    book = mixed_book()
    ana, _ = with_classic(book, instance_id="one")
    assert ana.sync(**changes).code is code


def test_a_sync_that_is_overtaken_by_another_target_sends_the_member_back() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    late = Consumer(book, "late")
    late.join()
    assert ana.sync().code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.rejoin()
    converge_mixed(ana, new, late)


# Heartbeat


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"member_id": "nobody", "group_instance_id": None}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "new", "group_instance_id": None}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "new"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"generation_id": 1}, ErrorCode.ILLEGAL_GENERATION),
        ({}, ErrorCode.NONE),
    ],
)
def test_a_heartbeat_is_answered(changes: dict[str, object], code: ErrorCode) -> None:
    book = mixed_book()
    ana, _ = with_classic(book, instance_id="one")
    assert ana.heartbeat(**changes).code is code


def test_any_other_target_sends_the_member_back_even_if_nothing_of_it_changes() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    Consumer(book, "idle", subscribed_topic_names=("bills",)).join()
    book.settle()
    assert [ana.heartbeat().code for _ in range(2)] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    ana.rejoin()
    assert ana.heartbeat().code is ErrorCode.NONE


def test_a_held_heartbeat_is_answered_when_its_member_has_to_come_again() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    ana.wait_in_heartbeat()
    Consumer(book, "late").join()
    book.settle()
    assert ana.held is not None
    assert ana.held.code is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_held_heartbeat_is_answered_when_what_its_member_waits_for_is_free() -> None:
    book = mixed_book(partitions=1)
    new = consumer_group(book)
    ana = ClassicConsumer(book, "ana", instance_id="a")
    ana.rejoin()
    book.settle()
    assert (ana.owned, new.partitions) == ((), 1)
    new.fields["subscribed_topic_names"] = ("bills",)
    new.ask_for_all()
    book.settle()
    ana.rejoin()
    assert ana.owned == ()
    assert book.member(ana.member_id).position.state is MemberState.UNRELEASED_PARTITIONS
    ana.wait_in_heartbeat()
    new.acknowledge()
    assert ana.held is not None
    assert ana.held.code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.rejoin()
    assert ana.owned == (0,)


def test_a_held_heartbeat_is_not_held_for_ever() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    ana.wait_in_heartbeat()
    book.wait(HOLD_MS)
    assert ana.held is not None
    assert ana.held.code is ErrorCode.NONE
    ana.wait_in_heartbeat()
    book.hurry(book.last_token)
    assert ana.held.code is ErrorCode.NONE


def test_of_two_heartbeats_the_older_one_was_given_up() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    ana.wait_in_heartbeat()
    older = ana.held
    ana.wait_in_heartbeat()
    assert older is not None
    assert older.code is ErrorCode.NONE


def test_a_held_heartbeat_of_a_member_that_changes_its_protocol_is_answered_as_it_was_asked() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    ana.wait_in_heartbeat()
    Consumer(book, ana.member_id).join()
    assert ana.held is not None
    assert ana.held.answer.error_code == 0
    assert list(book.group.classic_members) == []


# Time


def test_a_member_is_dropped_if_it_does_not_join_again_in_time() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    late = Consumer(book, "late")
    late.join()
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    stay_alive(REBALANCE_MS - 1, ana, new, late)
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    book.wait(1)
    assert ana.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID
    converge_mixed(new, late)
    assert all_owned(new, late) == [0, 1, 2, 3]


def test_a_member_is_dropped_if_it_does_not_ask_for_its_assignment_in_time() -> None:
    book = mixed_book()
    new = consumer_group(book)
    ana = ClassicConsumer(book, "ana")
    ana.wait_to_join()
    stay_alive(REBALANCE_MS - 1, ana, new)
    assert list(book.group.classic_members) == [ana.member_id]
    book.wait(1)
    assert list(book.group.classic_members) == []


def test_a_member_that_does_what_it_is_told_stays() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    late = Consumer(book, "late")
    late.join()
    converge_mixed(ana, new, late)
    stay_alive(3 * REBALANCE_MS, ana, new, late)
    assert ana.heartbeat().code is ErrorCode.NONE
    assert not [key for key in book.timers if isinstance(key, RejoinTimer | SyncTimer)]


def test_a_silent_member_is_dropped_after_its_own_session_timeout() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    book.wait(CLASSIC_SESSION_MS - 500)
    new.heartbeat()
    assert ana.heartbeat().code is ErrorCode.NONE
    book.wait(CLASSIC_SESSION_MS - 1)
    assert ana.member_id in book.group.members
    book.wait(1)
    assert ana.member_id not in book.group.members
    converge_mixed(new)
    assert new.partitions == 4


# Static members


def test_a_static_consumer_comes_back_as_a_classic_member() -> None:
    book = mixed_book()
    consumer_group(book)
    static = Consumer(book, "static", instance_id="one")
    static.join()
    owned = static.owned
    ana = ClassicConsumer(book, "ana", instance_id="one")
    ana.rejoin()
    assert book.group.static_members == {"one": ana.member_id}
    assert ana.owned == owned.get(ORDERS, ())
    assert list(book.group.members) == ["new", ana.member_id]
    with pytest.raises(ProtocolError) as error:
        static.heartbeat()
    assert error.value.code is ErrorCode.FENCED_INSTANCE_ID


def test_it_has_what_it_had_from_the_first_record_of_it_on() -> None:
    book = mixed_book()
    consumer_group(book)
    static = Consumer(book, "static", instance_id="one")
    static.join()
    before = len(book.records)
    ana = ClassicConsumer(book, "ana", instance_id="one")
    ana.rejoin()
    first = next(each for each in book.records[before:] if isinstance(each, CurrentMemberAssignmentRecord))
    assert (first.member_id, first.member_epoch) == (ana.member_id, 0)
    assert {each.topic_id: each.partitions for each in first.assigned_partitions} == static.owned


def test_its_regular_expression_goes_with_it() -> None:
    book = mixed_book()
    consumer_group(book)
    static = Consumer(book, "static", instance_id="one", subscribed_topic_names=None, subscribed_topic_regex="ord.*")
    static.join()
    assert list(book.group.subscriptions.expressions) == ["ord.*"]
    ClassicConsumer(book, "ana", instance_id="one").rejoin()
    assert list(book.group.subscriptions.expressions) == []


def test_a_static_classic_member_comes_back_as_a_consumer() -> None:
    book = mixed_book()
    ana, _ = with_classic(book, instance_id="one")
    owned, epoch = ana.owned, book.group.epoch
    back = Consumer(book, "back", instance_id="one")
    back.join()
    assert back.owned == {ORDERS: owned}
    assert book.group.epoch == epoch
    assert list(book.group.classic_members) == []
    assert ana.heartbeat().code is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_classic_member_comes_back_as_one() -> None:
    book = mixed_book()
    ana, _ = with_classic(book, instance_id="one")
    owned, epoch = ana.owned, book.group.epoch
    ana.wait_in_heartbeat()
    back = ClassicConsumer(book, "back", instance_id="one")
    back.rejoin()
    assert (back.owned, book.group.epoch) == (owned, epoch)
    assert ana.held is not None
    assert ana.held.code is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_needs_not_to_be_told_its_id_first() -> None:
    book = mixed_book()
    consumer_group(book)
    ana = ClassicConsumer(book, "ana", instance_id="one")
    assert ana.wait_to_join().member_id.startswith("one-")


# LeaveGroup


def test_a_member_that_leaves_gives_the_others_what_it_had() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    ben = ClassicConsumer(book, "ben")
    ben.rejoin()
    converge_mixed(ana, ben, new)
    assert ben.leave() is ErrorCode.NONE
    converge_mixed(ana, new)
    assert all_owned(ana, new) == [0, 1, 2, 3]


def test_each_of_those_who_leave_has_an_outcome_of_its_own() -> None:
    book = mixed_book()
    ana, _ = with_classic(book, instance_id="one")
    ben = ClassicConsumer(book, "ben")
    ben.rejoin()
    epoch = book.group.epoch
    assert book.remove(
        LeavingMember("nobody"),
        LeavingMember("nobody", "two"),
        LeavingMember("", "two"),
        LeavingMember("nobody", "one"),
        LeavingMember("", "one"),
        LeavingMember(ben.member_id),
    ) == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    assert list(book.group.members) == ["new"]
    assert book.group.epoch == epoch + 1
    assert ana.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_administrator_may_remove_a_consumer_so_too() -> None:
    book = mixed_book()
    new = consumer_group(book)
    consumer_group(book, "other")
    assert book.remove(LeavingMember("new")) == [ErrorCode.NONE]
    with pytest.raises(ProtocolError) as error:
        new.heartbeat()
    assert error.value.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_if_nobody_leaves_nothing_happens() -> None:
    book = mixed_book()
    with_classic(book)
    written = len(book.records)
    assert book.remove(LeavingMember("nobody")) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert len(book.records) == written


# Offsets


def test_commits_of_another_generation_are_refused_as_such() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    mine = ana.owned[0]
    assert book.commit(ana.member_id, ana.generation_id, 5, partition=mine) is ErrorCode.NONE
    assert book.commit(ana.member_id, ana.generation_id + 1, 5) is ErrorCode.ILLEGAL_GENERATION
    assert book.commit(ana.member_id, 0, 5, partition=mine) is ErrorCode.ILLEGAL_GENERATION
    assert book.commit(new.member_id, new.epoch + 1, 5) is ErrorCode.STALE_MEMBER_EPOCH


def test_a_commit_of_the_generation_before_counts_for_what_the_member_had_then() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    before = ana.generation_id
    kept = ana.owned[0]
    Consumer(book, "idle", subscribed_topic_names=("bills",)).join()
    book.settle()
    ana.is_cooperative = True
    ana.rejoin()
    assert ana.generation_id > before
    assert book.commit(ana.member_id, before, 5, partition=kept) is ErrorCode.NONE


def test_offsets_are_not_told_to_another_generation() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    with pytest.raises(ProtocolError) as error:
        book.say(OffsetFetch(GROUP, None, member_id=ana.member_id, member_epoch=ana.generation_id + 1))
    assert error.value.code is ErrorCode.ILLEGAL_GENERATION
    with pytest.raises(ProtocolError) as error:
        book.say(OffsetFetch(GROUP, None, member_id="new", member_epoch=new.epoch + 1))
    assert error.value.code is ErrorCode.STALE_MEMBER_EPOCH


# Restarts


def test_a_restart_lets_a_member_go_on_where_it_is() -> None:
    book = mixed_book()
    ana, new = with_classic(book)
    late = Consumer(book, "late")
    late.join()
    book.restart()
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.join()
    assert ana.learn() is ErrorCode.NONE
    book.restart()
    ana.sync()
    ana.owned = ana.assigned()
    book.restart_from_snapshot()
    converge_mixed(ana, new, late)
    assert all_owned(ana, new, late) == [0, 1, 2, 3]


def test_a_restart_while_something_is_given_up_changes_nothing() -> None:
    book = mixed_book(partitions=2)
    Consumer(book, "idle", subscribed_topic_names=()).join()
    ana = ClassicConsumer(book, "ana", is_cooperative=True)
    ana.rejoin()
    book.settle()
    ben = ClassicConsumer(book, "ben", is_cooperative=True)
    ben.rejoin()
    ana.join()
    ana.learn()
    book.restart()
    assert book.member(ana.member_id).position.state is MemberState.UNREVOKED_PARTITIONS
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    converge_mixed(ana, ben)
    assert all_owned(ana, ben) == [0, 1]


def test_what_a_member_is_assigned_can_be_read_by_it() -> None:
    book = mixed_book()
    ana, _ = with_classic(book)
    assert ana.synced is not None
    read = consumer_protocol.decode_assignment(ana.synced.answer.assignment)
    assert read is not None
    assert (read.partitions, read.user_data) == ({"orders": ana.owned}, None)
