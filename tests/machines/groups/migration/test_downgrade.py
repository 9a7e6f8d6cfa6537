"""A group of the consumer protocol becomes a classic one: GROUPS.md 4.10, Downgrade."""

import pytest

from kohort.machines.groups.consumer.timers import (
    ConsumerSessionTimer,
    RejoinTimer,
    RevocationTimer,
    SyncTimer,
    TargetTimer,
)
from kohort.model.commands.groups import ConnectionLost, DescribeGroup, LeavingMember
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.group_events import GroupRebalanced
from kohort.model.records.groups import GroupMetadataRecord, RemoveConsumerGroupMetadataRecord
from kohort.model.settings import BrokerSettings
from kohort.wire import consumer_protocol
from tests.machines.groups.consumer.conversation import GROUP, ORDERS, Consumer
from tests.machines.groups.migration.conversation import (
    CLASSIC_SESSION_MS,
    HOLD_MS,
    REBALANCE_MS,
    ClassicConsumer,
    MixedBook,
    agree,
    all_owned,
    converge_mixed,
    mixed_book,
)

CONSUMER_SESSION_MS = 45_000


def mixed_group(book: MixedBook, **fields: object) -> tuple[ClassicConsumer, ClassicConsumer, Consumer]:
    """Two classic consumers and one of the consumer protocol, at rest."""
    new = Consumer(book, "new", **fields)  # type: ignore[arg-type]
    new.join()
    book.settle()
    ana, ben = ClassicConsumer(book, "ana"), ClassicConsumer(book, "ben")
    for member in (ana, ben):
        member.rejoin()
    converge_mixed(ana, ben, new)
    return ana, ben, new


def agree_anew(*members: ClassicConsumer) -> None:
    """The members of a group that has been downgraded hear of it, and agree."""
    for member in members:
        assert member.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    agree(*members)


# When


def test_the_last_consumer_that_leaves_leaves_a_classic_group() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    new.leave()
    assert book.kind == "classic"
    agree_anew(ana, ben)
    assert all_owned(ana, ben) == [0, 1, 2, 3]


def test_as_long_as_there_is_another_consumer_nothing_changes() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    other = Consumer(book, "other")
    other.join()
    new.leave()
    assert book.kind == "consumer"
    converge_mixed(ana, ben, other)
    other.leave()
    assert book.kind == "classic"


def test_a_group_without_members_stays_what_it_is() -> None:
    book = mixed_book()
    new = Consumer(book, "new")
    new.join()
    new.leave()
    assert book.kind == "consumer"


def test_the_last_consumer_may_expire() -> None:
    book = mixed_book()
    ana, ben, _ = mixed_group(book)
    for _ in range(CONSUMER_SESSION_MS // 5000 - 1):
        book.wait(5000)
        assert book.heartbeats_of(ana, ben) == [ErrorCode.NONE, ErrorCode.NONE]
    book.wait(5001)
    assert book.kind == "classic"
    agree_anew(ana, ben)


def test_the_last_consumer_may_lose_its_connection() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    book.say(ConnectionLost(new.origin.connection_id))
    book.wait(3000)
    assert book.kind == "classic"
    agree_anew(ana, ben)


def test_the_last_consumer_may_not_give_up_its_partitions_in_time() -> None:
    book = mixed_book()
    new = Consumer(book, "new", rebalance_timeout_ms=5000)
    new.join()
    book.settle()
    ana = ClassicConsumer(book, "ana")
    ana.rejoin()
    new.heartbeat()
    book.wait(4000)
    ana.heartbeat()
    new.heartbeat()
    book.wait(1000)
    assert book.kind == "classic"


def test_the_last_consumer_may_be_removed_by_an_administrator() -> None:
    book = mixed_book()
    ana, ben, _ = mixed_group(book)
    assert book.remove(LeavingMember("new")) == [ErrorCode.NONE]
    assert book.kind == "classic"
    agree_anew(ana, ben)


def test_a_consumer_and_a_classic_member_may_go_together() -> None:
    book = mixed_book()
    ana, ben, _ = mixed_group(book)
    assert book.remove(LeavingMember("new"), LeavingMember(ben.member_id)) == [ErrorCode.NONE] * 2
    assert list(book.classic_group.members) == [ana.member_id]
    agree_anew(ana)


def test_a_classic_member_that_goes_changes_nothing() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    ben.leave()
    assert book.kind == "consumer"
    converge_mixed(ana, new)


def test_a_static_consumer_that_leaves_for_a_while_is_still_a_member() -> None:
    book = mixed_book()
    _, _, new = mixed_group(book, instance_id="one")
    new.leave(-2)
    assert book.kind == "consumer"


def test_the_policy_may_forbid_it() -> None:
    book = mixed_book(group_consumer_migration_policy="upgrade")
    ana, ben, new = mixed_group(book)
    new.leave()
    assert book.kind == "consumer"
    converge_mixed(ana, ben)
    assert all_owned(ana, ben) == [0, 1, 2, 3]


def test_a_policy_that_forbids_both_ways_lets_go_on_who_is_in_a_mixed_group_as_long_as_it_need_not_join() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    book.settings = BrokerSettings(group_consumer_migration_policy="disabled")
    book.restart()
    assert ana.heartbeat().code is ErrorCode.NONE
    new.leave()
    assert book.kind == "consumer"
    assert ben.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    assert ben.ask_to_join().code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("policy", ["downgrade", "bidirectional"])
def test_the_policy_may_allow_it(policy: str) -> None:
    book = mixed_book(group_consumer_migration_policy=policy)
    _, _, new = mixed_group(book)
    new.leave()
    assert book.kind == "classic"


def test_a_group_that_is_too_large_to_be_classic_goes_on_as_it_is() -> None:
    book = mixed_book(group_max_size=1)
    ana, ben, new = mixed_group(book)
    new.leave()
    assert book.kind == "consumer"
    converge_mixed(ana, ben)
    ben.leave()
    assert book.kind == "classic"
    agree_anew(ana)


# What becomes of the group


def test_the_generation_is_the_epoch_and_targets_are_assignments() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    epoch = book.group.epoch
    targets = {member.member_id: book.member(member.member_id).target[ORDERS] for member in (ana, ben)}
    before = len(book.records)
    new.leave()
    written = book.records[before:]
    (record,) = (each for each in written if isinstance(each, GroupMetadataRecord))
    assert written.index(RemoveConsumerGroupMetadataRecord(GROUP)) < written.index(record)
    assert (record.generation, record.protocol_type, record.protocol) == (epoch, "consumer", "range")
    for member in record.members:
        assignment = consumer_protocol.decode_assignment(member.assignment)
        assert assignment is not None
        assert assignment.partitions == {"orders": targets[member.member_id]}
        assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (CLASSIC_SESSION_MS, REBALANCE_MS)
    assert [member.member_id for member in record.members] == [ana.member_id, ben.member_id]
    assert book.classic_group.state.value == "PreparingRebalance"
    agree_anew(ana, ben)
    assert ana.generation_id == epoch + 1


def test_the_members_can_follow_all_protocols_that_they_named() -> None:
    book = mixed_book()
    new = Consumer(book, "new")
    new.join()
    book.settle()
    ana = ClassicConsumer(book, "ana", protocols=("range", "roundrobin"))
    ana.rejoin()
    new.leave()
    late = ClassicConsumer(book, "late", protocols=("roundrobin",))
    late.join()
    agree_anew(ana)
    late.learn()
    assert ana.protocol_name == late.protocol_name == "roundrobin"


def test_identity_and_offsets_stay() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    identity = book.identity
    assert book.commit(ana.member_id, ana.generation_id, 7) is ErrorCode.NONE
    new.leave()
    assert (book.identity, book.committed()) == (identity, 7)
    agree_anew(ana, ben)
    assert book.commit(ana.member_id, ana.generation_id, 8) is ErrorCode.NONE
    assert (book.identity, book.committed()) == (identity, 8)


def test_commits_of_the_generation_before_count_until_the_members_have_agreed() -> None:
    book = mixed_book()
    ana, _, new = mixed_group(book)
    new.leave()
    assert book.commit(ana.member_id, ana.generation_id, 7) is ErrorCode.NONE


def test_held_heartbeats_hear_of_it_at_once() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    ana.wait_in_heartbeat()
    ben.wait_in_heartbeat()
    new.leave()
    for member in (ana, ben):
        assert member.held is not None
        assert member.held.code is ErrorCode.REBALANCE_IN_PROGRESS
    book.wait(HOLD_MS)


def test_no_timer_of_the_consumer_group_is_left() -> None:
    book = mixed_book()
    ana, _, new = mixed_group(book)
    Consumer(book, "late").join()
    ana.heartbeat()
    late = ClassicConsumer(book, "last")
    late.join()
    book.remove(LeavingMember("late"), LeavingMember(new.member_id))
    assert book.kind == "classic"
    ended = (ConsumerSessionTimer, RevocationTimer, RejoinTimer, SyncTimer, TargetTimer)
    assert not [key for key in book.timers if isinstance(key, ended)]


def test_a_member_that_was_on_its_way_finds_a_classic_group() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    late = ClassicConsumer(book, "late")
    late.wait_to_join()
    new.leave()
    assert late.sync().code is ErrorCode.REBALANCE_IN_PROGRESS
    agree(ana, ben, late)
    assert all_owned(ana, ben, late) == [0, 1, 2, 3]


def test_a_member_that_waits_to_join_is_the_first_to_join_the_classic_group() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    late = ClassicConsumer(book, "late")
    late.join()
    assert late.is_joining
    new.leave()
    assert late.is_joining
    for member in (ana, ben):
        member.join()
    agree(ana, ben, late, ask=False)
    assert all_owned(ana, ben, late) == [0, 1, 2, 3]


def test_a_member_that_was_behind_goes_on_until_the_members_have_agreed() -> None:
    book = mixed_book()
    ana, ben, _ = mixed_group(book)
    late = Consumer(book, "late")
    late.join()
    ben.rejoin()
    assert ben.generation_id > ana.generation_id
    book.remove(LeavingMember("late"), LeavingMember("new"))
    behind = ana.generation_id
    assert book.classic_group.generation_id > behind
    assert book.heartbeats_of(ana, ben) == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    assert ana.heartbeat(generation_id=behind - 1).code is ErrorCode.ILLEGAL_GENERATION
    assert book.commit(ana.member_id, behind, 7) is ErrorCode.NONE
    agree(ana, ben)
    assert ana.heartbeat(generation_id=behind).code is ErrorCode.ILLEGAL_GENERATION


def test_a_member_that_waits_to_join_goes_on_too() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    new.fields["subscribed_topic_names"] = ("bills",)
    new.ask_for_all()
    book.settle()
    kept = {member.member_id: member.owned[0] for member in (ana, ben)}
    for member in (ana, ben):
        member.is_cooperative = True
        member.join()
    waiting = [member for member in (ana, ben) if member.is_joining]
    assert waiting
    new.leave()
    assert book.kind == "classic"
    for member in waiting:
        code = book.commit(member.member_id, member.generation_id, 7, partition=kept[member.member_id])
        assert code is ErrorCode.NONE


def test_silent_members_expire_as_classic_ones() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    new.leave()
    for member in (ana, ben):
        member.join()
    agree(ana, ben, ask=False)
    book.wait(CLASSIC_SESSION_MS - 1)
    ana.heartbeat()
    book.wait(1)
    assert list(book.classic_group.members) == [ana.member_id]


def test_a_restart_finds_the_downgraded_group() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    new.leave()
    book.restart()
    assert book.kind == "classic"
    agree_anew(ana, ben)
    book.restart_from_snapshot()
    assert book.heartbeats_of(ana, ben) == [ErrorCode.NONE, ErrorCode.NONE]
    assert (ana.sync().code, ana.assigned()) == (ErrorCode.NONE, ana.owned)
    assert all_owned(ana, ben) == [0, 1, 2, 3]


def test_a_consumer_that_was_thrown_out_may_come_again() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    book.remove(LeavingMember("new"))
    with pytest.raises(ProtocolError) as error:
        new.heartbeat()
    assert error.value.code is ErrorCode.UNKNOWN_MEMBER_ID
    new.join()
    assert book.kind == "consumer"
    converge_mixed(ana, ben, new)
    assert all_owned(ana, ben, new) == [0, 1, 2, 3]


def test_administrators_see_a_classic_group() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    new.leave()
    agree_anew(ana, ben)
    described = book.say(DescribeGroup(GROUP))
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Stable", "consumer", "range")
    assert [member.member_id for member in described.members] == [ana.member_id, ben.member_id]


def test_while_the_members_agree_anew_they_are_seen_with_what_they_had() -> None:
    book = mixed_book()
    ana, _, new = mixed_group(book)
    new.leave()
    described = book.say(DescribeGroup(GROUP))
    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    shown = next(member for member in described.members if member.member_id == ana.member_id)
    assignment = consumer_protocol.decode_assignment(shown.member_assignment)
    assert assignment is not None
    assert set(assignment.partitions["orders"]) >= set(ana.owned)
    assert shown.member_metadata == b""


def test_the_history_tells_of_it_with_what_moved() -> None:
    book = mixed_book(partitions=3)
    ana, ben, new = mixed_group(book)
    owned = {partition: member.member_id for member in (ana, ben) for partition in member.owned}
    owned |= dict.fromkeys(new.owned[ORDERS], "new")
    book.events.clear()
    new.leave()
    began_ms = book.now_ms
    agree_anew(ana, ben)
    (event,) = book.events
    assert isinstance(event, GroupRebalanced)
    assert (event.protocol, event.triggers) == ("classic", ("a member left", "downgraded"))
    assert event.left == ("new",)
    assert event.began_ms == began_ms
    assert event.to_epoch == event.from_epoch + 1
    now = {partition: member.member_id for member in (ana, ben) for partition in member.owned}
    assert {(move.partition, move.from_member, move.to_member) for move in event.moves} == {
        (partition, owned[partition], now[partition]) for partition in now if owned[partition] != now[partition]
    }
    assert {(waited.member_id, waited.what) for waited in event.waited_for} >= {(ana.member_id, "join")}


# A static member that comes back as a classic one


def static_group(book: MixedBook, **fields: object) -> tuple[ClassicConsumer, Consumer]:
    """A classic member and a static consumer, at rest."""
    static = Consumer(book, "static", instance_id="one", **fields)  # type: ignore[arg-type]
    static.join()
    book.settle()
    ana = ClassicConsumer(book, "ana")
    ana.rejoin()
    converge_mixed(ana, static)
    return ana, static


def test_a_static_consumer_that_comes_back_as_a_classic_member_brings_a_downgrade() -> None:
    book = mixed_book()
    ana, static = static_group(book)
    epoch, owned = book.group.epoch, static.owned[ORDERS]
    back = ClassicConsumer(book, "back", instance_id="one")
    answer = back.join().answer
    assert back.learn() is ErrorCode.NONE
    assert book.kind == "classic"
    assert (answer.generation_id, answer.protocol_name) == (epoch, "range")
    back.sync()
    assert back.assigned() == owned
    assert ana.heartbeat().code is ErrorCode.NONE
    assert list(book.classic_group.members) == [ana.member_id, back.member_id]


def test_it_is_told_that_it_leads_and_need_not_assign_anything() -> None:
    book = mixed_book()
    ana, _ = static_group(book)
    back = ClassicConsumer(book, "back", instance_id="one")
    answer = back.join().answer
    assert back.learn() is ErrorCode.NONE
    assert (answer.leader, answer.skip_assignment) == (back.member_id, True)
    assert [member.member_id for member in answer.members] == [ana.member_id, back.member_id]
    book.restart()
    assert book.classic_group.leader_id == back.member_id
    assert book.heartbeats_of(ana, back) == [ErrorCode.NONE] * 2


def test_if_it_could_not_understand_that_the_members_agree_anew() -> None:
    book = mixed_book()
    ana, _ = static_group(book)
    back = ClassicConsumer(book, "back", instance_id="one", supports_skip_assignment=False)
    assert not back.join().is_answered
    ana.join()
    agree(ana, back, ask=False)
    assert all_owned(ana, back) == [0, 1, 2, 3]


def test_that_is_told_to_the_history_though_nobody_has_to_agree_anew() -> None:
    book = mixed_book()
    static_group(book)
    book.events.clear()
    back = ClassicConsumer(book, "back", instance_id="one")
    back.join()
    back.learn()
    (event,) = book.events
    assert event.triggers == ("downgraded",)
    assert {(move.from_member, move.to_member) for move in event.moves} == {("static", back.member_id)}


def test_if_the_target_is_out_of_date_by_that_the_members_agree_anew() -> None:
    book = mixed_book()
    ana, _ = static_group(book)
    epoch = book.group.epoch
    back = ClassicConsumer(book, "back", instance_id="one", topics=("orders", "bills"))
    assert not back.join().is_answered
    assert book.kind == "classic"
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.join()
    agree(ana, back, ask=False)
    assert ana.generation_id == back.generation_id == epoch + 1
    assert all_owned(ana, back) == [0, 1, 2, 3]


def test_so_they_do_if_it_subscribed_to_an_expression_before() -> None:
    book = mixed_book()
    static_group(book, subscribed_topic_names=None, subscribed_topic_regex="ord.*")
    back = ClassicConsumer(book, "back", instance_id="one")
    assert not back.join().is_answered
    assert book.classic_group.state.value == "PreparingRebalance"


def test_a_static_consumer_alone_may_come_back_as_a_classic_member() -> None:
    book = mixed_book()
    static = Consumer(book, "static", instance_id="one")
    static.join()
    book.settle()
    back = ClassicConsumer(book, "back", instance_id="one")
    back.join()
    assert back.learn() is ErrorCode.NONE
    back.sync()
    assert (book.kind, back.assigned()) == ("classic", (0, 1, 2, 3))


def test_the_heartbeat_that_it_left_behind_is_fenced() -> None:
    book = mixed_book()
    _, static = static_group(book)
    static.origin = static.origin._replace(software_name="patient")
    static.heartbeat()
    static.heartbeat()
    assert static.token is not None
    token = static.token
    ClassicConsumer(book, "back", instance_id="one").join()
    answer = book.answers[token]
    assert answer.error_code == ErrorCode.FENCED_INSTANCE_ID  # type: ignore[attr-defined]


# And back again


def test_a_group_may_change_again_and_again() -> None:
    book = mixed_book()
    ana, ben, new = mixed_group(book)
    identity, last = book.identity, 0
    for _ in range(3):
        new.leave()
        agree_anew(ana, ben)
        assert ana.generation_id > last
        new = Consumer(book, "new")
        new.join()
        converge_mixed(ana, ben, new)
        assert new.epoch > ana.generation_id - 1
        last = new.epoch
    assert all_owned(ana, ben, new) == [0, 1, 2, 3]
    assert book.identity == identity
