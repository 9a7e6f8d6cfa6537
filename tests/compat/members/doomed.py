"""Members that will be killed with -9, all at once: those of Python in one process, those of Java in a JVM.

Decides how they are started and seen to have committed. Next hops: process.py, java.py.
"""

import subprocess
import sys
from pathlib import Path

from tests.compat.group_members import Kind, wait_until_read
from tests.compat.members.java import JavaConsumers, JavaMember
from tests.compat.members.member import Wish

REPOSITORY = Path(__file__).parents[3]


class DoomedMembers:
    """Each reads the one partition of a topic; after `count` records it commits, once."""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-m", "tests.compat.members.process"]
        with (directory / "doomed-python.log").open("ab") as log:
            self._python = subprocess.Popen(
                command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1
            )
        self._java = JavaConsumers(directory / "doomed-java.log")
        self._groups_of_python: set[str] = set()
        self._members_of_java: list[tuple[JavaMember, Wish, int]] = []

    def start(self, kind: Kind, wish: Wish, count: int) -> None:
        if kind.client == "java":
            self._members_of_java.append((self._java.start(wish), wish, count))
            return
        assert self._python.stdin is not None
        session = "" if wish.session_timeout_ms is None else str(wish.session_timeout_ms)
        words = [*kind, wish.bootstrap, wish.group, wish.topics[0], str(count), session]
        self._python.stdin.write("\t".join(words) + "\n")
        self._groups_of_python.add(wish.group)

    def wait_until_committed(self) -> None:
        for member, wish, count in self._members_of_java:
            wait_until_read([member], count)
            member.commit((wish.topics[0], 0), count, "")
        assert self._python.stdout is not None
        while self._groups_of_python:
            self._groups_of_python.remove(self._python.stdout.readline().strip())

    def kill(self) -> None:
        self._python.kill()
        self._python.wait()
        self._java.kill()
