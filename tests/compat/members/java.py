"""Members of groups through Kafka's own Java consumer, which has both protocols; many in one JVM.

Decides what is said to java/ConsumerHost.java and what its events mean; words are separated by tabs.
"""

import os
import subprocess
import threading
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from tests import kafka_peer
from tests.compat.kafka_tools import JAVA_PROGRAMS
from tests.compat.members.member import ANSWER_S, Member, Partition, Wish

ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class JavaConsumers:
    """A JVM that hosts consumers. Killing it kills all of them, without a word to the broker."""

    def __init__(self, log_file: Path) -> None:
        self._members: dict[str, JavaMember] = {}
        self._names = (f"member-{number}" for number in count(1))
        command = [*kafka_peer.java_command(), str(JAVA_PROGRAMS / "ConsumerHost.java")]
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1
            )
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, wish: Wish) -> "JavaMember":
        member = JavaMember(self, next(self._names), wish)
        self._members[member.name] = member
        topics = f"^{wish.pattern}$" if wish.pattern else ",".join(wish.topics)
        self.say(member.name, "start", topics, *(f"{name}={value}" for name, value in _config(wish).items()))
        return member

    def say(self, *words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()

    @property
    def cpu_s(self) -> float:
        """What the JVM has taken of all processors so far."""
        after_name = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            name, event, *words = line.rstrip("\n").split("\t")
            self._members[name].on_event(event, words)


class JavaMember(Member):
    def __init__(self, host: JavaConsumers, name: str, wish: Wish) -> None:
        super().__init__(wish)
        self.name = name
        self._host = host
        self._answers: SimpleQueue[str] = SimpleQueue()
        self._is_asked_to_close = False
        self._closed = threading.Event()

    def close(self) -> None:
        if not self._is_asked_to_close:
            self._is_asked_to_close = True
            self._host.say(self.name, "close")
        assert self._closed.wait(ANSWER_S), "the consumer did not close"

    def commit(self, partition: Partition, offset: int, metadata: str) -> None:
        self._ask("commit", *map(str, partition), str(offset), metadata)

    def committed(self, partition: Partition) -> int | None:
        answer = self._ask("committed", *map(str, partition))
        return int(answer) if answer else None

    def seek(self, partition: Partition, offset: int) -> None:
        self._ask("seek", *map(str, partition), str(offset))

    def on_event(self, event: str, words: list[str]) -> None:
        match event:
            case "values":
                self.values.extend(each.encode() for each in words)
            case "assigned":
                self.on_assigned(map(_partition, words))
            case "taken":
                self.on_taken(map(_partition, words))
            case "answer":
                self._answers.put(words[0])
            case "closed":
                self.closing_took_s = float(words[0]) / 1000
                self._closed.set()
            case _:
                self.errors.append((event, *words))

    def _ask(self, *words: str) -> str:
        self._host.say(self.name, *words)
        return self._answers.get(timeout=ANSWER_S)


def _partition(word: str) -> Partition:
    topic, _, number = word.rpartition(":")
    return topic, int(number)


def _config(wish: Wish) -> dict[str, object]:
    config: dict[str, object] = {
        "bootstrap.servers": wish.bootstrap,
        "group.id": wish.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "reconnect.backoff.max.ms": 500,
        # Its default (KIP-899) takes a broker that is away for a cluster without topics, and asks for a rebalance.
        "metadata.recovery.strategy": "none",
    }
    if wish.is_classic:
        config |= {"group.protocol": "classic", "partition.assignment.strategy": ASSIGNORS[wish.strategy]}
        if wish.session_timeout_ms is not None:
            config["session.timeout.ms"] = wish.session_timeout_ms
        if wish.heartbeat_interval_ms is not None:
            config["heartbeat.interval.ms"] = wish.heartbeat_interval_ms
    else:
        config["group.protocol"] = "consumer"
    if wish.instance_id is not None:
        config["group.instance.id"] = wish.instance_id
    if wish.metadata_age_ms is not None:
        config["metadata.max.age.ms"] = wish.metadata_age_ms
    return config
