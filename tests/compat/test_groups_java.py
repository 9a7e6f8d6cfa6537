"""What Kafka's own admin client is told of groups of either protocol, live and empty, and what it may change."""

import pytest

from tests.compat.conftest import MakeTopic
from tests.compat.group_members import group_name
from tests.compat.kafka_tools import KafkaTools

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("consumer_groups")]

FACTS = {
    "state": "Stable",
    "is_simple": "false",
    "coordinator": "1",
    "member": "1 tour /127.0.0.1 i",
    "assignment": "3",
    "listed": "true",
    "listed_for_consumers": "true",
    "listed_stable": "true",
    "listed_empty": "false",
    "listed_connect": "false",
    "offsets": "[0:2:where it was]",
    "alter_live": "UnknownMemberIdException",
    "delete_offsets_live": "GroupSubscribedToTopicException",
    "delete_live": "GroupNotEmptyException",
    "remove_nobody": "UnknownMemberIdException",
    "remove": "done",
    "state_then": "Empty 0",
    "alter_empty": "done",
    "offsets_altered": "[0:1:, 1:5:by hand]",
    "delete_offsets_empty": "done",
    "offsets_left": "[1:5:by hand]",
    "offset_of_first": "{%s-0=null}",
    "delete": "done",
    "delete_again": "GroupIdNotFoundException",
    "describe_deleted": "GroupIdNotFoundException",
}
FACTS_OF_PROTOCOL = {
    "classic": {
        "type": "Classic",
        "assignor": "range",
        "has_epochs": "false",
        "target": "-1",
        "has_member_epoch": "false",
        "upgraded": "Optional.empty",
        "as_classic": "done",
        "listed_classic": "true",
        "listed_consumer": "false",
    },
    "consumer": {
        "type": "Consumer",
        "assignor": "uniform",
        "has_epochs": "true",
        "target": "3",
        "has_member_epoch": "true",
        "upgraded": "Optional[true]",
        "as_classic": "GroupIdNotFoundException",
        "listed_classic": "false",
        "listed_consumer": "true",
    },
}


@pytest.mark.parametrize("protocol", FACTS_OF_PROTOCOL)
def test_the_java_admin_client_gets_all_it_asks_of_groups(
    kafka_tools: KafkaTools, make_topic: MakeTopic, protocol: str
) -> None:
    topic = make_topic(3)
    told = kafka_tools.run_program("GroupAdminTour", topic, protocol, group_name())
    facts = dict(line.split("=", 1) for line in told.splitlines())
    assert facts == {**FACTS, **FACTS_OF_PROTOCOL[protocol], "offset_of_first": FACTS["offset_of_first"] % topic}
