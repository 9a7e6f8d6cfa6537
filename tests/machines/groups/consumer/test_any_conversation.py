"""Whatever members say, in whatever order: what must always be true."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.model.commands.groups import AssignedTopic, ConsumerGroupDescribe, ConsumerGroupHeartbeat
from kohort.model.errors import ProtocolError
from kohort.model.records.groups import GroupIdentityRecord
from tests.machines.groups.consumer.conversation import (
    BILLS,
    GROUP,
    ORDERS,
    ORIGIN,
    PATIENT,
    Consumer,
    GroupBook,
    converge,
    group_book,
    topic,
)

NAMES = ["a", "b", "c", "d"]
WAITS_TO_JOIN = PATIENT._replace(software_name="joins-held", connection_id=3)

Step = Callable[["Play"], object]


class Play:
    """Four consumers, two of which are static and two whose heartbeats are held, and what they are made to do."""

    def __init__(self) -> None:
        self.book = group_book(topic("orders", ORDERS, 5), topic("bills", BILLS, 3))
        subscriptions: list[dict[str, Any]] = [
            {},
            {"subscribed_topic_names": ("orders", "bills"), "instance_id": "i1"},
            {"subscribed_topic_names": None, "subscribed_topic_regex": "b.*|o.*"},
            {"subscribed_topic_names": ("bills",), "instance_id": "i2", "server_assignor": "range"},
        ]
        origins = [ORIGIN, ORIGIN, PATIENT, WAITS_TO_JOIN]
        self.consumers = {
            name: Consumer(self.book, name, origin=origin, **fields)
            for name, origin, fields in zip(NAMES, origins, subscriptions, strict=True)
        }
        self.epochs: dict[str, int] = {}

    def act(self, name: str, way: str) -> None:
        consumer = self.consumers[name]
        if consumer.token is not None:
            consumer.hear()
        try:
            getattr(consumer, way)()
        except ProtocolError:
            consumer.epoch = 0


def act(name: str, way: str) -> Step:
    return lambda play: play.act(name, way)


def leave_for_a_while(name: str) -> Step:
    def step(play: Play) -> None:
        with suppress(ProtocolError):
            play.consumers[name].leave(-2)

    return step


def say(command: ConsumerGroupHeartbeat) -> Step:
    def step(play: Play) -> None:
        before = len(play.book.records)
        try:
            play.book.say(command)
        except ProtocolError:
            assert len(play.book.records) == before, "what is refused is written nowhere"

    return step


def hurry(name: str) -> Step:
    def step(play: Play) -> None:
        token = play.consumers[name].token
        if token is not None:
            before = len(play.book.records)
            play.book.hurry(token)
            assert len(play.book.records) == before, "who is hurried moves nothing"

    return step


def topics(orders: int, bills: int) -> Step:
    made = [topic("orders", ORDERS, orders)] * (orders > 0) + [topic("bills", BILLS, bills)] * (bills > 0)
    return lambda play: play.book.set_topics(*made)


names = st.sampled_from(NAMES)
owned = st.one_of(
    st.none(),
    st.lists(st.integers(0, 5), max_size=3, unique=True).map(
        lambda indexes: (AssignedTopic(ORDERS, tuple(indexes)),) if indexes else ()
    ),
)
anything = st.builds(
    lambda member_id, epoch, instance_id, timeout_ms, subscribed, regex, owned: ConsumerGroupHeartbeat(
        GROUP,
        member_id,
        epoch,
        instance_id,
        rebalance_timeout_ms=timeout_ms,
        subscribed_topic_names=subscribed,
        subscribed_topic_regex=regex,
        topic_partitions=owned,
        origin=ORIGIN,
    ),
    st.sampled_from([*NAMES, "x", ""]),
    st.integers(-3, 9),
    st.sampled_from([None, None, "i1", "i3"]),
    st.sampled_from([-1, -7, 1000, 1 << 31]),
    st.sampled_from([None, (), ("orders",), ("bills", "none")]),
    st.sampled_from([None, "", "o.*", "("]),
    owned,
)
steps = st.one_of(
    st.builds(act, names, st.sampled_from(["join", "heartbeat", "acknowledge", "acknowledge", "ask_for_all", "leave"])),
    st.builds(leave_for_a_while, st.sampled_from(["b", "d"])),
    st.builds(hurry, names),
    st.builds(say, anything),
    st.builds(topics, st.integers(0, 6), st.integers(0, 3)),
    st.builds(lambda ms: lambda play: play.book.wait(ms), st.sampled_from([1, 30, 700, 20_000])),
    st.just(lambda play: play.book.restart()),
)
conversations = st.lists(steps, max_size=40)


def said(book: GroupBook) -> list[str]:
    return sorted(map(repr, book.machine.snapshot()))


def check_ownership(play: Play) -> None:
    """No partition is assigned to, or still to be given up by, two members; epochs of a member only grow."""
    group = play.book.machine.state.groups.get(GROUP)
    if group is None:
        return
    taken: set[object] = set()
    for member in group.members.values():
        for partitions in (member.position.assigned, member.position.pending):
            for topic_id, epochs in partitions.items():
                assert epochs, "no topic without partitions"
                for partition in epochs:
                    assert (topic_id, partition) not in taken
                    taken.add((topic_id, partition))
                    assert group.ownership.is_taken(topic_id, partition)
    assert group.target_epoch <= group.epoch


@settings(max_examples=300, deadline=None)
@given(conversations)
def test_no_partition_has_two_owners_and_the_log_says_it_all(conversation: list[Step]) -> None:
    play = Play()
    for step in conversation:
        step(play)
        check_ownership(play)
        records = play.book.records
        assert sum(isinstance(record, GroupIdentityRecord) for record in records) <= 1
    before = said(play.book)
    for records in (play.book.records, list(play.book.machine.snapshot())):
        machine = play.book.another_machine()
        for record in records:
            machine.replay(record)
        assert sorted(map(repr, machine.snapshot())) == before


@settings(max_examples=200, deadline=None)
@given(conversations)
def test_members_that_go_on_converge_on_a_balanced_assignment(conversation: list[Step]) -> None:
    play = Play()
    for step in conversation:
        step(play)
    book = play.book
    book.set_topics(topic("orders", ORDERS, 5), topic("bills", BILLS, 3))
    group = book.machine.state.groups.get(GROUP)
    for member in [] if group is None else list(group.members.values()):
        book.say(ConsumerGroupHeartbeat(GROUP, member.member_id, -1, member.metadata.instance_id, origin=ORIGIN))
    for consumer in play.consumers.values():
        consumer.token = None
        consumer.join()
    converge(*play.consumers.values(), rounds=12)
    assert sum(each.partitions for each in play.consumers.values()) == 8
    described = book.say(ConsumerGroupDescribe(GROUP))
    for each in described.members:
        assert sorted(each.assignment.topic_partitions) == sorted(each.target_assignment.topic_partitions)
    assert book.group.is_settled()
