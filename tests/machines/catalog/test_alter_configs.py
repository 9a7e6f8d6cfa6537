import pytest

from kohort.model.commands.catalog import (
    AlterConfigs,
    ConfigChange,
    ConfigOperation,
    CreateTopics,
    NewTopic,
    Resource,
    ResourceChanges,
    ResourceOutcome,
    ResourceType,
)
from kohort.model.errors import ErrorCode
from kohort.model.ids import DEFAULT_ORG
from kohort.model.topic_settings import topic_config
from tests.machines.catalog.conversation import catalog
from tests.playbook import Playbook

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
ORDERS = Resource(ResourceType.TOPIC, "orders")
BROKER = Resource(ResourceType.BROKER, "1")
EVERY_BROKER = Resource(ResourceType.BROKER, "")
Change = tuple[str, int, str | None]


@pytest.fixture
def book() -> Playbook:
    book = catalog()
    book.say(CreateTopics((NewTopic("orders"),)))
    return book


def alter(
    book: Playbook, resource: Resource, *changes: Change, replace: bool = False, validate_only: bool = False
) -> ResourceOutcome:
    command = AlterConfigs(
        (ResourceChanges(resource, tuple(ConfigChange(*change) for change in changes)),), validate_only, replace
    )
    (outcome,) = book.say(command).resources
    return outcome


def own(book: Playbook) -> dict[str, str]:
    return dict(book.machine.state.topic(DEFAULT_ORG, "orders").configs)


def test_a_setting_is_set_and_deleted_and_a_restart_keeps_it(book: Playbook) -> None:
    assert alter(book, ORDERS, ("retention.ms", SET, " 77 "), ("segment.ms", SET, "9")).error_code == 0
    book.restart()
    assert own(book) == {"retention.ms": "77", "segment.ms": "9"}
    alter(book, ORDERS, ("retention.ms", DELETE, None))
    assert own(book) == {"segment.ms": "9"}


def test_a_list_grows_from_what_is_inherited_and_shrinks_to_nothing(book: Playbook) -> None:
    """The steps and results are Kafka's."""
    for operation, value, result in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "compact", ""),
    ):
        assert alter(book, ORDERS, ("cleanup.policy", operation, value)).error_code == 0
        assert own(book) == {"cleanup.policy": result}
    alter(book, ORDERS, ("cleanup.policy", DELETE, None))
    alter(book, ORDERS, ("cleanup.policy", SUBTRACT, "compact"))
    assert own(book) == {"cleanup.policy": "delete"}


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ([("retention.ms", SET, None)], 42, "Null value not supported for : retention.ms"),
        ([("retention.ms", DELETE, "x")], 0, None),
        ([("retention.ms", APPEND, "x")], 40, "Can't APPEND to key retention.ms because its type is not LIST."),
        ([("cleanup.policy", APPEND, None)], 42, "Null value not supported for : cleanup.policy"),
        ([("cleanup.policy", APPEND, "")], 40, "Configuration 'cleanup.policy' values must not be empty."),
        (
            [("cleanup.policy", APPEND, "foo")],
            40,
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        ([("nope", SET, "x")], 40, "Unknown topic config name: nope"),
        ([("nope", DELETE, None)], 0, None),
        ([("nope", APPEND, "x")], 40, "Can't APPEND to key nope because its type is not LIST."),
        ([("retention.ms", SET, "1"), ("retention.ms", SET, "2")], 42, "Error due to duplicate config keys"),
        ([("retention.ms", SET, "x")], 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
        ([], 0, None),
        (
            [("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "5")],
            40,
            "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (5)",
        ),
        ([("retention.ms", 9, "x")], 42, "Unknown operation 9 for retention.ms"),
    ],
)
def test_a_change_of_a_topic_is_taken_or_refused_as_kafka_does(
    book: Playbook, changes: list[Change], code: int, message: str | None
) -> None:
    outcome = alter(book, ORDERS, *changes)
    assert (outcome.error_code, outcome.error_message) == (code, message)
    assert own(book) == {}


@pytest.mark.parametrize(
    ("resource", "code", "message"),
    [
        (Resource(2, "missing"), 3, "The topic 'missing' does not exist."),
        (Resource(2, ""), 42, "Default topic resources are not allowed."),
        (Resource(4, "x"), 42, "Node id must be an integer, but it is: x"),
        (Resource(4, "2"), 42, "Unexpected broker id, expected 1, but received 2"),
        (Resource(8, "1"), 40, "Logger retention.ms does not exist!"),
        (Resource(8, "2"), 42, "Unexpected node id. Expected 1, but received 2"),
        (Resource(8, "x"), 42, "Node id must be an integer, but it is: x"),
        (Resource(32, "g"), 40, "Unknown group config name: retention.ms"),
        (Resource(32, ""), 42, "Default group resources are not allowed."),
        (Resource(16, "m"), 42, "Unknown client metrics configuration: retention.ms"),
        (Resource(16, ""), 42, "Subscription name can't be empty"),
        (Resource(99, "x"), 42, "Unknown resource type 99"),
        (Resource(3, "x"), 42, "Unknown resource type 3"),
    ],
)
def test_what_has_no_such_settings_is_refused_as_kafka_does(
    book: Playbook, resource: Resource, code: int, message: str
) -> None:
    outcome = alter(book, resource, ("retention.ms", SET, "1"))
    assert (outcome.error_code, outcome.error_message) == (code, message)


def test_the_old_request_takes_away_every_setting_that_it_does_not_name(book: Playbook) -> None:
    alter(book, ORDERS, ("retention.ms", SET, "5"), ("segment.ms", SET, "9"))
    alter(book, ORDERS, ("retention.ms", SET, "6"), replace=True)
    assert own(book) == {"retention.ms": "6"}
    alter(book, ORDERS, replace=True)
    assert own(book) == {}


def test_the_old_request_knows_no_loggers(book: Playbook) -> None:
    outcome = alter(book, Resource(8, "1"), ("root", SET, "INFO"), replace=True)
    assert (outcome.error_code, outcome.error_message) == (42, "Unknown resource type 8")


def test_validating_only_changes_nothing(book: Playbook) -> None:
    assert alter(book, ORDERS, ("retention.ms", SET, "5"), validate_only=True).error_code == 0
    assert own(book) == {}


def test_a_resource_that_is_named_twice_is_refused_each_time(book: Playbook) -> None:
    changes = ResourceChanges(ORDERS, (ConfigChange("retention.ms", SET, "5"),))
    answer = book.say(AlterConfigs((changes, changes)))
    assert [(outcome.error_code, outcome.error_message) for outcome in answer.resources] == [
        (42, "Each resource must appear at most once.")
    ] * 2
    assert own(book) == {}


def test_one_resource_is_changed_while_another_is_refused(book: Playbook) -> None:
    good = ResourceChanges(ORDERS, (ConfigChange("retention.ms", SET, "5"),))
    bad = ResourceChanges(Resource(2, "missing"), (ConfigChange("retention.ms", SET, "5"),))
    answer = book.say(AlterConfigs((bad, good)))
    assert [outcome.error_code for outcome in answer.resources] == [3, 0]
    assert own(book) == {"retention.ms": "5"}


def test_a_change_that_changes_nothing_writes_nothing(book: Playbook) -> None:
    alter(book, ORDERS, ("retention.ms", SET, "5"))
    before = list(book.records)
    alter(book, ORDERS, ("retention.ms", SET, "+5"))
    assert book.records == before


# Brokers


def retention_of_orders(book: Playbook) -> int:
    state = book.machine.state
    return topic_config(state.topic(DEFAULT_ORG, "orders").configs, state.settings).retention_ms


def test_a_change_for_one_broker_counts_more_than_one_for_all_and_topics_follow(book: Playbook) -> None:
    alter(book, EVERY_BROKER, ("log.retention.ms", SET, "2000000"))
    assert retention_of_orders(book) == 2_000_000
    alter(book, BROKER, ("log.retention.ms", SET, "1000000"))
    book.restart()
    assert retention_of_orders(book) == 1_000_000
    alter(book, BROKER, ("log.retention.ms", DELETE, None))
    assert retention_of_orders(book) == 2_000_000
    alter(book, EVERY_BROKER, replace=True)
    assert retention_of_orders(book) == 168 * 3_600_000


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("node.id", SET, "2"), 42, "Cannot update these configs dynamically: [node.id]"),
        (("num.partitions", SET, "2"), 42, "Cannot update these configs dynamically: [num.partitions]"),
        (
            ("message.max.bytes", SET, "x"),
            42,
            "Invalid value x for configuration message.max.bytes: Not a number of type INT",
        ),
        (
            ("message.max.bytes", SET, "-1"),
            42,
            "Invalid value -1 for configuration message.max.bytes: Value must be at least 0",
        ),
        (("nope", SET, "1"), 40, "Unknown broker config name: nope"),
        (("nope", DELETE, None), 0, None),
    ],
)
def test_a_change_of_a_broker_is_taken_or_refused(
    book: Playbook, change: Change, code: int, message: str | None
) -> None:
    for resource in (BROKER, EVERY_BROKER):
        outcome = alter(book, resource, change)
        assert (outcome.error_code, outcome.error_message) == (code, message)


def test_brokers_may_be_given_lags_that_do_not_fit_the_lag_of_a_topic(book: Playbook) -> None:
    alter(book, ORDERS, ("min.compaction.lag.ms", SET, "9"))
    assert alter(book, EVERY_BROKER, ("log.cleaner.max.compaction.lag.ms", SET, "5")).error_code == ErrorCode.NONE
    assert retention_of_orders(book) == 168 * 3_600_000
