"""A member of a group through aiokafka, which has the classic protocol only."""

import asyncio
from collections.abc import Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaConnectionError

from tests.compat.members.member import Partition, PolledMember, Wish

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


class AiokafkaMember(PolledMember, ConsumerRebalanceListener):
    """It commits by itself, as its default is: before partitions are taken away, and when it is closed."""

    def __init__(self, wish: Wish) -> None:
        self._loop = asyncio.new_event_loop()
        super().__init__(wish)

    def open_client(self) -> None:
        self._loop.run_until_complete(self._start())

    async def _start(self) -> None:
        wish = self.wish
        self._consumer = AIOKafkaConsumer(**_config(wish))
        if wish.pattern:
            self._consumer.subscribe(pattern=f"^{wish.pattern}$", listener=self)
        else:
            self._consumer.subscribe(wish.topics, listener=self)
        while True:
            try:
                return await self._consumer.start()
            except KafkaConnectionError:  # the broker may be away just now
                await asyncio.sleep(0.2)

    def poll(self) -> Iterable[bytes]:
        polled = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=50))
        return [record.value for records in polled.values() for record in records]

    def close_client(self) -> None:
        self._loop.run_until_complete(self._consumer.stop())
        self._loop.close()

    def commit(self, partition: Partition, offset: int, metadata: str) -> None:
        offsets = {TopicPartition(*partition): (offset, metadata)}
        self.ask(lambda: self._loop.run_until_complete(self._consumer.commit(offsets)))

    def committed(self, partition: Partition) -> int | None:
        return self.ask(lambda: self._loop.run_until_complete(self._consumer.committed(TopicPartition(*partition))))

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
        "partition_assignment_strategy": (ASSIGNORS[wish.strategy],),
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
