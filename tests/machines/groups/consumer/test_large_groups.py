"""What a member costs in a large group: as little as in a small one."""

from kohort.model.records.groups import TargetAssignmentMetadataRecord
from tests.machines.groups.consumer.conversation import (
    ORDERS,
    Consumer,
    GroupBook,
    converge,
    group_book,
    topic,
)

MEMBERS = 500


def large_group() -> tuple[GroupBook, list[Consumer]]:
    book = group_book(topic("orders", ORDERS, 2 * MEMBERS + 10))
    members = [Consumer(book, f"m{number:04}") for number in range(MEMBERS)]
    for each in members:
        each.join()
    converge(*members)
    return book, members


def test_a_cold_start_makes_few_targets_and_writes_of_each_member_a_few_times() -> None:
    book, members = large_group()
    assert sum(isinstance(record, TargetAssignmentMetadataRecord) for record in book.records) <= 4
    assert len(book.records) <= 8 * MEMBERS
    assert {each.partitions for each in members} == {2, 3}


def test_one_more_member_concerns_those_who_give_it_something_and_nobody_else() -> None:
    book, members = large_group()
    book.settle()
    before = len(book.records)
    newcomer = Consumer(book, "z")
    newcomer.join()
    assert len(book.records) - before <= 10
    book.settle()
    for each in members:
        each.acknowledge()
    for each in members:
        each.acknowledge()
    newcomer.heartbeat()
    assert newcomer.partitions == 2
    assert len(book.records) - before <= 10 + len(members) + 4, "the others are written of once, for the epoch"


def test_one_member_less_concerns_those_who_get_something_and_nobody_else() -> None:
    book, members = large_group()
    book.settle()
    before = len(book.records)
    members[7].leave()
    book.settle()
    assert len(book.records) - before <= 10


def test_a_member_that_is_just_there_costs_no_record_and_no_timer() -> None:
    book, members = large_group()
    book.settle()
    records, timers = len(book.records), dict(book.timers)
    for each in members:
        each.heartbeat()
    assert len(book.records) == records
    assert book.timers == timers
