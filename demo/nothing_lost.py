"""The demo: a broker, a real producer, a real consumer, and a kill -9 in the middle. Nothing is lost.

Starts `kohort serve` as a user would, produces numbers with librdkafka's idempotent producer while a consumer reads
them, kills the broker without warning half-way, starts it again on the same data, and compares what the consumer
read with what was acknowledged. Exits with 1 if a record is missing, doubled or out of order.
"""

import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

RECORDS = 50_000
TOPIC = "numbers"
GIVE_UP_S = 60.0


class Broker:
    """`kohort serve` on a port and a directory of its own, which outlive the process."""

    def __init__(self, directory: Path) -> None:
        self.port = _free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.data = directory / "data"
        self._log_file = directory / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "start() comes first"
        return self._process

    def start(self) -> float:
        """Starts the process; the milliseconds until it took a connection."""
        begun = time.monotonic()
        command = [str(Path(sys.executable).with_name("kohort")), "serve"]
        command += ["--port", str(self.port), "--data-dir", str(self.data)]
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return _milliseconds_since(begun)
            except ConnectionRefusedError:
                if self._process.poll() is not None or time.monotonic() - begun > GIVE_UP_S:
                    raise SystemExit(f"the broker did not start:\n{self._log_file.read_text()}") from None
                time.sleep(0.005)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> float:
        """Asks it to stop; the milliseconds it took."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(GIVE_UP_S) != 0:
            raise SystemExit(f"the broker did not stop cleanly:\n{self._log_file.read_text()}")
        return _milliseconds_since(begun)


class NumbersProducer:
    """Produces 0, 1, 2, … from a thread and keeps what the broker acknowledged: offset to number."""

    def __init__(self, address: str) -> None:
        self.acknowledged: dict[int, int] = {}
        self.errors: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "linger.ms": 1,
                "batch.num.messages": 100,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        self.thread = threading.Thread(target=self._produce, daemon=True)
        self.thread.start()

    def _produce(self) -> None:
        for number in range(RECORDS):
            while len(self._producer) > 2000:
                self._producer.poll(0.01)
            self._producer.produce(TOPIC, b"%d" % number, partition=0, on_delivery=self._on_delivery)
        self._producer.flush(GIVE_UP_S)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.acknowledged[message.offset()] = int(message.value())


class NumbersConsumer:
    """Reads the topic from its beginning, all the while, in a thread, and keeps each number in its order."""

    def __init__(self, address: str) -> None:
        self.numbers: list[int] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": "demo",  # librdkafka insists on a name; no group is joined
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(TOPIC, 0, 0)])
        self.thread = threading.Thread(target=self._consume, daemon=True)
        self.thread.start()

    def _consume(self) -> None:
        deadline = time.monotonic() + GIVE_UP_S
        while len(self.numbers) < RECORDS and time.monotonic() < deadline:
            for message in self._consumer.consume(1000, timeout=0.2):
                if message.error() is None:
                    self.numbers.append(int(message.value()))
        self._consumer.close()


def run(directory: Path) -> bool:
    """The whole story; whether nothing was lost."""
    broker = Broker(directory)
    _say("broker", f"started in {broker.start():.0f} ms on {broker.address}, its data in {broker.data}")
    try:
        producer = NumbersProducer(broker.address)
        consumer = NumbersConsumer(broker.address)
        _wait_until(lambda: len(producer.acknowledged) >= RECORDS // 2)
        broker.kill()
        _say("kill -9", f"pid {broker.process.pid} is gone; {len(producer.acknowledged):,} records were acknowledged")
        _say("broker", f"started again in {broker.start():.0f} ms on the same data")
        producer.thread.join(GIVE_UP_S)
        consumer.thread.join(GIVE_UP_S)
        _say("producer", f"{len(producer.acknowledged):,} of {RECORDS:,} records acknowledged (acks=all, idempotent)")
        _say("consumer", f"{len(consumer.numbers):,} records read, across the kill")
        _say("broker", f"stopped cleanly in {broker.stop():.0f} ms")
        return _judge(producer, consumer)
    finally:
        broker.kill()


def _judge(producer: NumbersProducer, consumer: NumbersConsumer) -> bool:
    everything = list(range(RECORDS))
    acknowledged = [number for _, number in sorted(producer.acknowledged.items())]
    missing = len(set(producer.acknowledged.values()) - set(consumer.numbers))
    repeated = len(consumer.numbers) - len(set(consumer.numbers))
    in_order = consumer.numbers == sorted(consumer.numbers)
    for error in producer.errors:
        _say("producer", f"failed: {error}")
    _say("verdict", f"{missing} lost, {repeated} twice, {'all in order' if in_order else 'OUT OF ORDER'}")
    return acknowledged == consumer.numbers == everything


def _free_port() -> int:
    """From below those that the kernel gives to clients, so that none gets the broker's own while that is down."""
    for port in range(29_092, 29_192):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SystemExit("no free port from 29092 to 29191")


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GIVE_UP_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("no progress for a minute")
        time.sleep(0.001)


def _milliseconds_since(begun: float) -> float:
    return (time.monotonic() - begun) * 1000


def _say(who: str, what: str) -> None:
    print(f"  {who:9} {what}", flush=True)


def main() -> int:
    print(f"kohort: {RECORDS:,} records through a broker that is killed half-way", flush=True)
    with tempfile.TemporaryDirectory(prefix="kohort-demo-") as directory:
        nothing_lost = run(Path(directory))
    print("nothing lost" if nothing_lost else "RECORDS WERE LOST, DOUBLED OR REORDERED", flush=True)
    return 0 if nothing_lost else 1


if __name__ == "__main__":
    sys.exit(main())
