"""Starts, watches and stops the brokers that are compared: kohort as a user starts it, and Apache Kafka's own jars.

Four subjects: each broker with its default and with the other durability. All stay up while figures alternate between
them, so that Kafka's JIT stays warm. CPU and memory are read from /proc, all threads included.
"""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Final

from bench import connection, frames

REPOSITORY: Final = Path(__file__).resolve().parent.parent
KAFKA_SCRIPT: Final = Path(os.environ.get("KAFKA_PEER", REPOSITORY.parent / "shared" / "peer" / "kafka"))
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_START_TIMEOUT_S: Final = 90.0
_STOP_TIMEOUT_S: Final = 30.0
# Not about speed: a deleted topic's files go at once, so that the next round begins with the same disk and memory.
_KAFKA_SETTINGS: Final = ("log.segment.delete.delay.ms=0", "log.initial.task.delay.ms=0")
_KOHORT_SETTINGS: Final = ("log.segment.delete.delay.ms=0",)


class Subject(Enum):
    """Who is measured."""

    KOHORT = "kohort"
    KOHORT_OS = "kohort durability=os"
    KAFKA = "kafka"
    KAFKA_FSYNC = "kafka flush=1"

    @property
    def is_kafka(self) -> bool:
        return self in (Subject.KAFKA, Subject.KAFKA_FSYNC)


class BrokerError(Exception):
    """A broker did not start or died; the message ends with what it logged last."""


class Broker:
    """One running broker process."""

    def __init__(self, subject: Subject, port: int, directory: Path, command: Sequence[str], pid: int) -> None:
        self.subject = subject
        self.port = port
        self.directory = directory
        self.command = command
        self.pid = pid
        self._child: subprocess.Popen[bytes] | None = None

    def cpu_seconds(self) -> float:
        """User and system time of the process so far, all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def resident_mb(self) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / 1_000_000
        raise BrokerError(f"{self.subject.value} is not running")

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nothing is said."""
        os.kill(self.pid, signal.SIGKILL)
        self._wait_gone()

    def stop(self) -> None:
        if not self.is_alive():
            return
        os.kill(self.pid, signal.SIGTERM)
        try:
            self._wait_gone()
        except BrokerError:
            self.kill()

    def is_alive(self) -> bool:
        if self._child is not None:
            return self._child.poll() is None
        state = Path(f"/proc/{self.pid}/stat")
        return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"

    def execute(self) -> float:
        """Starts the same command again; seconds from exec to the first answer."""
        with (self.directory / "broker.log").open("ab") as log:
            began = time.perf_counter()
            self._child = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            self.pid = self._child.pid
            self._wait_answer()
            return time.perf_counter() - began

    def log_tail(self) -> str:
        lines: list[str] = []
        for path in sorted(self.directory.glob("*.log")):
            lines += path.read_text(errors="replace").splitlines()[-15:]
        return "\n".join(lines)

    def _wait_answer(self) -> None:
        frame = frames.api_versions_frame()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            if not self.is_alive():
                raise BrokerError(f"{self.subject.value} ended at its start:\n{self.log_tail()}")
            try:
                with connection.Connection(self.port, receive_size=1 << 16) as asking:
                    asking.send(frame)
                    asking.receive_answer()
                    return
            except (OSError, connection.LoadError):
                time.sleep(0.005)
        raise BrokerError(f"{self.subject.value} gave no answer in {_START_TIMEOUT_S:.0f} s:\n{self.log_tail()}")

    def _wait_gone(self) -> None:
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        while self.is_alive():
            if time.monotonic() > deadline:
                raise BrokerError(f"{self.subject.value} does not stop")
            time.sleep(0.01)


def start(subject: Subject, root: Path) -> Broker:
    """A fresh broker of this kind under this directory, ready to answer."""
    directory = root / subject.value.replace(" ", "-").replace("=", "-")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return _start_kafka(subject, directory) if subject.is_kafka else _start_kohort(subject, directory)


def kafka_is_here() -> bool:
    return KAFKA_SCRIPT.exists()


def kafka_libraries() -> str:
    """The class path of Kafka's jars."""
    found = subprocess.run([KAFKA_SCRIPT, "libs"], check=True, capture_output=True, text=True)
    return f"{found.stdout.strip()}/*"


def versions() -> dict[str, str]:
    commit = subprocess.run(
        ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return {"kohort": commit.stdout.strip() or "unknown", "kafka": "4.3.1" if kafka_is_here() else "absent"}


def _start_kohort(subject: Subject, directory: Path) -> Broker:
    port = _free_port()
    durability = "os" if subject is Subject.KOHORT_OS else "fsync"
    command = [str(Path(sys.executable).parent / "kohort"), "serve", "--port", str(port)]
    command += ["--data-dir", str(directory / "data"), "--durability", durability]
    for setting in _KOHORT_SETTINGS:
        command += ["--set", setting]
    broker = Broker(subject, port, directory, command, pid=0)
    broker.execute()
    return broker


def _start_kafka(subject: Subject, directory: Path) -> Broker:
    port = _free_port()
    command = [str(KAFKA_SCRIPT), "start", "--port", str(port), "--dir", str(directory)]
    command += ["--fsync"] if subject is Subject.KAFKA_FSYNC else []
    for setting in _KAFKA_SETTINGS:
        command += ["--set", setting]
    started = subprocess.run(command, capture_output=True, text=True, check=False)
    if started.returncode != 0:
        raise BrokerError(f"{shlex.join(command)} failed:\n{started.stderr}")
    pid = int(started.stdout.split()[-1])
    java_command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    return Broker(subject, port, directory, java_command, pid)


def _free_port() -> int:
    """A free port whose next is free too: Kafka takes the next for its controller."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind((connection.HOST, 0))
            port = int(first.getsockname()[1])
            try:
                second.bind((connection.HOST, port + 1))
            except OSError:
                continue
            return port
