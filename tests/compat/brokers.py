"""The broker under test as a process of its own: kohort, or Apache Kafka to prove the tests against the real thing.

Decides how each is started on a port and a directory, and when it is ready. What is done to it then is for the tests.
"""

import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import kafka_peer

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


class BrokerProcess:
    """One broker on one port and one directory, which keeps both over any number of kills and starts."""

    def __init__(self, command: Sequence[str], port: int, log_file: Path) -> None:
        self.port = port
        self.bootstrap = f"127.0.0.1:{port}"
        self.log_file = log_file
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the broker was not started"
        return self._process

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def launch(self) -> None:
        """Starts the process without waiting for anything."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KOHORT_")}
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )

    def start(self) -> None:
        """Starts the process and waits until it is that very process which listens on the port."""
        self.launch()
        deadline = time.monotonic() + START_TIMEOUT_S
        while not _listens_on(self.process.pid, self.port):
            if self.process.poll() is not None:
                raise AssertionError(f"the broker ended with {self.process.returncode}:\n{self.log_text()[-4000:]}")
            assert time.monotonic() < deadline, f"the broker does not listen:\n{self.log_text()[-4000:]}"
            time.sleep(0.02)

    def kill(self) -> None:
        """kill -9: nothing of the process gets to run any more."""
        self.process.kill()
        self.process.wait()

    def stop(self, with_signal: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to stop and waits; the exit code."""
        self.process.send_signal(with_signal)
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the broker did not stop on {with_signal.name}:\n{self.log_text()[-4000:]}") from None

    def discard(self) -> None:
        """The end of a test: whatever state the process is in, it is gone afterwards."""
        if self.is_running:
            self.kill()

    def log_text(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""


def advertised_apis(broker: BrokerProcess) -> set[int]:
    """The keys of the APIs that the broker says it has: ApiVersions, version 0."""
    with socket.create_connection(("127.0.0.1", broker.port), 20) as connection, connection.makefile("rb") as answer:
        connection.sendall(struct.pack(">ihhih", 10, 18, 0, 7, -1))
        size, _, error_code, count = struct.unpack(">iihi", answer.read(14))
        assert error_code == 0
        entries = answer.read(size - 10)
    assert len(entries) == 6 * count
    return {key for key, _, _ in struct.iter_unpack(">hhh", entries)}


def kohort_broker(directory: Path, settings: Mapping[str, str]) -> BrokerProcess:
    port = _free_port(1)
    command = [str(Path(sys.executable).with_name("kohort")), "serve", "--port", str(port)]
    command += ["--data-dir", str(directory / "data")]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    return BrokerProcess(command, port, directory / "broker.log")


def kafka_broker(directory: Path, settings: Mapping[str, str]) -> BrokerProcess:
    """Kafka as shared/peer/kafka sets it up, but kept over a kill: that script always starts afresh."""
    port = _free_port(2)
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{port + 1}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(directory / "data"),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        **settings,
    }
    properties_file = directory / "server.properties"
    properties_file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    if not (directory / "data" / "meta.properties").exists():
        tool = [*kafka_peer.java_command(), "kafka.tools.StorageTool", "format"]
        identity = ["-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(properties_file)]
        subprocess.run([*tool, *identity], check=True, capture_output=True)
    command = [*kafka_peer.java_command(), "kafka.Kafka", str(properties_file)]
    return BrokerProcess([command[0], "-Xmx768M", *command[1:]], port, directory / "broker.log")


def _free_port(consecutive: int) -> int:
    """A port nobody has, nor the ones after it.

    From below the kernel's ephemeral range: a client that reconnects while the broker is down must not be given the
    broker's port as its own, and so talk to itself.
    """
    for port in random.Random(os.urandom(8)).sample(range(20_000, 32_000, 2), 100):
        sockets = [socket.socket() for _ in range(consecutive)]
        try:
            for index, listener in enumerate(sockets):
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(("127.0.0.1", port + index))
            return port
        except OSError:
            continue
        finally:
            for listener in sockets:
                listener.close()
    raise AssertionError("no free port found")


def _listens_on(pid: int, port: int) -> bool:
    """Whether this process itself has the port: another broker that answers there must not be taken for it."""
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == "0A" and int(columns[1].rpartition(":")[2], 16) == port:
                listening.add(f"socket:[{columns[9]}]")
    if not listening:
        return False
    try:
        return any(os.readlink(descriptor) in listening for descriptor in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False  # the process, or a descriptor of it, went away while we looked: ask again
