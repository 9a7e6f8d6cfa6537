import pytest

from kohort.model.commands.catalog import (
    AlterConfigs,
    ConfigChange,
    ConfigEntry,
    ConfigOperation,
    ConfigSource,
    CreateTopics,
    DescribeConfigs,
    ListConfigResources,
    NewTopic,
    Resource,
    ResourceChanges,
    ResourceOutcome,
    ResourceQuery,
    ResourceType,
)
from kohort.model.errors import ErrorCode
from kohort.model.settings import BROKER_SETTINGS, BrokerSettings
from tests.machines.catalog.conversation import catalog
from tests.machines.catalog.kafka_answers import DESCRIBED_TOPIC
from tests.playbook import Playbook


def describe(book: Playbook, resource_type: int, name: str, *settings: str) -> ResourceOutcome:
    query = ResourceQuery(Resource(resource_type, name), settings or None)
    return book.say(DescribeConfigs((query,), include_synonyms=True, include_documentation=True)).resources[0]


def only(outcome: ResourceOutcome) -> ConfigEntry:
    (entry,) = outcome.configs
    return entry


def change(book: Playbook, resource_type: int, name: str, setting: str, value: str) -> None:
    changes = ResourceChanges(Resource(resource_type, name), (ConfigChange(setting, ConfigOperation.SET, value),))
    (outcome,) = book.say(AlterConfigs((changes,))).resources
    assert outcome.error_code == ErrorCode.NONE, outcome.error_message


@pytest.fixture
def book() -> Playbook:
    book = catalog()
    book.say(CreateTopics((NewTopic("orders"), NewTopic("short", configs=(("retention.ms", "5"),)))))
    return book


def test_a_topic_has_every_setting_that_it_has_in_kafka_with_the_same_value_and_type(book: Playbook) -> None:
    entries = describe(book, ResourceType.TOPIC, "orders").configs
    ours = {(entry.name, entry.value, int(entry.config_type)) for entry in entries}
    assert ours == {(name, value, config_type) for name, value, config_type, _ in DESCRIBED_TOPIC}
    assert not any(entry.read_only or entry.is_sensitive for entry in entries)
    assert {entry.source for entry in entries} == {ConfigSource.DEFAULT}


def test_what_stands_in_for_a_topics_setting_is_what_stands_in_for_it_in_kafka(book: Playbook) -> None:
    """As far as the broker has the setting; Kafka leaves out those without a value, and so do we."""
    synonyms_in_kafka = {name: synonyms for name, _, _, synonyms in DESCRIBED_TOPIC}
    for entry in describe(book, ResourceType.TOPIC, "orders").configs:
        expected = [
            name
            for name in synonyms_in_kafka[entry.name]
            if name in BROKER_SETTINGS and BROKER_SETTINGS[name].default is not None
        ]
        assert [synonym.name for synonym in entry.synonyms] == expected


def test_every_setting_is_documented(book: Playbook) -> None:
    for resource in ((ResourceType.TOPIC, "orders"), (ResourceType.BROKER, "1")):
        assert all(entry.documentation for entry in describe(book, *resource).configs)


def test_synonyms_and_documentation_are_left_out_unless_asked_for(book: Playbook) -> None:
    plain = book.say(DescribeConfigs((ResourceQuery(Resource(ResourceType.TOPIC, "orders")),))).resources[0]
    assert all(entry.synonyms == () and entry.documentation is None for entry in plain.configs)


def test_only_the_settings_that_are_named_are_told_and_unknown_names_are_passed_over(book: Playbook) -> None:
    assert only(describe(book, ResourceType.TOPIC, "short", "retention.ms", "nope")).value == "5"
    everything = describe(book, ResourceType.TOPIC, "short")
    empty_list = book.say(DescribeConfigs((ResourceQuery(Resource(ResourceType.TOPIC, "short"), ()),))).resources[0]
    assert len(empty_list.configs) == len(everything.configs)


def test_a_topic_tells_its_own_value_first_then_what_would_stand_in_for_it(book: Playbook) -> None:
    change(book, ResourceType.BROKER, "1", "log.retention.ms", "1000000")
    change(book, ResourceType.BROKER, "", "log.retention.ms", "2000000")
    own = only(describe(book, ResourceType.TOPIC, "short", "retention.ms"))
    in_kafka = [
        ("retention.ms", "5", 1),
        ("log.retention.ms", "1000000", 2),
        ("log.retention.ms", "2000000", 3),
        ("log.retention.hours", "168", 5),
    ]
    assert (own.value, own.source) == ("5", ConfigSource.DYNAMIC_TOPIC)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in own.synonyms] == in_kafka
    inherited = only(describe(book, ResourceType.TOPIC, "orders", "retention.ms"))
    assert (inherited.value, inherited.source) == ("1000000", ConfigSource.DYNAMIC_BROKER)


def test_a_value_in_hours_is_told_in_milliseconds_and_its_source_is_the_file() -> None:
    book = catalog(BrokerSettings(log_retention_hours=2))
    book.say(CreateTopics((NewTopic("orders"),)))
    entry = only(describe(book, ResourceType.TOPIC, "orders", "retention.ms"))
    assert (entry.value, entry.source) == ("7200000", ConfigSource.STATIC_BROKER)


def test_a_broker_tells_every_setting_and_which_can_be_changed(book: Playbook) -> None:
    entries = {entry.name: entry for entry in describe(book, ResourceType.BROKER, "1").configs}
    assert set(entries) == set(BROKER_SETTINGS)
    assert entries["node.id"].read_only
    assert not entries["log.retention.ms"].read_only
    assert entries["log.retention.ms"].value is None


def test_the_name_of_every_broker_tells_only_what_was_changed_for_all(book: Playbook) -> None:
    assert describe(book, ResourceType.BROKER, "").configs == ()
    change(book, ResourceType.BROKER, "", "message.max.bytes", "2000000")
    entry = only(describe(book, ResourceType.BROKER, ""))
    assert (entry.name, entry.value, entry.source) == (
        "message.max.bytes",
        "2000000",
        ConfigSource.DYNAMIC_DEFAULT_BROKER,
    )


@pytest.mark.parametrize(
    ("resource_type", "name", "code", "message"),
    [
        (2, "missing", 3, None),
        (2, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (4, "x", 42, "Broker id must be an integer, but it is: x"),
        (4, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (8, "x", 42, "Broker id must be an integer, but it is: x"),
        (8, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (8, "", 42, "Broker id must not be empty"),
        (32, "", 42, "Group name must not be empty"),
        (16, "", 42, "Client metrics subscription name must not be empty"),
        (99, "x", 42, "Unknown resource type 99"),
        (3, "g", 42, "Unknown resource type 3"),
    ],
)
def test_what_cannot_be_described_is_refused_as_kafka_does(
    book: Playbook, resource_type: int, name: str, code: int, message: str | None
) -> None:
    outcome = describe(book, resource_type, name)
    assert (outcome.error_code, outcome.error_message, outcome.configs) == (code, message, ())


def test_what_has_settings_is_listed_by_type(book: Playbook) -> None:
    def listed(*resource_types: int) -> list[tuple[int, str]]:
        answer = book.say(ListConfigResources(resource_types))
        assert answer.error_code == 0
        return [(resource.resource_type, resource.resource_name) for resource in answer.config_resources]

    assert listed() == [(2, "orders"), (2, "short"), (4, "1"), (8, "1")]
    assert listed(2) == [(2, "orders"), (2, "short")]
    assert listed(16) == []
    assert book.say(ListConfigResources((99,))).error_code == ErrorCode.UNSUPPORTED_VERSION
