"""A broker over a store in memory, on an event loop whose clock jumps to whatever is due: no test waits for time."""

import asyncio
import selectors
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kohort.broker.broker import Broker
from kohort.carrier.contract import Pending
from kohort.model.commands.catalog import CreateTopics, NewTopic
from kohort.model.commands.data import (
    Fetch,
    PartitionFetch,
    PartitionFetched,
    PartitionProduce,
    PartitionProduced,
    Produce,
    TopicFetch,
    TopicProduce,
)
from kohort.model.ids import DEFAULT_ORG, NO_TOPIC_ID, OrgId
from kohort.model.settings import BrokerSettings
from kohort.store.memory.store import MemoryStore
from kohort.wire.record_batch import Buffer
from kohort.wire.records import NewRecord, Record, decode_records, encode_batch

START_S = 1_000_000.0


class _JumpingSelector(selectors.SelectSelector):
    """Nobody ever sends anything here, so instead of waiting it moves the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = START_S

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("the loop waits for something that nothing will ever bring")
        if not ready and timeout is not None:
            self.now_s += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping_selector = _JumpingSelector()
        super().__init__(self._jumping_selector)

    def time(self) -> float:
        return self._jumping_selector.now_s


class Sent:
    """A command on its way, and its answer once it is there."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.pending: Pending | None = None

    @property
    def is_answered(self) -> bool:
        return bool(self.answers)

    @property
    def answer(self) -> Any:
        (answer,) = self.answers
        return answer


class BrokerInMemory:
    """One broker. `send` leaves a command on its way, `ask` turns the loop until the answer is there."""

    def __init__(self, store: MemoryStore | None = None, settings: BrokerSettings | None = None) -> None:
        self.loop = JumpingLoop()
        self.store = store or MemoryStore(self._soon)
        self.settings = settings or BrokerSettings()
        self._entropy = 0
        self.start()

    def start(self) -> None:
        self.broker = self.make_broker(self.store.open())
        self.loop.run_until_complete(self.broker.start())

    def make_broker(self, store_epoch: int) -> Broker:
        return Broker(
            store=self.store,
            store_epoch=store_epoch,
            settings=self.settings,
            broker_id=self.settings.node_id,
            advertised_host="127.0.0.1",
            advertised_port=9092,
            loop=self.loop,
            now_ms=self.now_ms,
            entropy=self._next_entropy,
        )

    def stop(self) -> None:
        self.loop.run_until_complete(self.broker.stop())
        self.store.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def now_ms(self) -> int:
        return int(self.loop.time() * 1000)

    def _soon(self, work: Any) -> None:
        self.loop.call_soon(work)

    def _next_entropy(self) -> bytes:
        self._entropy += 1
        return self._entropy.to_bytes(4, "big") * 8

    # Time

    def turn(self) -> None:
        """Lets the loop go round once."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def advance(self, milliseconds: int) -> None:
        self.loop.run_until_complete(asyncio.sleep(milliseconds / 1000))

    # Commands

    def send(self, command: object, org_id: OrgId = DEFAULT_ORG) -> Sent:
        sent = Sent()
        sent.pending = self.broker.handle(org_id, command, sent.answers.append)
        return sent

    def ask(self, command: object, org_id: OrgId = DEFAULT_ORG) -> Any:
        sent = self.send(command, org_id)
        for _ in range(1000):
            if sent.is_answered:
                return sent.answer
            self.turn()
        raise AssertionError(f"no answer came to {command}")

    def create(self, name: str, partitions: int = 1, org_id: OrgId = DEFAULT_ORG, **configs: str) -> UUID:
        """Makes a topic; the config names have "_" where Kafka has "."."""
        texts = tuple((key.replace("_", "."), value) for key, value in configs.items())
        (outcome,) = self.ask(CreateTopics((NewTopic(name, partitions, configs=texts),)), org_id).topics
        assert outcome.error_code == 0, outcome.error_message
        return UUID(str(outcome.topic_id))

    def produce(
        self, topic: str, *values: str, partition: int = 0, acks: int = -1, org_id: OrgId = DEFAULT_ORG
    ) -> PartitionProduced:
        """Writes one batch of these values."""
        command = produce(topic, batch_of(values, self.now_ms()), partition=partition, acks=acks)
        return produced(self.ask(command, org_id))


def batch_of(values: Sequence[str], timestamp: int, **fields: Any) -> Buffer:
    """A batch as a client sends it: its records have these values, and the key "k"."""
    return encode_batch([NewRecord(b"k", value.encode(), timestamp) for value in values], **fields).data


def produce(topic: str, *batches: Buffer | None, partition: int = 0, acks: int = -1) -> Produce:
    """A batch for the partition, and one for each that follows it."""
    asked = tuple(PartitionProduce(partition + number, batch) for number, batch in enumerate(batches))
    return Produce((TopicProduce(topic, NO_TOPIC_ID, asked),), acks, 30_000)


def produced(answer: Any) -> PartitionProduced:
    """The outcome of a request for one partition."""
    ((outcome,),) = (topic.partition_responses for topic in answer.responses)
    assert isinstance(outcome, PartitionProduced)
    return outcome


def fetch(
    wanted: Mapping[tuple[str, int], int],
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
) -> Fetch:
    """Asks for partitions, each from an offset on."""
    topics = tuple(
        TopicFetch(topic, NO_TOPIC_ID, (PartitionFetch(index, offset, partition_max_bytes),))
        for (topic, index), offset in wanted.items()
    )
    return Fetch(topics, max_wait_ms, min_bytes, max_bytes, session_id=session[0], session_epoch=session[1])


def fetched(answer: Any) -> dict[tuple[str, int], PartitionFetched]:
    return {(topic.topic, each.partition_index): each for topic in answer.responses for each in topic.partitions}


def records_of(partition: PartitionFetched) -> list[Record]:
    return list(decode_records(b"".join(partition.records)))


def values_of(partition: PartitionFetched) -> list[str]:
    return [(record.value or b"").decode() for record in records_of(partition)]
