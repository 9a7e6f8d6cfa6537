"""Offsets: who may commit them, what a group is told of them, and what takes them away."""

from uuid import UUID

import pytest

from kohort.model.commands.groups import (
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    PartitionOffsetFetched,
    TopicCommit,
    TopicOffsetsFetched,
    TopicOffsetsToDelete,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import GroupIdentityRecord, OffsetCommitRecord, RemoveOffsetRecord
from kohort.model.settings import BrokerSettings
from tests.machines.groups.committers import codes, commit, fetch, offsets
from tests.machines.groups.consumer.conversation import BILLS, MAIL, ORDERS, Consumer, GroupBook, group_book, topic
from tests.playbook import START_MS

STRANGER = UUID(int=0xF)
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def book() -> GroupBook:
    return group_book(topic("orders", ORDERS, 4), topic("bills", BILLS, 2))


def refused(book: GroupBook, command: object) -> ErrorCode:
    before, count = list(book.machine.snapshot()), len(book.records)
    with pytest.raises(ProtocolError) as refusal:
        book.say(command)
    assert (list(book.machine.snapshot()), len(book.records)) == (before, count)
    return refusal.value.code


# Committing


def test_who_is_no_member_commits_to_a_group_that_nobody_knew(book: GroupBook) -> None:
    assert codes(book.say(commit("g", {"orders": {0: 5, 2: 7}}))) == {("orders", 0): 0, ("orders", 2): 0}
    assert offsets(book.say(fetch("g", {"orders": (0, 1, 2)}))) == {
        ("orders", 0): 5,
        ("orders", 1): -1,
        ("orders", 2): 7,
    }


def test_a_commit_writes_the_groups_identity_once_and_one_record_for_each_topic(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {0: 5, 2: (7, 3, "seven")}, "bills": {1: 1}}))
    identity, orders, bills = book.records
    assert isinstance(identity, GroupIdentityRecord)
    assert orders == OffsetCommitRecord("g", "orders", (0, 2), (5, 7), (-1, 3), ("", "seven"), START_MS, None, ORDERS)
    assert bills == OffsetCommitRecord("g", "bills", (1,), (1,), (-1,), (), START_MS, None, BILLS)
    book.say(commit("g", {"orders": {0: 6}}))
    assert len(book.records) == 4


def test_who_commits_the_same_partitions_again_is_given_the_very_same_answer_if_it_is_small() -> None:
    book = group_book(topic("orders", ORDERS, 101))

    def say(offset: int, *partitions: int) -> object:
        count = len(partitions)
        return book.say(OffsetCommit("g", (TopicCommit("orders", partitions, (offset,) * count, (-1,) * count, ()),)))

    assert say(5, 0) is say(6, 0)
    assert say(7, 0) != say(7, 1)
    assert say(8, *range(101)) == say(9, *range(101))
    assert say(8, *range(101)) is not say(9, *range(101))


@pytest.mark.parametrize("load", ["restart", "restart_from_snapshot"])
def test_offsets_come_back_with_leader_epoch_and_metadata(book: GroupBook, load: str) -> None:
    book.say(commit("g", {"orders": {0: (5, 3, "five"), 1: 6}}))
    book.say(commit("g", {"orders": {1: (8, 4, "eight")}}))
    getattr(book, load)()
    (fetched,) = book.say(fetch("g", {"orders": (0, 1, 2)})).topics
    assert fetched.partitions == (
        PartitionOffsetFetched(0, 5, "five", 0, 3),
        PartitionOffsetFetched(1, 8, "eight", 0, 4),
        PartitionOffsetFetched(2),
    )


def test_of_a_commit_that_names_a_partition_twice_the_last_counts(book: GroupBook) -> None:
    twice = (
        commit("g", {"orders": {0: 5}})
        .topics[0]
        ._replace(partition_indexes=(0, 1, 0), committed_offsets=(5, 6, 7), committed_leader_epochs=(-1, -1, -1))
    )
    answer = book.say(commit("g", {})._replace(topics=(twice,)))
    assert [each.error_code for each in answer.topics[0].partitions] == [0, 0, 0]
    assert offsets(book.say(fetch("g"))) == {("orders", 0): 7, ("orders", 1): 6}


def test_partitions_and_topics_that_do_not_exist_are_refused_one_by_one(book: GroupBook) -> None:
    answer = book.say(commit("g", {"orders": {0: 1, 4: 1, -1: 1}, "nothing": {0: 1}, STRANGER: {0: 1}, BILLS: {1: 2}}))
    assert codes(answer) == {
        ("orders", 0): 0,
        ("orders", 4): 3,
        ("orders", -1): 3,
        ("nothing", 0): 3,
        (STRANGER, 0): 100,
        (BILLS, 1): 0,
    }
    assert offsets(book.say(fetch("g"))) == {("orders", 0): 1, ("bills", 1): 2}


def test_a_commit_of_nothing_that_exists_makes_no_group(book: GroupBook) -> None:
    assert codes(book.say(commit("g", {"nothing": {0: 1}}, generation_id_or_member_epoch=9))) == {("nothing", 0): 3}
    assert book.records == []
    assert book.say(ListGroups()).groups == ()


def test_metadata_is_measured_in_characters(book: GroupBook) -> None:
    just, over = "ä" * 4096, "ä" * 4097
    answer = book.say(commit("g", {"orders": {0: (1, -1, just), 1: (1, -1, over), 2: 1}}))
    assert codes(answer) == {("orders", 0): 0, ("orders", 1): 12, ("orders", 2): 0}
    assert offsets(book.say(fetch("g"))) == {("orders", 0): 1, ("orders", 2): 1}


@pytest.mark.parametrize(("knows_member_epochs", "code"), [(True, 69), (False, 22)])
def test_a_member_of_a_group_that_is_gone_may_not_commit(book: GroupBook, knows_member_epochs: bool, code: int) -> None:
    command = commit(
        "g",
        {"orders": {0: 1, 9: 1}},
        member_id="m",
        generation_id_or_member_epoch=3,
        knows_member_epochs=knows_member_epochs,
    )
    assert codes(book.say(command)) == {("orders", 0): code, ("orders", 9): 3}
    assert book.records == []


def test_a_consumer_commits_with_its_epoch_and_nobody_else_may(book: GroupBook) -> None:
    consumer = Consumer(book, "m")
    consumer.join()
    book.settle()
    consumer.heartbeat()

    def code(member_id: str, epoch: int, knows_member_epochs: bool = True) -> int:
        command = commit(
            "g",
            {"orders": {0: 5}},
            member_id=member_id,
            generation_id_or_member_epoch=epoch,
            knows_member_epochs=knows_member_epochs,
        )
        return codes(book.say(command))["orders", 0]

    assert code("m", consumer.epoch) == 0
    assert code("m", consumer.epoch + 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert code("stranger", consumer.epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert code("", -1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert code("m", consumer.epoch, knows_member_epochs=False) == ErrorCode.UNSUPPORTED_VERSION


# Fetching


def test_of_a_group_that_nobody_knows_no_partition_has_an_offset(book: GroupBook) -> None:
    answer = book.say(fetch("g", {"orders": (0,), STRANGER: (1,), BILLS: (0,)}))
    assert answer.error_code == 0
    assert offsets(answer) == {("orders", 0): -1, (STRANGER, 1): -100, (BILLS, 0): -1}
    assert book.say(fetch("g")).topics == ()


def test_all_offsets_of_a_group_come_with_the_names_and_ids_of_their_topics(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {1: 5}, BILLS: {0: 6}}))
    assert book.say(fetch("g")).topics == (
        TopicOffsetsFetched("orders", (PartitionOffsetFetched(1, 5),), ORDERS),
        TopicOffsetsFetched("bills", (PartitionOffsetFetched(0, 6),), BILLS),
    )


def test_a_consumer_fetches_with_its_epoch_and_anybody_without_one(book: GroupBook) -> None:
    consumer = Consumer(book, "m")
    consumer.join()
    asked = {"orders": (0,)}
    assert book.say(fetch("g", asked)).error_code == 0
    assert book.say(fetch("g", asked, member_id="m", member_epoch=consumer.epoch)).error_code == 0
    assert refused(book, fetch("g", asked, member_id="m", member_epoch=9)) is ErrorCode.STALE_MEMBER_EPOCH
    assert refused(book, fetch("g", asked, member_id="x", member_epoch=1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_offset_of_a_topics_deleted_namesake_does_not_count(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {0: 5}}))
    book.topics["orders"] = topic("orders", MAIL, 4)
    book.restart()
    assert offsets(book.say(fetch("g", {"orders": (0,), MAIL: (0,)}))) == {("orders", 0): -1, (MAIL, 0): -1}


# Taking away


def test_the_offsets_of_a_deleted_topic_go_with_it(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {0: 5, 1: 6}, "bills": {0: 7}}))
    book.set_topics(book.topics["bills"])
    assert book.records[-2:] == [RemoveOffsetRecord("g", "orders", 0), RemoveOffsetRecord("g", "orders", 1)]
    assert offsets(book.say(fetch("g"))) == {("bills", 0): 7}
    book.restart()
    assert offsets(book.say(fetch("g"))) == {("bills", 0): 7}


def test_the_offsets_of_a_topic_that_was_deleted_while_the_broker_was_down_are_found_later(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {0: 5}, "bills": {0: 7}}))
    del book.topics["orders"]
    book.restart()
    book.wait(600_000)
    assert offsets(book.say(fetch("g"))) == {("bills", 0): 7}


def delete(*indexes: int, name: str = "orders") -> OffsetDelete:
    return OffsetDelete("g", (TopicOffsetsToDelete(name, indexes),))


def test_deleted_offsets_are_gone_and_the_rest_stays(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {0: 5, 1: 6, 2: 7}}))
    answer = book.say(delete(0, 3, 2))
    assert codes(answer) == {("orders", 0): 0, ("orders", 3): 0, ("orders", 2): 0}
    assert book.records[-2:] == [RemoveOffsetRecord("g", "orders", 0), RemoveOffsetRecord("g", "orders", 2)]
    book.restart()
    assert offsets(book.say(fetch("g"))) == {("orders", 1): 6}


def test_offsets_of_a_topic_that_a_group_consumes_are_not_deleted(book: GroupBook) -> None:
    Consumer(book, "m").join()
    assert codes(book.say(delete(0))) == {("orders", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    assert codes(book.say(delete(0, name="bills"))) == {("bills", 0): 0}


def test_offsets_of_a_group_or_a_topic_that_does_not_exist_are_not_deleted(book: GroupBook) -> None:
    assert refused(book, delete(0)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert codes(book.say(delete(0, name="nothing"))) == {("nothing", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


# Expiry


def test_offsets_expire_and_the_group_is_forgotten_when_it_had_none_for_as_long_again(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {0: 5}}))
    book.wait(6 * DAY_MS)
    book.say(commit("g", {"bills": {0: 6}}))
    book.wait(DAY_MS + 600_000)
    assert offsets(book.say(fetch("g"))) == {("bills", 0): 6}
    book.wait(6 * DAY_MS)
    assert [group.group_id for group in book.say(ListGroups()).groups] == ["g"]
    book.wait(7 * DAY_MS + 600_000)
    assert book.say(ListGroups()).groups == ()
    assert list(book.machine.snapshot()) == []
    book.restart()
    assert book.say(ListGroups()).groups == ()


def test_a_group_that_has_lost_its_offsets_is_there_after_a_restart_and_forgotten_in_the_end(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {0: 5}}, retention_time_ms=1000))
    book.wait(600_000)
    assert offsets(book.say(fetch("g"))) == {}
    listed = book.say(ListGroups()).groups
    assert [group.group_id for group in listed] == ["g"]
    book.restart_from_snapshot()
    assert book.say(ListGroups()).groups == listed
    book.wait(7 * DAY_MS + 1_200_000)
    assert list(book.machine.snapshot()) == []


def test_a_commit_may_have_an_end_of_its_own(book: GroupBook) -> None:
    book.say(commit("g", {"orders": {0: 5}}, retention_time_ms=1000))
    book.restart()
    book.wait(600_000)
    assert offsets(book.say(fetch("g"))) == {}


def test_what_a_consumer_group_is_subscribed_to_does_not_expire() -> None:
    settings = BrokerSettings(offsets_retention_minutes=1, offsets_retention_check_interval_ms=30_000)
    book = group_book(topic("orders", ORDERS, 4), topic("bills", BILLS, 1), settings=settings)
    book.say(commit("g", {"orders": {0: 5}, "bills": {0: 5}}))
    consumer = Consumer(book, "m")
    consumer.join()
    for _ in range(12):
        book.wait(10_000)
        consumer.heartbeat()
    assert offsets(book.say(fetch("g"))) == {("orders", 0): 5}
