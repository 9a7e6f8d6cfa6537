"""A classic member of a mixed group waits in its JoinGroup for what others have yet to give up."""

from kohort.machines.groups.consumer.timers import JoinTimer, SyncTimer
from kohort.machines.groups.migration.waiting import LONGEST_WAIT_MS
from kohort.model.commands.groups import LeavingMember
from kohort.model.errors import ErrorCode
from kohort.model.records.groups import MemberState
from tests.machines.groups.consumer.conversation import BILLS, ORDERS, Consumer, topic
from tests.machines.groups.migration.conversation import (
    ClassicConsumer,
    MixedBook,
    all_owned,
    converge_mixed,
    mixed_book,
)


def lone_consumer(book: MixedBook) -> Consumer:
    """It has everything."""
    new = Consumer(book, "new")
    new.join()
    book.settle()
    return new


def with_one_that_waits(book: MixedBook, **fields: object) -> tuple[ClassicConsumer, Consumer]:
    """The consumer has not heard yet what it is to give up."""
    new = lone_consumer(book)
    ana = ClassicConsumer(book, "ana", **fields)  # type: ignore[arg-type]
    ana.join()
    assert ana.is_joining
    return ana, new


def test_it_is_answered_when_all_of_it_is_free() -> None:
    book = mixed_book()
    ana, new = with_one_that_waits(book)
    new.heartbeat()
    assert ana.is_joining
    new.acknowledge()
    assert not ana.is_joining
    ana.take_up()
    assert all_owned(ana, new) == [0, 1, 2, 3]
    assert len(ana.owned) == 2
    assert book.member(ana.member_id).position.state is MemberState.STABLE


def test_that_costs_no_time() -> None:
    book = mixed_book()
    ana, new = with_one_that_waits(book)
    before_ms = book.now_ms
    new.heartbeat()
    new.acknowledge()
    assert not ana.is_joining
    assert book.now_ms == before_ms


def test_it_has_to_do_with_what_it_has_if_that_takes_too_long() -> None:
    book = mixed_book()
    ana, new = with_one_that_waits(book)
    book.wait(LONGEST_WAIT_MS - 1)
    assert ana.is_joining
    book.wait(1)
    assert ana.learn() is ErrorCode.NONE
    ana.sync()
    assert ana.assigned() == ()
    assert ana.heartbeat().code is ErrorCode.NONE
    new.heartbeat()
    new.acknowledge()
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    converge_mixed(ana, new)
    assert all_owned(ana, new) == [0, 1, 2, 3]


def test_it_never_waits_for_more_than_a_third_of_its_session() -> None:
    book = mixed_book(group_min_session_timeout_ms=1000)
    ana, _ = with_one_that_waits(book, session_timeout_ms=3000)
    book.wait(1000)
    assert not ana.is_joining


def test_it_waits_for_the_target_that_is_about_to_be_made() -> None:
    book = mixed_book(group_consumer_assignment_interval_ms=1000)
    lone_consumer(book)
    ana = ClassicConsumer(book, "ana", topics=("bills",))
    book.set_topics(topic("orders", ORDERS, 4), topic("bills", BILLS, 1))
    ana.join()
    assert ana.is_joining
    book.wait(1000)
    assert ana.learn() is ErrorCode.NONE
    ana.sync()
    assert book.member(ana.member_id).position.assigned.keys() == {BILLS}


def test_who_has_to_give_something_up_itself_does_not_wait() -> None:
    book = mixed_book(partitions=2)
    Consumer(book, "idle", subscribed_topic_names=()).join()
    book.settle()
    ana = ClassicConsumer(book, "ana", is_cooperative=True)
    ana.rejoin()
    book.settle()
    ben = ClassicConsumer(book, "ben")
    ben.join()
    assert ben.is_joining
    ana.join()
    assert not ana.is_joining
    ana.take_up()
    assert not ben.is_joining
    ben.take_up()
    assert all_owned(ana, ben) == [0, 1]


def test_what_one_that_waits_does_not_want_any_more_another_may_wait_for() -> None:
    book = mixed_book()
    ana, new = with_one_that_waits(book)
    ben = ClassicConsumer(book, "ben")
    ben.join()
    book.settle()
    assert ben.is_joining
    converge_mixed(ana, ben, new)
    assert all_owned(ana, ben, new) == [0, 1, 2, 3]
    assert {len(ana.owned), len(ben.owned), new.partitions} == {1, 2}


def test_it_may_come_again_before_it_was_answered() -> None:
    book = mixed_book()
    ana, new = with_one_that_waits(book)
    older = ana.joined
    ana.join()
    assert older is not None
    assert older.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert ana.is_joining
    converge_mixed(ana, new)


def test_it_may_be_removed_before_it_was_answered() -> None:
    book = mixed_book()
    ana, _ = with_one_that_waits(book)
    book.remove(LeavingMember(ana.member_id))
    assert ana.joined is not None
    assert ana.joined.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert not [key for key in book.timers if isinstance(key, JoinTimer | SyncTimer)]


def test_another_may_take_its_place_before_it_was_answered() -> None:
    book = mixed_book()
    ana, new = with_one_that_waits(book, instance_id="one")
    back = ClassicConsumer(book, "back", instance_id="one")
    back.join()
    assert ana.joined is not None
    assert ana.joined.code is ErrorCode.FENCED_INSTANCE_ID
    converge_mixed(back, new)
    assert all_owned(back, new) == [0, 1, 2, 3]


def test_it_may_change_its_protocol_before_it_was_answered() -> None:
    book = mixed_book()
    ana, new = with_one_that_waits(book)
    ana_id = next(iter(book.group.classic_members))
    changed = Consumer(book, ana_id)
    changed.join()
    assert ana.joined is not None
    assert ana.joined.code is ErrorCode.REBALANCE_IN_PROGRESS
    converge_mixed(changed, new)
    assert all_owned(changed, new) == [0, 1, 2, 3]


def test_without_push_it_is_answered_at_once() -> None:
    book = mixed_book(group_push_enable=False)
    lone_consumer(book)
    ana = ClassicConsumer(book, "ana")
    ana.join()
    assert ana.learn() is ErrorCode.NONE
    ana.sync()
    assert ana.assigned() == ()


def test_a_restart_forgets_who_waits() -> None:
    book = mixed_book()
    ana, new = with_one_that_waits(book)
    book.restart()
    ana.join()
    converge_mixed(ana, new)
    assert all_owned(ana, new) == [0, 1, 2, 3]


def test_one_that_waits_need_not_ask_for_what_it_joined_for_before() -> None:
    book = mixed_book()
    ana, _ = with_one_that_waits(book, session_timeout_ms=9_000, rebalance_timeout_ms=2_000)
    book.wait(LONGEST_WAIT_MS)
    assert ana.learn() is ErrorCode.NONE
    book.wait(1_000)
    assert ana.heartbeat().code is ErrorCode.NONE
    book.set_topics(topic("orders", ORDERS, 6))
    ana.join()
    assert ana.is_joining
    book.wait(1_500)
    assert ana.is_joining, "not dropped because it did not sync"
    book.wait(LONGEST_WAIT_MS)
    assert ana.learn() is ErrorCode.NONE
