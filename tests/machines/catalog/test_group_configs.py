"""Settings of groups: changed, refused, described and listed."""

import pytest

from kohort.model.commands.catalog import (
    AlterConfigs,
    ConfigChange,
    ConfigOperation,
    ConfigSource,
    DescribeConfigs,
    ListConfigResources,
    Resource,
    ResourceChanges,
    ResourceQuery,
    ResourceType,
)
from kohort.model.ids import DEFAULT_ORG, OrgId
from tests.machines.catalog.conversation import catalog
from tests.playbook import Playbook

GROUP = Resource(ResourceType.GROUP_CONFIG, "g")
SESSION = "consumer.session.timeout.ms"
SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE


@pytest.fixture
def book() -> Playbook:
    return catalog()


def alter(book: Playbook, name: str, value: str | None, operation: ConfigOperation = SET) -> tuple[int, str | None]:
    changes = ResourceChanges(GROUP, (ConfigChange(name, operation, value),))
    (outcome,) = book.say(AlterConfigs((changes,))).resources
    return outcome.error_code, outcome.error_message


def described(book: Playbook, org_id: OrgId = DEFAULT_ORG) -> dict[str, tuple[str | None, ConfigSource]]:
    (outcome,) = book.say(DescribeConfigs((ResourceQuery(GROUP),)), org_id).resources
    return {entry.name: (entry.value, entry.source) for entry in outcome.configs}


def test_a_group_has_the_brokers_settings_until_it_is_given_its_own(book: Playbook) -> None:
    assert described(book) == {
        "consumer.assignment.interval.ms": ("0", ConfigSource.DEFAULT),
        "consumer.heartbeat.interval.ms": ("1000", ConfigSource.DEFAULT),
        SESSION: ("45000", ConfigSource.DEFAULT),
    }
    assert alter(book, SESSION, "+60000") == (0, None)
    assert described(book)[SESSION] == ("60000", ConfigSource.DYNAMIC_GROUP)
    assert described(book, OrgId(7))[SESSION] == ("45000", ConfigSource.DEFAULT)


@pytest.mark.parametrize("load", ["restart", "restart_from_snapshot"])
def test_settings_of_groups_outlive_a_restart_and_can_be_taken_back(book: Playbook, load: str) -> None:
    alter(book, SESSION, "60000")
    getattr(book, load)()
    assert described(book)[SESSION] == ("60000", ConfigSource.DYNAMIC_GROUP)
    assert book.say(ListConfigResources((ResourceType.GROUP_CONFIG,))).config_resources == (GROUP,)
    assert alter(book, SESSION, None, DELETE) == (0, None)
    getattr(book, load)()
    assert described(book)[SESSION] == ("45000", ConfigSource.DEFAULT)
    assert book.say(ListConfigResources((ResourceType.GROUP_CONFIG,))).config_resources == ()


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [
        ("consumer.nothing", "1", "Unknown group config name: consumer.nothing"),
        (SESSION, "9999", f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms"),
        (SESSION, "300001", f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms"),
        (
            "consumer.heartbeat.interval.ms",
            "15001",
            "consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms",
        ),
        (SESSION, "soon", f"Invalid value soon for configuration {SESSION}: Not a number of type INT"),
    ],
)
def test_a_setting_of_a_group_is_refused_in_kafkas_words(book: Playbook, name: str, value: str, refusal: str) -> None:
    assert alter(book, name, value) == (40, refusal)
    assert described(book)[SESSION] == ("45000", ConfigSource.DEFAULT)
