"""The history of groups in __group_events: written when something is durable, readable by any consumer."""

import json

import pytest

from kohort.broker.group_history import EVENTS_TOPIC, encode_event
from kohort.model.commands.catalog import CreateTopics, DeleteTopics, Metadata, NewTopic, TopicQuery
from kohort.model.errors import ErrorCode
from kohort.model.group_events import GroupRebalanced, PartitionMove, WaitedFor
from kohort.model.ids import DEFAULT_ORG, OrgId
from kohort.store.log import StoreError
from tests.broker.broker_in_memory import BrokerInMemory, batch_of, fetch, fetched, produce, produced, records_of

EVENT = GroupRebalanced(
    "grüppe",
    "cgp_01",
    "consumer",
    ("member joined", "topics changed"),
    3,
    4,
    1000,
    1250,
    ("m2",),
    (),
    2,
    (PartitionMove("orders", 0, "m1", "m2"), PartitionMove("orders", 1, None, "m2")),
    (WaitedFor("m1", "revocation", 200),),
)


@pytest.fixture
def broker() -> BrokerInMemory:
    return BrokerInMemory()


def tell(broker: BrokerInMemory, event: object, org_id: OrgId = DEFAULT_ORG) -> None:
    broker.broker._group_history.tell(org_id, event)
    broker.advance(1)


def history(broker: BrokerInMemory, org_id: OrgId = DEFAULT_ORG) -> list[tuple[str, dict[str, object]]]:
    found = fetched(broker.ask(fetch({(EVENTS_TOPIC, 0): 0}), org_id))[EVENTS_TOPIC, 0]
    return [((record.key or b"").decode(), json.loads(record.value or b"")) for record in records_of(found)]


def test_an_event_is_a_json_object_under_the_id_of_its_group(broker: BrokerInMemory) -> None:
    tell(broker, EVENT)
    ((key, event),) = history(broker)
    assert key == "grüppe"
    assert event == {
        "event": "GroupRebalanced",
        "group_id": "grüppe",
        "identity": "cgp_01",
        "protocol": "consumer",
        "triggers": ["member joined", "topics changed"],
        "from_epoch": 3,
        "to_epoch": 4,
        "began_ms": 1000,
        "ended_ms": 1250,
        "joined": ["m2"],
        "left": [],
        "members": 2,
        "moves": [
            {"topic": "orders", "partition": 0, "from_member": "m1", "to_member": "m2"},
            {"topic": "orders", "partition": 1, "from_member": None, "to_member": "m2"},
        ],
        "waited_for": [{"member_id": "m1", "what": "revocation", "waited_ms": 200}],
        "took_ms": 250,
    }


def test_events_that_come_before_the_topic_is_made_are_written_in_their_order(broker: BrokerInMemory) -> None:
    for epoch in range(5):
        broker.broker._group_history.tell(DEFAULT_ORG, EVENT._replace(to_epoch=epoch))
    broker.advance(10)
    assert [event["to_epoch"] for _, event in history(broker)] == [0, 1, 2, 3, 4]


def test_each_org_has_a_history_of_its_own(broker: BrokerInMemory) -> None:
    tell(broker, EVENT, OrgId(7))
    tell(broker, EVENT._replace(group_id="other"))
    assert [key for key, _ in history(broker)] == ["other"]
    assert [key for key, _ in history(broker, OrgId(7))] == ["grüppe"]


def test_the_topic_is_internal_and_nobody_else_writes_to_it(broker: BrokerInMemory) -> None:
    tell(broker, EVENT)
    (topic,) = broker.ask(Metadata((TopicQuery(EVENTS_TOPIC),))).topics
    assert topic.is_internal
    outcome = produced(broker.ask(produce(EVENTS_TOPIC, batch_of(["a lie"], broker.now_ms()))))
    assert outcome.error_code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert len(history(broker)) == 1


def test_what_cannot_be_written_is_told_to_the_log_and_harms_nothing(
    broker: BrokerInMemory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(broker, EVENT)
    tell(broker, "not an event")
    assert "could not be written to its history" in caplog.text
    partition = broker.broker._partitions.named(DEFAULT_ORG, EVENTS_TOPIC, 0)
    monkeypatch.setattr(
        type(partition.log), "append", lambda log, batches, durability, done: done(StoreError("no space"))
    )
    tell(broker, EVENT)
    assert "is lost: no space" in caplog.text
    monkeypatch.undo()
    tell(broker, EVENT)
    assert len(history(broker)) == 2


def test_a_history_whose_topic_was_deleted_begins_anew(broker: BrokerInMemory) -> None:
    tell(broker, EVENT)
    broker.ask(DeleteTopics((TopicQuery(EVENTS_TOPIC),)))
    broker.ask(CreateTopics((NewTopic("orders"),)))
    tell(broker, EVENT)
    assert len(history(broker)) == 1


def test_an_event_says_its_text_as_it_is() -> None:
    assert "grüppe".encode() in encode_event(EVENT)
