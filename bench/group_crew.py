"""The processes that hold the consumers of a group: starts them, gives them orders, and reads what they tell.

A hundred consumers of librdkafka are threads in a few processes, those of Java threads in one. Members are numbered
over all processes, so that the lines of all can be read as one story. What the lines mean: group_member.py.
"""

import itertools
import selectors
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bench import brokers
from bench.connection import HOST, LoadError
from bench.group_ownership import Event, What

_JAVA_SOURCE: Final = Path(__file__).resolve().parent / "java" / "GroupMembers.java"
_READ_SIZE: Final = 1 << 16
_GONE_WITHIN_S: Final = 10.0


class Client(Enum):
    """Whose consumers they are."""

    LIBRDKAFKA = "librdkafka"
    JAVA = "Java"


@dataclass(frozen=True, slots=True)
class Kind:
    """A consumer as a user would configure it: all else is the client's default."""

    client: Client
    name: str
    settings: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.client.value} {self.name}"


class Crew:
    """Some processes and all the members in them."""

    def __init__(self, clients: Sequence[Client], folder: Path) -> None:
        """A process for each of these, in this order."""
        folder.mkdir(parents=True, exist_ok=True)
        self._clients = clients
        self._log = (folder / "members.log").open("ab")
        self._numbers = itertools.count()
        self._selector = selectors.DefaultSelector()
        self._process_of: dict[int, subprocess.Popen[bytes]] = {}
        self._unread: dict[int, bytes] = {}
        commands = {client: _command(client, folder) for client in dict.fromkeys(clients)}
        self._processes = [self._start(commands[client]) for client in clients]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.wait(_GONE_WITHIN_S)
        self._selector.close()
        self._log.close()

    def join(self, port: int, group: str, topic: str, kind: Kind, process: int | None = None) -> int:
        """A new member in this process, or in those of its client in turn; its number."""
        member = next(self._numbers)
        own = [index for index, client in enumerate(self._clients) if client is kind.client]
        chosen = self._processes[own[member % len(own)] if process is None else process]
        self._process_of[member] = chosen
        settings = {"bootstrap.servers": f"{HOST}:{port}", "group.id": group, **kind.settings}
        pairs = " ".join(f"{name}={value}" for name, value in settings.items())
        self._order(chosen, f"join {member} {topic} {pairs}")
        return member

    def leave(self, member: int) -> None:
        self._order(self._process_of[member], f"leave {member}")

    def ask_gaps(self, from_ns: int, until_ns: int) -> None:
        """Each member that has not left will tell its own."""
        for process in self._processes:
            self._order(process, f"gaps {from_ns} {until_ns}")

    def kill(self, member: int) -> None:
        """SIGKILL for its process, and all that are in it."""
        process = self._process_of[member]
        assert process.stdout is not None
        self._selector.unregister(process.stdout)
        process.kill()
        process.wait(_GONE_WITHIN_S)

    def events(self, timeout_s: float) -> list[Event]:
        """What was told since, in the order of each process; waits this long for the first of it."""
        events: list[Event] = []
        for key, _ in self._selector.select(timeout_s):
            data = key.fileobj.read1(_READ_SIZE)  # type: ignore[union-attr]
            if not data:
                raise LoadError(f"a process of the group's members ended:\n{self._log_tail()}")
            *lines, self._unread[key.fd] = (self._unread.get(key.fd, b"") + data).split(b"\n")
            events += [event_of(line.decode()) for line in lines]
        for event in events:
            if event.what is What.FAILED:
                raise LoadError(f"member {event.member} failed: {event.detail}")
        return events

    def _log_tail(self) -> str:
        return "\n".join(Path(self._log.name).read_text(errors="replace").splitlines()[-20:])

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)
        assert process.stdout is not None
        self._selector.register(process.stdout, selectors.EVENT_READ)
        return process

    def _order(self, process: subprocess.Popen[bytes], order: str) -> None:
        assert process.stdin is not None
        process.stdin.write(order.encode() + b"\n")
        process.stdin.flush()


def event_of(line: str) -> Event:
    moment_ns, member, what, *rest = line.split(" ", 3)
    detail = rest[0] if rest else ""
    told = What(what)
    owned = told in (What.ASSIGNED, What.REVOKED, What.LOST) and detail
    partitions = tuple(int(partition) for partition in detail.split(",")) if owned else ()
    return Event(int(moment_ns), int(member), told, partitions, detail)


def _command(client: Client, folder: Path) -> list[str]:
    match client:
        case Client.LIBRDKAFKA:
            return [sys.executable, "-m", "bench.group_member"]
        case Client.JAVA:
            libraries = brokers.kafka_libraries()
            subprocess.run(["javac", "-cp", libraries, "-d", str(folder), str(_JAVA_SOURCE)], check=True)
            # As the script that starts Kafka has it: warnings, to stderr.
            logging = f"-Dlog4j2.configurationFile={Path(libraries).parent / 'log4j2.properties'}"
            return ["java", "-Xmx1g", logging, "-cp", f"{folder}:{libraries}", "GroupMembers"]
