"""The catalog machine: which decision each command gets.

Decides nothing itself: each command has its function, which sees the state and gives the records and the answer. Every
answer here is given at once, so the machine keeps no tokens and sets no timers.

Next hop: create_topics.py, metadata.py, alter_configs.py and the others in COMMANDS; then state.py replays the records.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final

from kohort.machines.catalog.alter_configs import handle_alter_configs
from kohort.machines.catalog.brokers import handle_allocate_producer_ids, handle_register_broker
from kohort.machines.catalog.create_partitions import handle_create_partitions
from kohort.machines.catalog.create_topics import handle_create_topics
from kohort.machines.catalog.delete_topics import handle_delete_topics
from kohort.machines.catalog.describe_configs import handle_describe_configs, handle_list_config_resources
from kohort.machines.catalog.internal_topics import handle_create_internal_topic
from kohort.machines.catalog.metadata import (
    handle_describe_cluster,
    handle_describe_topic_partitions,
    handle_metadata,
)
from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import CatalogState
from kohort.machines.contract import Decision, Moment, Reply, Token
from kohort.model.commands.catalog import (
    AllocateProducerIds,
    AlterConfigs,
    CreateInternalTopic,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    DescribeCluster,
    DescribeConfigs,
    DescribeTopicPartitions,
    ListConfigResources,
    Metadata,
    RegisterBroker,
)
from kohort.model.ids import OrgId
from kohort.model.records.catalog import CatalogRecord
from kohort.model.settings import BrokerSettings

COMMANDS: Final[Mapping[type, Callable[[CatalogState, OrgId, Any, Moment], Outcome]]] = {
    AllocateProducerIds: handle_allocate_producer_ids,
    AlterConfigs: handle_alter_configs,
    CreateInternalTopic: handle_create_internal_topic,
    CreatePartitions: handle_create_partitions,
    CreateTopics: handle_create_topics,
    DeleteTopics: handle_delete_topics,
    DescribeCluster: handle_describe_cluster,
    DescribeConfigs: handle_describe_configs,
    DescribeTopicPartitions: handle_describe_topic_partitions,
    ListConfigResources: handle_list_config_resources,
    Metadata: handle_metadata,
    RegisterBroker: handle_register_broker,
}
"""Every command of the catalog, and who decides it."""


class CatalogMachine:
    def __init__(self, settings: BrokerSettings) -> None:
        self.state: Final = CatalogState(settings)

    def answer_at_once(self, command: object, now_ms: int) -> None:
        """What is asked of a catalog is asked too seldom to be worth a shorter way."""

    def handle(self, org_id: OrgId, command: object, token: Token, moment: Moment) -> Decision[CatalogRecord]:
        records, answer = COMMANDS[type(command)](self.state, org_id, command, moment)
        for record in records:
            self.state.replay(record)
        return Decision(records, (Reply(token, answer),))

    def on_timer(self, key: Hashable, moment: Moment) -> Decision[CatalogRecord]:
        raise AssertionError(f"the catalog sets no timers, but {key!r} came due")

    def on_forget(self, token: Token, moment: Moment) -> Decision[CatalogRecord]:
        return Decision()

    def on_hurry(self, token: Token, moment: Moment) -> Decision[CatalogRecord]:
        return Decision()

    def on_loaded(self, moment: Moment) -> Decision[CatalogRecord]:
        return Decision()

    def replay(self, record: CatalogRecord) -> None:
        self.state.replay(record)

    def snapshot(self) -> Iterable[CatalogRecord]:
        return self.state.snapshot()
