"""Producing with and reading back through librdkafka, in the few ways that many tests need.

Consumers assign partitions themselves and never join a group: groups are not what these tests are about.
"""

import time
from collections.abc import Iterable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

READ_TIMEOUT_S = 60.0


def make_consumer(bootstrap: str, **settings: object) -> Consumer:
    """A consumer outside of any group; setting names have "_" where librdkafka has "."."""
    config: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "group.id": "none-is-joined",  # librdkafka insists on a name, even where only assign() is called
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "check.crcs": True,
    }
    return Consumer(config | {name.replace("_", "."): value for name, value in settings.items()})


def make_producer(bootstrap: str, **settings: object) -> Producer:
    """A producer that waits little; setting names have "_" where librdkafka has "."."""
    config: dict[str, object] = {"bootstrap.servers": bootstrap, "linger.ms": 5}
    return Producer(config | {name.replace("_", "."): value for name, value in settings.items()})


def produce_all(producer: Producer, topic: str, values: Iterable[bytes | None], **record: object) -> list[Message]:
    """Produces the values and waits for all: the delivered messages in the order of their acknowledgement."""
    delivered: list[Message] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        delivered.append(message)

    for value in values:
        producer.produce(topic, value, on_delivery=on_delivery, **record)
        producer.poll(0)
    assert producer.flush(60) == 0, "not everything was acknowledged within a minute"
    return delivered


def read_partition(bootstrap: str, topic: str, partition: int = 0, start: int = OFFSET_BEGINNING) -> list[Message]:
    """Every message of a partition from `start` to its end."""
    return read_to_end(make_consumer(bootstrap), [TopicPartition(topic, partition, start)])


def read_to_end(consumer: Consumer, partitions: list[TopicPartition]) -> list[Message]:
    """Assigns the partitions and reads each to its end; the consumer is closed afterwards."""
    messages: list[Message] = []
    consumer.assign(partitions)
    unfinished = {(each.topic, each.partition) for each in partitions}
    deadline = time.monotonic() + READ_TIMEOUT_S
    try:
        while unfinished:
            assert time.monotonic() < deadline, f"the end of {unfinished} was not reached; {len(messages)} read"
            for message in consumer.consume(1000, timeout=1):
                error = message.error()
                if error is None:
                    messages.append(message)
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    unfinished.discard((message.topic(), message.partition()))
    finally:
        consumer.close()
    return messages
