"""A disk that fills up: producers are told, nothing acknowledged is harmed, and with space it goes on by itself.

kohort only: Kafka shuts down when a log directory fails. On a file system of its own, which takes root to make.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.compat.conftest import StartBroker
from tests.compat.librdkafka import make_producer, produce_all, read_partition

DISK_BYTES = 768 << 20
VALUE = bytes(range(256)) * 256

pytestmark = pytest.mark.slow


@pytest.fixture
def small_disk(target: str, tmp_path: Path) -> Iterator[Path]:
    """A directory on an ext4 of its own."""
    if target == "kafka":
        pytest.skip("Kafka stops when its disk is full")
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    image, mount_point = tmp_path / "disk.image", tmp_path / "disk"
    mount_point.mkdir()
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    for command in (["mkfs.ext4", "-q", "-F", str(image)], ["mount", "-o", "loop", str(image), str(mount_point)]):
        finished = subprocess.run(command, capture_output=True, text=True)
        if finished.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {finished.stderr.strip()}")
    yield mount_point
    subprocess.run(["umount", "--lazy", str(mount_point)], check=True)


def test_a_full_disk_refuses_producers_and_takes_them_again_when_there_is_space(
    small_disk: Path, start_broker: StartBroker
) -> None:
    broker = start_broker(directory=small_disk)
    acknowledged = _offsets(produce_all(make_producer(broker.bootstrap), "records", [VALUE] * 50))
    filler = small_disk / "filler"
    _fill(filler)

    more, errors = _produce_until_refused(make_producer(broker.bootstrap, message_timeout_ms=4000), "records")
    acknowledged += more

    assert errors
    assert broker.is_running, broker.log_text()[-4000:]
    assert set(acknowledged) <= {each.offset() for each in read_partition(broker.bootstrap, "records")}
    filler.unlink()
    acknowledged += _offsets(produce_all(make_producer(broker.bootstrap), "records", [VALUE] * 50))
    broker.kill()
    broker.start()
    kept = read_partition(broker.bootstrap, "records")
    assert {each.value() for each in kept} == {VALUE}
    assert set(acknowledged) <= {each.offset() for each in kept}
    assert "Traceback" not in broker.log_text()


def _produce_until_refused(producer: Producer, topic: str) -> tuple[list[int], list[KafkaError]]:
    """Produces until the broker refuses a record: the offsets acknowledged until then, and the refusals."""
    acknowledged: list[int] = []
    errors: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is None:
            acknowledged.append(message.offset())
        else:
            errors.append(error)

    for _ in range(4 * DISK_BYTES // len(VALUE)):
        try:
            producer.produce(topic, VALUE, on_delivery=on_delivery)
        except (BufferError, KafkaException):
            producer.poll(0.1)
        producer.poll(0)
        if errors:
            break
    producer.flush(30)
    return acknowledged, errors


def _offsets(messages: list[Message]) -> list[int]:
    return [message.offset() for message in messages]


def _fill(path: Path) -> None:
    """Takes all the space there is, but for some tens of KB."""
    with path.open("wb") as file:
        for size in (1 << 20, 1 << 14):
            try:
                while True:
                    file.write(bytes(size))
                    file.flush()
            except OSError:
                continue
