"""A classic group becomes one of the consumer protocol: GROUPS.md 4.10, Upgrade."""

import pytest

from kohort.machines.groups.classic.timers import JoinPhaseTimer, SessionTimer, SyncPhaseTimer
from kohort.model.commands.groups import ConsumerGroupDescribe, Protocol
from kohort.model.errors import ErrorCode
from kohort.model.group_events import GroupRebalanced
from kohort.model.records.groups import (
    ConsumerGroupMetadataRecord,
    MemberState,
    RemoveGroupMetadataRecord,
)
from tests.machines.groups.consumer.conversation import BILLS, GROUP, ORDERS, Consumer, topic
from tests.machines.groups.migration.conversation import (
    CLASSIC_SESSION_MS,
    REBALANCE_MS,
    ClassicConsumer,
    MixedBook,
    agree,
    all_owned,
    converge_mixed,
    mixed_book,
    refused,
)


def stable_pair(book: MixedBook) -> tuple[ClassicConsumer, ClassicConsumer]:
    """Two classic consumers of a stable group, with two partitions each."""
    pair = ClassicConsumer(book, "ana"), ClassicConsumer(book, "ben")
    agree(*pair)
    return pair


def refused_upgrade(book: MixedBook) -> str:
    """Why a consumer may not join; nothing is changed by that."""
    code, message = refused(Consumer(book, "new"))
    assert code is ErrorCode.GROUP_ID_NOT_FOUND
    assert message is not None
    return message


# What becomes of the group


def test_the_first_consumer_makes_it_a_group_of_the_consumer_protocol() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    new = Consumer(book, "new")
    new.join()
    assert book.kind == "consumer"
    assert list(book.group.classic_members) == [ana.member_id, ben.member_id]
    converge_mixed(ana, ben, new)
    assert all_owned(ana, ben, new) == [0, 1, 2, 3]
    assert new.partitions == 1


def test_the_epoch_is_the_generation_until_the_newcomer_brings_the_next() -> None:
    book = mixed_book()
    ana, _ = stable_pair(book)
    generation_id = ana.generation_id
    Consumer(book, "new").join()
    epochs = [record.epoch for record in book.records if isinstance(record, ConsumerGroupMetadataRecord)]
    assert epochs == [generation_id, generation_id + 1]


def test_members_are_stable_with_what_they_were_assigned_last() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    Consumer(book, "new", subscribed_topic_names=()).join()
    for member in (ana, ben):
        position = book.member(member.member_id).position
        assert (position.epoch, position.state) == (member.generation_id, MemberState.STABLE)
        assert position.assigned == {ORDERS: dict.fromkeys(member.owned, member.generation_id)}
        assert book.member(member.member_id).target == {ORDERS: member.owned}
    assert book.group.state == "Stable"


def test_what_members_said_of_themselves_is_kept() -> None:
    book = mixed_book()
    ana = ClassicConsumer(book, "ana", protocols=("range", "roundrobin"), instance_id="one", topics=("orders", "bills"))
    agree(ana)
    Consumer(book, "new").join()
    metadata = book.member(ana.member_id).metadata
    assert (metadata.instance_id, metadata.client_id, metadata.client_host) == ("one", "ana", "/127.0.0.1")
    assert metadata.subscribed_topic_names == ("bills", "orders")
    assert metadata.rebalance_timeout_ms == REBALANCE_MS
    classic = metadata.classic_member_metadata
    assert classic is not None
    assert classic.session_timeout_ms == CLASSIC_SESSION_MS
    assert [protocol.name for protocol in classic.supported_protocols] == ["range", "roundrobin"]


def test_topics_that_are_gone_are_not_assigned_any_more() -> None:
    book = mixed_book()
    ana, _ = stable_pair(book)
    book.set_topics(topic("bills", BILLS, 1))
    Consumer(book, "new", subscribed_topic_names=()).join()
    assert book.member(ana.member_id).position.assigned == {}


def test_the_tombstone_of_the_classic_group_comes_first() -> None:
    book = mixed_book()
    stable_pair(book)
    before = len(book.records)
    Consumer(book, "new").join()
    assert book.records[before] == RemoveGroupMetadataRecord(GROUP)


def test_identity_and_offsets_stay() -> None:
    book = mixed_book()
    ana, _ = stable_pair(book)
    identity = book.identity
    assert book.commit(ana.member_id, ana.generation_id, 7) is ErrorCode.NONE
    Consumer(book, "new").join()
    assert (book.identity, book.committed()) == (identity, 7)


def test_a_restart_finds_the_upgraded_group() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    new = Consumer(book, "new")
    new.join()
    book.restart()
    assert list(book.group.classic_members) == [ana.member_id, ben.member_id]
    converge_mixed(ana, ben, new)
    book.restart_from_snapshot()
    converge_mixed(ana, ben, new)
    assert all_owned(ana, ben, new) == [0, 1, 2, 3]


def test_the_history_tells_of_it_with_what_moved() -> None:
    book = mixed_book(partitions=2)
    ana = ClassicConsumer(book, "ana")
    agree(ana)
    book.events.clear()
    new = Consumer(book, "new")
    new.join()
    converge_mixed(ana, new)
    (event,) = book.events
    assert isinstance(event, GroupRebalanced)
    assert (event.protocol, event.triggers[0]) == ("consumer", "upgraded")
    assert (event.from_epoch, event.to_epoch) == (1, 2)
    assert event.joined == ("new",)
    (move,) = event.moves
    assert (move.from_member, move.to_member) == (ana.member_id, "new")
    assert {(waited.member_id, waited.what) for waited in event.waited_for} >= {(ana.member_id, "join")}


def test_a_rebalance_that_was_under_way_is_part_of_it() -> None:
    book = mixed_book(partitions=2)
    ana = ClassicConsumer(book, "ana")
    agree(ana)
    book.events.clear()
    ben = ClassicConsumer(book, "ben")
    ben.join()
    began_ms = book.now_ms
    book.wait(100)
    new = Consumer(book, "new")
    new.join()
    converge_mixed(ana, new, rounds=20)
    event = book.events[0]
    assert event.triggers[:2] == (f"member {ben.member_id} joined", "upgraded")
    assert event.began_ms == began_ms
    assert event.joined == (ben.member_id, "new")


# Those who wait


def test_a_member_that_waits_for_the_others_is_told_to_join_again() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    late = ClassicConsumer(book, "late")
    late.join()
    ana.join()
    Consumer(book, "new").join()
    for member in (ana, late):
        assert member.joined is not None
        assert member.joined.code is ErrorCode.REBALANCE_IN_PROGRESS
        assert member.joined.answer.member_id == member.member_id
    converge_mixed(ana, ben, late)


def test_a_member_that_waits_for_its_assignment_is_told_to_join_again() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    for member in (ana, ben):
        member.join()
    follower = next(member for member in (ana, ben) if member.learn() is ErrorCode.NONE and not member.leads)
    asked = follower.sync()
    assert not asked.is_answered
    Consumer(book, "new").join()
    assert asked.code is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_that_is_still_in_its_first_join_phase_can_be_upgraded() -> None:
    book = mixed_book()
    ana, new = ClassicConsumer(book, "ana"), Consumer(book, "new")
    ana.join()
    new.join()
    assert ana.joined is not None
    assert ana.joined.code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.rejoin()
    converge_mixed(ana, new)
    assert all_owned(ana, new) == [0, 1, 2, 3]


def test_a_held_heartbeat_hears_of_it_at_once() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    ana.wait_in_heartbeat()
    Consumer(book, "new").join()
    assert ana.held is not None
    assert ana.held.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert ben.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_client_that_was_told_its_id_before_joins_after_it() -> None:
    book = mixed_book()
    ana, _ = stable_pair(book)
    late = ClassicConsumer(book, "late")
    late.member_id = late.ask_to_join().answer.member_id
    new = Consumer(book, "new")
    new.join()
    late.rejoin()
    converge_mixed(ana, late, new, rounds=20)
    assert late.member_id in book.group.classic_members


# Time


def test_the_timers_of_the_classic_group_end_with_it() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    for member in (ana, ben):
        member.join()
    ClassicConsumer(book, "late").ask_to_join()
    Consumer(book, "new").join()
    ended = (SessionTimer, JoinPhaseTimer, SyncPhaseTimer)
    assert not [key for key in book.timers if isinstance(key, ended)]


def test_a_classic_member_keeps_its_own_session_timeout() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    new = Consumer(book, "new", subscribed_topic_names=())
    book.wait(CLASSIC_SESSION_MS - 1000)
    ana.heartbeat()
    ben.heartbeat()
    new.join()
    book.wait(CLASSIC_SESSION_MS - 1)
    assert ana.heartbeat().code is ErrorCode.NONE
    book.wait(1)
    assert list(book.group.classic_members) == [ana.member_id]


# What is refused


@pytest.mark.parametrize("policy", ["downgrade", "disabled"])
def test_the_policy_may_forbid_it(policy: str) -> None:
    book = mixed_book(group_consumer_migration_policy=policy)
    stable_pair(book)
    assert "online upgrade is disabled" in refused_upgrade(book)


@pytest.mark.parametrize("policy", ["bidirectional", "upgrade"])
def test_the_policy_may_allow_it(policy: str) -> None:
    book = mixed_book(group_consumer_migration_policy=policy)
    stable_pair(book)
    Consumer(book, "new").join()
    assert book.kind == "consumer"


def test_a_group_of_others_than_consumers_stays_classic() -> None:
    book = mixed_book()
    worker = ClassicConsumer(book, "worker")
    worker.ask_to_join(protocol_type="connect", requires_known_member_id=False)
    assert "does not use the consumer embedded protocol" in refused_upgrade(book)


def test_a_group_with_more_members_than_a_consumer_group_may_have_stays_classic() -> None:
    book = mixed_book(group_consumer_max_size=1)
    stable_pair(book)
    assert "exceeds the consumer group maximum size" in refused_upgrade(book)


def test_a_group_that_would_be_full_with_its_members_has_no_room() -> None:
    book = mixed_book(group_consumer_max_size=2)
    stable_pair(book)
    assert refused(Consumer(book, "new"))[0] is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert book.kind == "classic"


def test_subscriptions_that_cannot_be_read_are_no_ground_to_stand_on() -> None:
    book = mixed_book()
    ana = ClassicConsumer(book, "ana")
    ana.ask_to_join(protocols=(Protocol("range", b"\0"),), requires_known_member_id=False)
    assert "is malformed" in refused_upgrade(book)


def test_assignments_that_cannot_be_read_are_no_ground_to_stand_on() -> None:
    book = mixed_book()
    ana, _ = stable_pair(book)
    book.classic_group.members[ana.member_id].assignment = b"\0"
    assert "is malformed" in refused_upgrade(book)


def test_what_a_custom_assignor_told_its_members_besides_would_be_lost() -> None:
    book = mixed_book()
    agree(ClassicConsumer(book, "ana", protocols=("our-own",), assignment_user_data=b"of some use"))
    assert "custom assignor" in refused_upgrade(book)


def test_what_librdkafka_s_sticky_assignor_tells_its_members_besides_is_no_loss() -> None:
    book = mixed_book()
    agree(ClassicConsumer(book, "ana", protocols=("cooperative-sticky",), assignment_user_data=b"of no use"))
    Consumer(book, "new").join()
    assert book.kind == "consumer"


def test_nobody_can_have_a_partition_that_somebody_else_has() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    for member in (ana, ben):
        member.join()
    for member in (ana, ben):
        member.learn()
        member.sync({ana.member_id: [0], ben.member_id: [0]} if member.leads else {})
    assert "several members" in refused_upgrade(book)


def test_only_who_joins_brings_an_upgrade() -> None:
    book = mixed_book()
    ana, _ = stable_pair(book)
    asking = Consumer(book, ana.member_id)
    assert refused(asking, -1) == (ErrorCode.GROUP_ID_NOT_FOUND, f"Group {GROUP} is not a consumer group.")
    assert refused(asking, 1)[0] is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_consumer_with_a_bad_expression_leaves_the_group_classic() -> None:
    book = mixed_book()
    stable_pair(book)
    new = Consumer(book, "new", subscribed_topic_regex="(")
    assert refused(new)[0] is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert book.kind == "classic"


# Special cases


@pytest.mark.parametrize("policy", ["disabled", "bidirectional"])
def test_an_empty_group_follows_whoever_comes(policy: str) -> None:
    book = mixed_book(group_consumer_migration_policy=policy)
    ana, ben = stable_pair(book)
    identity = book.identity
    for member in (ana, ben):
        member.leave()
    book.wait(REBALANCE_MS)
    emptied = book.classic_group.generation_id
    new = Consumer(book, "new")
    new.join()
    assert (book.kind, book.identity) == ("consumer", identity)
    assert book.group.epoch == emptied + 1
    book.restart()
    assert book.group.epoch == emptied + 1


def test_a_static_member_comes_back_in_the_consumer_protocol() -> None:
    book = mixed_book()
    ana, ben = ClassicConsumer(book, "ana", instance_id="one"), ClassicConsumer(book, "ben")
    agree(ana, ben)
    new = Consumer(book, "new", instance_id="one")
    new.join()
    assert new.owned == {ORDERS: ana.owned}
    assert list(book.group.members) == [ben.member_id, "new"]
    assert ana.heartbeat().code is ErrorCode.FENCED_INSTANCE_ID
    assert not book.group.members["new"].uses_classic_protocol
    converge_mixed(ben, new)
    assert all_owned(ben, new) == [0, 1, 2, 3]


def test_a_member_may_itself_change_to_the_consumer_protocol() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    changed = Consumer(book, ana.member_id)
    changed.join()
    assert list(book.group.classic_members) == [ben.member_id]
    assert changed.owned == {ORDERS: ana.owned}
    assert ana.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID


def test_administrators_see_who_speaks_which_protocol() -> None:
    book = mixed_book()
    ana, ben = stable_pair(book)
    Consumer(book, "new").join()
    described = book.say(ConsumerGroupDescribe(GROUP))
    assert {member.member_id: member.member_type for member in described.members} == {
        ana.member_id: 0,
        ben.member_id: 0,
        "new": 1,
    }
    assert {member.subscribed_topic_names for member in described.members} == {("orders",)}
