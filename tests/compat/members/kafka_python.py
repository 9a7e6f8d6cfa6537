"""A member of a group through kafka-python, which has the classic protocol only."""

from collections.abc import Iterable
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.structs import OffsetAndMetadata

from tests.compat.members.member import Partition, PolledMember, Wish

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class KafkaPythonMember(PolledMember, ConsumerRebalanceListener):
    """It commits by itself, as its default is: before partitions are taken away, and when it is closed."""

    def open_client(self) -> None:
        wish = self.wish
        self._consumer = KafkaConsumer(**_config(wish))
        if wish.pattern:
            self._consumer.subscribe(pattern=f"^{wish.pattern}$", listener=self)
        else:
            self._consumer.subscribe(wish.topics, listener=self)

    def poll(self) -> Iterable[bytes]:
        # A poll that ends in the midst of the commit before a rebalance may never come to the rebalance, on Kafka too.
        polled = self._consumer.poll(timeout_ms=1000)
        return [record.value for records in polled.values() for record in records]

    def close_client(self) -> None:
        self._consumer.close()

    def commit(self, partition: Partition, offset: int, metadata: str) -> None:
        offsets = {TopicPartition(*partition): OffsetAndMetadata(offset, metadata, -1)}
        self.ask(lambda: self._consumer.commit(offsets))

    def committed(self, partition: Partition) -> int | None:
        return self.ask(lambda: self._consumer.committed(TopicPartition(*partition)))

    def seek(self, partition: Partition, offset: int) -> None:
        self.ask(lambda: self._consumer.seek(TopicPartition(*partition), offset))

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.on_assigned(tuple(each) for each in assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self.on_taken(tuple(each) for each in revoked)


def _config(wish: Wish) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bootstrap_servers": wish.bootstrap,
        "group_id": wish.group,
        "auto_offset_reset": "earliest",
        "partition_assignment_strategy": [ASSIGNORS[wish.strategy]],
        "reconnect_backoff_max_ms": 500,
    }
    if wish.session_timeout_ms is not None:
        config["session_timeout_ms"] = wish.session_timeout_ms
    if wish.heartbeat_interval_ms is not None:
        config["heartbeat_interval_ms"] = wish.heartbeat_interval_ms
    if wish.instance_id is not None:
        config["group_instance_id"] = wish.instance_id
    if wish.metadata_age_ms is not None:
        config["metadata_max_age_ms"] = wish.metadata_age_ms
    return config
