"""Kafka's own command line tools and small Java programs of ours, run against the broker under test.

Decides how they are run and that they must succeed; what they print is for the tests to judge.
"""

import subprocess
import time
from pathlib import Path

from tests import kafka_peer

JAVA_PROGRAMS = Path(__file__).with_name("java")
TOOL_TIMEOUT_S = 120.0


class KafkaTools:
    """The tools of Kafka 4.3.1, all pointed at one broker."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.bootstrap = bootstrap
        self._directory = directory

    def run(self, main_class: str, *arguments: str, stdin: str = "") -> str:
        """Runs a class with --bootstrap-server; what it printed. AssertionError if it failed."""
        command = [*kafka_peer.java_command(), main_class, "--bootstrap-server", self.bootstrap, *arguments]
        return _successful_output(command, stdin)

    def run_refused(self, main_class: str, *arguments: str) -> str:
        """Runs a class that the broker is to refuse: what it printed, whatever its exit code."""
        command = [*kafka_peer.java_command(), main_class, "--bootstrap-server", self.bootstrap, *arguments]
        finished = _finished(command, "")
        return finished.stdout + finished.stderr

    def run_program(self, name: str, *arguments: str) -> str:
        """Runs a program of the folder java/, from its source; what it printed."""
        program = str(JAVA_PROGRAMS / f"{name}.java")
        return _successful_output([*kafka_peer.java_command(), program, self.bootstrap, *arguments], "")

    def output_until(self, expected: str, main_class: str, *arguments: str) -> str:
        """Runs a class that never ends by itself until it has printed `expected`; what it printed so far."""
        command = [*kafka_peer.java_command(), main_class, *arguments]
        deadline = time.monotonic() + TOOL_TIMEOUT_S
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert process.stdout is not None
            printed = ""
            try:
                for line in process.stdout:
                    printed += line
                    if expected in line:
                        return printed
                    assert time.monotonic() < deadline, f"{expected!r} was not printed:\n{printed}"
            finally:
                process.kill()
        raise AssertionError(f"{main_class} ended without printing {expected!r}:\n{printed}")

    def text_file(self, name: str, text: str) -> str:
        """A file for a tool that wants one, by its path."""
        path = self._directory / name
        path.write_text(text)
        return str(path)


def _finished(command: list[str], stdin: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S)


def _successful_output(command: list[str], stdin: str) -> str:
    finished = _finished(command, stdin)
    assert finished.returncode == 0, f"exit code {finished.returncode}:\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


class ToolHost:
    """One JVM that runs tools one after the other: starting Java takes longer than most of them do."""

    def __init__(self) -> None:
        command = [*kafka_peer.java_command(), str(JAVA_PROGRAMS / "ToolHost.java")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, main_class: str, *arguments: str) -> tuple[int, str]:
        """The tool's exit code, and what it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join((main_class, *arguments)).encode() + b"\n")
        self._process.stdin.flush()
        code, size = map(int, self._process.stdout.readline().split())
        return code, self._process.stdout.read(size).decode()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
