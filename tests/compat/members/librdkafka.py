"""A member of a group through librdkafka, which has both protocols."""

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.compat.members.member import Partition, PolledMember, Wish


class LibrdkafkaMember(PolledMember):
    def __init__(self, wish: Wish, **settings: object) -> None:
        """Setting names have "_" where librdkafka has "."."""
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}
        super().__init__(wish)

    @property
    def member_id(self) -> str:
        return str(self.ask(self._consumer.memberid))

    def open_client(self) -> None:
        wish = self.wish
        self._consumer = Consumer(_config(wish) | self._settings)
        topics = [f"^{wish.pattern}$"] if wish.pattern else list(wish.topics)
        self._consumer.subscribe(
            topics,
            on_assign=lambda _, partitions: self.on_assigned(_named(partitions)),
            on_revoke=self._on_revoke,
            on_lost=lambda _, partitions: self.on_taken(_named(partitions)),
        )

    def poll(self) -> Iterable[bytes]:
        for message in self._consumer.consume(500, timeout=0.05):
            error = message.error()
            if error is None:
                yield message.value() or b""
            else:
                self.errors.append(error)

    def close_client(self) -> None:
        self._consumer.close()

    def commit(self, partition: Partition, offset: int, metadata: str) -> None:
        wanted = TopicPartition(*partition, offset, metadata)
        self.ask(lambda: self._consumer.commit(offsets=[wanted], asynchronous=False))

    def committed(self, partition: Partition) -> int | None:
        (told,) = self.ask(lambda: self._consumer.committed([TopicPartition(*partition)], timeout=30))
        return told.offset if told.offset >= 0 else None

    def seek(self, partition: Partition, offset: int) -> None:
        self.ask(lambda: self._consumer.seek(TopicPartition(*partition, offset)))

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError._NO_OFFSET:
                self.errors.append(failure.args[0])
        self.on_taken(_named(partitions))


def _config(wish: Wish) -> dict[str, object]:
    config: dict[str, object] = {
        "bootstrap.servers": wish.bootstrap,
        "group.id": wish.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "reconnect.backoff.max.ms": 500,
    }
    if wish.is_classic:
        config |= {"group.protocol": "classic", "partition.assignment.strategy": wish.strategy}
        if wish.session_timeout_ms is not None:
            config["session.timeout.ms"] = wish.session_timeout_ms
        if wish.heartbeat_interval_ms is not None:
            config["heartbeat.interval.ms"] = wish.heartbeat_interval_ms
    else:
        config["group.protocol"] = "consumer"
    if wish.instance_id is not None:
        config["group.instance.id"] = wish.instance_id
    if wish.metadata_age_ms is not None:
        config["topic.metadata.refresh.interval.ms"] = wish.metadata_age_ms
    return config


def _named(partitions: Iterable[TopicPartition]) -> list[Partition]:
    return [(each.topic, each.partition) for each in partitions]
