"""Whatever the catalog is told, its log says it all."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.machines.catalog.machine import CatalogMachine
from kohort.model.commands.catalog import (
    AllocateProducerIds,
    AlterConfigs,
    ConfigChange,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    Metadata,
    NewPartitions,
    NewTopic,
    Resource,
    ResourceChanges,
    TopicQuery,
)
from kohort.model.errors import ProtocolError
from kohort.model.ids import OrgId
from kohort.model.settings import BrokerSettings
from kohort.wire import catalog_records
from tests.machines.catalog.conversation import register
from tests.playbook import Playbook

names = st.sampled_from(["a", "b", "a.b", "a_b", "c d", "__consumer_offsets", ""])
topic_changes = st.builds(
    ConfigChange,
    st.sampled_from(["retention.ms", "cleanup.policy", "nope"]),
    st.integers(0, 4),
    st.sampled_from([None, "1", "compact", "delete", "x"]),
)
broker_changes = st.builds(
    ConfigChange, st.sampled_from(["log.retention.ms", "log.roll.ms"]), st.integers(0, 1), st.sampled_from("123x")
)


def alterations(
    resources: st.SearchStrategy[Resource], changes: st.SearchStrategy[ConfigChange]
) -> st.SearchStrategy[AlterConfigs]:
    some_changes = st.lists(changes, max_size=2).map(tuple)
    return st.builds(
        lambda resource, changed, replace: AlterConfigs((ResourceChanges(resource, changed),), replace=replace),
        resources,
        some_changes,
        st.booleans(),
    )


commands = st.one_of(
    st.builds(register, st.integers(1, 3), st.integers(1, 9)),
    st.builds(AllocateProducerIds, st.integers(1, 2)),
    st.builds(lambda name: Metadata((TopicQuery(name),)), names),
    st.builds(
        lambda made: CreateTopics(tuple(NewTopic(name, count) for name, count in made)),
        st.lists(st.tuples(names, st.integers(-1, 4)), max_size=3),
    ),
    st.builds(lambda name, count: CreatePartitions((NewPartitions(name, count),)), names, st.integers(1, 6)),
    st.builds(lambda gone: DeleteTopics(tuple(TopicQuery(name) for name in gone)), st.lists(names, max_size=2)),
    alterations(st.builds(Resource, st.just(2), names), topic_changes),
    alterations(st.builds(Resource, st.just(4), st.sampled_from(["", "1"])), broker_changes),
)
conversations = st.lists(st.tuples(commands, st.sampled_from([OrgId(0), OrgId(7)])), max_size=30)


def known(book: Playbook) -> dict[str, object]:
    """All of the state, also what is derived from it. What is empty is as what never was."""
    state = vars(book.machine.state)
    topics = {org_id: topics for org_id, topics in state["_topics"].items() if topics}
    configs = {name: configs for name, configs in state["broker_configs"].items() if configs}
    return {**state, "_topics": topics, "broker_configs": configs}


@settings(max_examples=200, deadline=None)
@given(conversations)
def test_a_replay_of_the_log_and_of_a_snapshot_give_the_state_that_was(
    conversation: list[tuple[object, OrgId]],
) -> None:
    book = Playbook(lambda: CatalogMachine(BrokerSettings()))
    for command, org_id in conversation:
        with suppress(ProtocolError):
            book.say(command, org_id)
    live = known(book)
    book.restart()
    assert known(book) == live
    book.restart_from_snapshot()
    assert known(book) == live
    for record in list(book.machine.snapshot()):
        book.machine.replay(record)
    assert known(book) == live, "a snapshot replayed onto its own state changes nothing"


@settings(max_examples=100, deadline=None)
@given(conversations)
def test_every_record_comes_back_from_its_bytes_as_it_was(conversation: list[tuple[object, OrgId]]) -> None:
    book = Playbook(lambda: CatalogMachine(BrokerSettings()))
    for command, org_id in conversation:
        with suppress(ProtocolError):
            book.say(command, org_id)
    for record in book.records:
        assert catalog_records.decode(*catalog_records.encode(record)) == record


@settings(max_examples=100, deadline=None)
@given(conversations)
def test_a_refusal_and_a_question_write_nothing(conversation: list[tuple[object, OrgId]]) -> None:
    book = Playbook(lambda: CatalogMachine(BrokerSettings()))
    for command, org_id in conversation:
        before = list(book.records)
        try:
            book.say(command, org_id)
        except ProtocolError:
            assert book.records == before
    before = list(book.records)
    for org_id in (OrgId(0), OrgId(7)):
        book.say(Metadata(None), org_id)
    assert book.records == before
