"""After a restart everybody goes on where it was, and nobody has to move."""

from collections.abc import Callable

import pytest

from tests.machines.groups.consumer.conversation import (
    BILLS,
    ORDERS,
    PATIENT,
    Consumer,
    GroupBook,
    converge,
    group_book,
    topic,
)

Restart = Callable[[GroupBook], None]

each_restart = pytest.mark.parametrize("restart", [GroupBook.restart, GroupBook.restart_from_snapshot])


@pytest.fixture
def book() -> GroupBook:
    return group_book()


@each_restart
def test_members_go_on_with_their_epochs_and_nothing_is_written(book: GroupBook, restart: Restart) -> None:
    members = [Consumer(book, each) for each in "abc"]
    for each in members:
        each.join()
    converge(*members)
    count = len(book.records)
    owned = [dict(each.owned) for each in members]
    restart(book)
    book.settle()
    for each in members:
        assert each.ask_for_all().error_code == 0
    assert [each.owned for each in members] == owned
    assert len(book.records) == count


@each_restart
@pytest.mark.parametrize("steps", range(7))
def test_a_rebalance_goes_on_wherever_it_was(book: GroupBook, restart: Restart, steps: int) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    ways: list[Callable[[], object]] = [
        first.join,
        second.join,
        book.settle,
        first.heartbeat,
        second.heartbeat,
        first.acknowledge,
        second.acknowledge,
    ]
    for step, way in enumerate(ways):
        way()
        if step == steps:
            restart(book)
    converge(first, second)
    assert (first.partitions, second.partitions) == (2, 2)
    assert {*first.owned[ORDERS], *second.owned[ORDERS]} == {0, 1, 2, 3}
    assert book.group.epoch == 3


@each_restart
def test_a_target_that_was_still_to_come_comes(book: GroupBook, restart: Restart) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    assert book.group.epoch > book.group.target_epoch
    restart(book)
    book.settle()
    assert book.group.epoch == book.group.target_epoch


@each_restart
def test_everybody_has_a_whole_session_from_the_restart_on(book: GroupBook, restart: Restart) -> None:
    member = Consumer(book, "a")
    member.join()
    book.wait(40_000)
    restart(book)
    book.wait(44_999)
    assert "a" in book.group.members
    book.wait(1)
    assert "a" not in book.group.members


@each_restart
def test_who_owes_a_revocation_has_its_time_from_the_restart_on(book: GroupBook, restart: Restart) -> None:
    first, second = Consumer(book, "a", rebalance_timeout_ms=3000), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    restart(book)
    book.wait(2999)
    assert "a" in book.group.members
    book.wait(1)
    assert "a" not in book.group.members


@each_restart
def test_static_members_are_known_by_their_instances(book: GroupBook, restart: Restart) -> None:
    member = Consumer(book, "a", instance_id="i1")
    member.join()
    restart(book)
    member.leave(-2)
    restart(book)
    again = Consumer(book, "b", instance_id="i1")
    again.join()
    restart(book)
    again.ask_for_all()
    assert again.owned == {ORDERS: (0, 1, 2, 3)}
    assert book.group.epoch == 2


@each_restart
def test_a_held_heartbeat_is_forgotten_and_its_member_goes_on(book: GroupBook, restart: Restart) -> None:
    member = Consumer(book, "a", origin=PATIENT)
    member.join()
    member.acknowledge()
    restart(book)
    assert not book.machine.state.held
    member.ask_for_all()
    assert member.epoch == 2


@each_restart
def test_an_answer_that_was_lost_with_the_broker_is_made_up_for(book: GroupBook, restart: Restart) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    converge(first, second)
    book.settle()
    second.leave()
    first.heartbeat()
    restart(book)
    answer = first.send(3, owned={ORDERS: (0, 1)}, **first.fields)
    assert (answer.error_code, answer.member_epoch) == (0, 4)
    assert first.owned == {ORDERS: (0, 1, 2, 3)}


@each_restart
def test_a_group_of_much_is_the_same_after_every_way_back(book: GroupBook, restart: Restart) -> None:
    book.set_topics(topic("orders", ORDERS, 5), topic("bills", BILLS, 3))
    members = [
        Consumer(book, "a", subscribed_topic_regex="b.*", rack_id="r"),
        Consumer(book, "b", instance_id="i1", server_assignor="range"),
        Consumer(book, "c", subscribed_topic_names=("bills",)),
    ]
    for each in members:
        each.join()
    converge(*members, rounds=2)
    members[1].leave(-2)
    before = list(book.machine.snapshot())
    restart(book)
    assert sorted(map(repr, book.machine.snapshot())) == sorted(map(repr, before))
    book.restart_from_snapshot()
    assert sorted(map(repr, book.machine.snapshot())) == sorted(map(repr, before))


@each_restart
@pytest.mark.parametrize("subscription", [{"subscribed_topic_names": ("bills",)}, {"subscribed_topic_regex": "bills"}])
def test_a_topic_that_went_while_nobody_was_there_is_missed(restart: Restart, subscription: dict[str, object]) -> None:
    book = group_book(topic("orders", ORDERS, 2), topic("bills", BILLS, 2))
    member = Consumer(book, "a", **({"subscribed_topic_names": ()} | subscription))
    member.join()
    converge(member)
    assert member.owned == {BILLS: (0, 1)}
    del book.topics["bills"]
    restart(book)
    converge(member)
    assert member.owned == {}
