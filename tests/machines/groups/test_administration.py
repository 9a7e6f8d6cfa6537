"""Listing, describing and deleting groups."""

import pytest

from kohort.model.commands.groups import DeleteGroup, DescribeGroup, GroupDeleted, ListGroups
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import RemoveGroupIdentityRecord, RemoveOffsetRecord
from tests.machines.groups.committers import commit, fetch
from tests.machines.groups.consumer.conversation import BILLS, ORDERS, Consumer, GroupBook, group_book, topic


@pytest.fixture
def book() -> GroupBook:
    """Of a group "g" that a consumer is in, and a group "offsets" that has only those."""
    book = group_book(topic("orders", ORDERS, 4), topic("bills", BILLS, 2))
    book.say(commit("offsets", {"orders": {0: 1, 1: 2}, "bills": {0: 3}}))
    Consumer(book, "m").join()
    return book


def names(book: GroupBook, *states: str, types: tuple[str, ...] = ()) -> list[str]:
    return sorted(group.group_id for group in book.say(ListGroups(states, types)).groups)


def test_groups_are_listed_with_what_they_are(book: GroupBook) -> None:
    consumers, simple = sorted(book.say(ListGroups()).groups)
    assert (consumers.group_id, consumers.protocol_type, consumers.group_type) == ("g", "consumer", "consumer")
    assert (simple.group_id, simple.protocol_type, simple.group_type, simple.group_state) == (
        "offsets",
        "",
        "classic",
        "Empty",
    )


def test_groups_are_listed_by_state_and_type_in_any_case(book: GroupBook) -> None:
    assert names(book, "eMPTY") == ["offsets"]
    assert names(book, "Stable", "Reconciling", "Assigning", "empty") == ["g", "offsets"]
    assert names(book, types=("CLASSIC",)) == ["offsets"]
    assert names(book, types=("Consumer",)) == ["g"]
    assert names(book, "empty", types=("consumer",)) == []
    assert names(book, "no such state") == []


def test_every_group_has_an_identity_that_outlives_restarts(book: GroupBook) -> None:
    before = {group.group_id: group.identity for group in book.say(ListGroups()).groups}
    assert len(set(before.values())) == 2
    assert all(identity.startswith("cgp_") and len(identity) == 30 for identity in before.values())
    book.restart_from_snapshot()
    assert {group.group_id: group.identity for group in book.say(ListGroups()).groups} == before


def test_a_group_that_is_missing_or_not_classic_is_described_as_dead(book: GroupBook) -> None:
    missing = book.say(DescribeGroup("nothing"))
    assert (missing.error_code, missing.group_state, missing.error_message) == (69, "Dead", "Group nothing not found.")
    other = book.say(DescribeGroup("g"))
    assert (other.error_code, other.group_state, other.error_message) == (69, "Dead", "Group g is not a classic group.")


def test_a_group_of_offsets_only_is_described_as_an_empty_classic_one(book: GroupBook) -> None:
    described = book.say(DescribeGroup("offsets"))
    assert (described.error_code, described.group_state, described.protocol_type) == (0, "Empty", "")
    assert described.members == ()


def test_a_deleted_group_takes_its_offsets_and_its_identity_with_it(book: GroupBook) -> None:
    assert book.say(DeleteGroup("offsets")) == GroupDeleted("offsets", 0)
    assert book.records[-4:] == [
        RemoveOffsetRecord("offsets", "orders", 0),
        RemoveOffsetRecord("offsets", "orders", 1),
        RemoveOffsetRecord("offsets", "bills", 0),
        RemoveGroupIdentityRecord("offsets"),
    ]
    assert names(book) == ["g"]
    book.restart()
    assert names(book) == ["g"]
    assert book.say(fetch("offsets")).topics == ()


def test_a_group_that_is_deleted_and_comes_back_is_another(book: GroupBook) -> None:
    (before,) = (group.identity for group in book.say(ListGroups()).groups if group.group_id == "offsets")
    book.say(DeleteGroup("offsets"))
    book.say(commit("offsets", {"orders": {0: 1}}))
    (after,) = (group.identity for group in book.say(ListGroups()).groups if group.group_id == "offsets")
    assert after != before


@pytest.mark.parametrize(("group_id", "code"), [("g", ErrorCode.NON_EMPTY_GROUP), ("x", ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_group_with_members_or_none_at_all_is_not_deleted(book: GroupBook, group_id: str, code: ErrorCode) -> None:
    with pytest.raises(ProtocolError) as refusal:
        book.say(DeleteGroup(group_id))
    assert refusal.value.code is code
    assert names(book) == ["g", "offsets"]


def test_a_consumer_group_whose_members_left_is_deleted(book: GroupBook) -> None:
    consumer = Consumer(book, "m")
    consumer.join()
    consumer.leave()
    book.say(DeleteGroup("g"))
    assert names(book) == ["offsets"]
    book.restart()
    assert names(book) == ["offsets"]
    assert {record.group_id for record in book.machine.snapshot()} == {"offsets"}
