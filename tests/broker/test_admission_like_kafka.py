"""The codes that doubtful_batches.py says Kafka answers are those that Kafka answers."""

import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kohort.wire.messages import request_encoder, response_decoder
from tests.broker.doubtful_batches import Doubt, doubts
from tests.compat.brokers import kafka_broker

PRODUCE, CREATE_TOPICS = 0, 19
CREATE_TOPICS_VERSION = 2


class RawClient:
    """One connection, one request at a time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)

    def ask(self, api_key: int, version: int, body: object) -> Any:
        self._socket.sendall(b"".join(request_encoder(api_key, version)(1, "tester", body)))
        size = int.from_bytes(self._read(4), "big")
        _, answer = response_decoder(api_key, version)(memoryview(self._read(size)))
        return answer

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            assert piece, "Kafka closed the connection"
            data += piece
        return data

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    broker = kafka_broker(tmp_path_factory.mktemp("kafka"), {})
    broker.start()
    client = RawClient(broker.port)
    yield client
    client.close()
    broker.discard()


@pytest.mark.kafka
def test_kafka_answers_each_doubtful_batch_as_we_say_it_does(client: RawClient) -> None:
    cases = doubts(int(time.time() * 1000))
    for number, doubt in enumerate(cases):
        create(client, f"topic-{number}", doubt)
    wrong = {}
    for number, doubt in enumerate(cases):
        code = produce_until_known(client, f"topic-{number}", doubt)
        if code != doubt.kafka_code:
            wrong[doubt.name] = code
    assert not wrong


def create(client: RawClient, name: str, doubt: Doubt) -> None:
    configs = tuple(SimpleNamespace(name=key, value=value) for key, value in doubt.configs.items())
    topic = SimpleNamespace(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=configs)
    body = SimpleNamespace(topics=(topic,), timeout_ms=30_000, validate_only=False)
    (outcome,) = client.ask(CREATE_TOPICS, CREATE_TOPICS_VERSION, body).topics
    assert outcome.error_code == 0, outcome.error_message


def produce_until_known(client: RawClient, topic: str, doubt: Doubt) -> int:
    """Kafka's broker hears of a new topic a little after its controller has made it."""
    unknown = 3
    for _ in range(100):
        code = produce(client, topic, doubt)
        if code != unknown:
            return code
        time.sleep(0.1)
    return unknown


def produce(client: RawClient, topic: str, doubt: Doubt) -> int:
    partition = SimpleNamespace(index=0, records=doubt.batch)
    topic_data = SimpleNamespace(name=topic, partition_data=(partition,))
    body = SimpleNamespace(transactional_id=None, acks=-1, timeout_ms=10_000, topic_data=(topic_data,))
    ((outcome,),) = (each.partition_responses for each in client.ask(PRODUCE, doubt.version, body).responses)
    return int(outcome.error_code)
