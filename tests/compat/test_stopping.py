"""How a broker stops, and who may start on its data: clients in the middle of something are no reason to hang."""

import signal
import socket
import time
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import TARGETS, StartBroker
from tests.compat.librdkafka import make_consumer, make_producer, produce_all, read_partition


@pytest.mark.parametrize("asked_by", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_broker_keeps_its_records_and_frees_its_port(
    target: str, start_broker: StartBroker, asked_by: signal.Signals
) -> None:
    broker = start_broker()
    values = [b"%d" % number for number in range(1000)]
    produce_all(make_producer(broker.bootstrap), "kept", values)

    exit_code = broker.stop(asked_by)

    killed_by_signal = 128 + asked_by  # how a JVM reports a clean shutdown by a signal
    assert exit_code == (killed_by_signal if target == "kafka" else 0), broker.log_text()[-2000:]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", broker.port), 5)
    broker.start()
    assert [each.value() for each in read_partition(broker.bootstrap, "kept")] == values


def test_a_waiting_fetch_does_not_keep_a_broker_from_stopping(start_broker: StartBroker) -> None:
    broker = start_broker()
    produce_all(make_producer(broker.bootstrap), "quiet", [b"one"])
    consumer = make_consumer(broker.bootstrap, fetch_wait_max_ms=60_000, enable_partition_eof=False)
    consumer.assign([TopicPartition("quiet", 0, 1)])
    assert consumer.poll(2) is None  # by now the fetch waits at the broker

    begun = time.monotonic()
    broker.stop()
    elapsed = time.monotonic() - begun
    consumer.close()

    assert elapsed < 15


def test_a_second_broker_on_the_same_data_is_refused(target: str, start_broker: StartBroker, tmp_path: Path) -> None:
    if target == "kafka":
        pytest.skip(
            "Kafka 4.3.1 refuses the second broker too, but only after that has cut the first one's metadata log"
        )
    first = start_broker()
    produce_all(make_producer(first.bootstrap), "mine", [b"one"])
    second: BrokerProcess = TARGETS[target](tmp_path, {})
    try:
        second.log_file = tmp_path / "second.log"
        second.launch()
        exit_code = second.process.wait(60)
    finally:
        second.discard()

    assert exit_code != 0
    assert str(tmp_path / "data") in second.log_text()
    assert "Traceback" not in second.log_text()
    produce_all(make_producer(first.bootstrap), "mine", [b"two"])
    assert [each.value() for each in read_partition(first.bootstrap, "mine")] == [b"one", b"two"]
