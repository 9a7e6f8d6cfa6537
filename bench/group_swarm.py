"""Drives the heartbeats of many members from one thread: each when it is due, all that are due together in one write.

One heartbeat of a member is under way at a time; the next is due an interval after it was sent, or at once when the
answer asks for it. A member has a connection of its own, as real clients do, or shares one with others: then answers
come in the order of the requests, so a broker that holds back heartbeats must not hold back these.
"""

import heapq
import math
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Final, Protocol

from bench.connection import LoadError
from bench.group_calls import open_connection
from bench.group_simulation import SimulatedMember

_RECEIVE_SIZE: Final = 1 << 16
_GONE_WITHIN_S: Final = 60.0


class Heart(Protocol):
    """What the driver needs of a member."""

    interval_s: float
    """Infinite when it has left and says no more."""

    def request(self) -> bytes: ...

    def answered(self, answer: bytes) -> bool: ...


class Line:
    """One connection, and whose answers are under way on it."""

    __slots__ = ("outgoing", "socket", "under_way", "unread")

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.under_way: deque[tuple[Heart, float]] = deque()
        self.unread = b""
        self.outgoing: list[bytes] = []

    def answers(self) -> list[bytes]:
        """Those that have come whole."""
        data = self.socket.recv(_RECEIVE_SIZE)
        if not data:
            raise LoadError("the broker closed the connection of a simulated member")
        data = self.unread + data if self.unread else data
        position, found = 0, []
        while len(data) - position >= 4:
            end = position + 4 + int.from_bytes(data[position : position + 4])
            if end > len(data):
                break
            found.append(data[position:end])
            position = end
        self.unread = data[position:]
        return found


class Swarm:
    """All members and their connections."""

    def __init__(self, port: int) -> None:
        self.heartbeats = 0
        """How many were answered."""
        self._port = port
        self._poll = select.epoll()
        self._lines: dict[int, Line] = {}
        self._line_of: dict[Heart, Line] = {}
        self._due: list[tuple[float, int, Heart]] = []
        self._scheduled = 0
        self._unflushed: list[Line] = []

    def connect(self, members: Iterable[Heart], members_each: int, software: str) -> None:
        """Opens connections for these members, so many of them on each, which say that they are this software."""
        line = None
        for index, member in enumerate(members):
            if line is None or index % members_each == 0:
                line = self.adopt(open_connection(self._port, software))
            self._line_of[member] = line

    def adopt(self, connected: socket.socket, *members: Heart) -> Line:
        """An open connection on which nothing is under way."""
        line = self._lines[connected.fileno()] = Line(connected)
        self._poll.register(connected.fileno(), select.EPOLLIN)
        for member in members:
            self._line_of[member] = line
        return line

    def join(self, members: Iterable[SimulatedMember]) -> None:
        """Each sends its first heartbeat."""
        for member in members:
            member.enter()
            self.beat(member)

    def leave(self, members: Iterable[SimulatedMember]) -> None:
        """Each sends its last."""
        for member in members:
            self.beat(member, member.leave_request())

    def wait_until_gone(self, members: Collection[SimulatedMember]) -> None:
        self.run(time.monotonic() + _GONE_WITHIN_S, lambda: all(member.is_gone for member in members))
        if not all(member.is_gone for member in members):
            raise LoadError(f"not all members could leave within {_GONE_WITHIN_S:.0f} s")

    def beat(self, member: Heart, frame: bytes | None = None) -> None:
        """Sends its heartbeat, or this frame in its place, when the loop runs next."""
        line = self._line_of[member]
        line.under_way.append((member, time.monotonic()))
        if not line.outgoing:
            self._unflushed.append(line)
        line.outgoing.append(frame or member.request())

    def beat_at(self, moment: float, member: Heart) -> None:
        """The heartbeat of a member of which none is under way is due at this moment."""
        self._scheduled += 1
        heapq.heappush(self._due, (moment, self._scheduled, member))

    def run(self, until: float, condition: Callable[[], bool] | None = None) -> None:
        """Until this moment, or until the condition holds, if that is earlier."""
        while (now := time.monotonic()) < until and not (condition and condition()):
            while self._due and self._due[0][0] <= now:
                member = heapq.heappop(self._due)[2]
                if math.isfinite(member.interval_s):
                    self.beat(member)
            self._flush()
            next_due = self._due[0][0] if self._due else until
            for descriptor, _ in self._poll.poll(max(0.0, min(next_due, until) - time.monotonic())):
                self._read(self._lines[descriptor])
            self._flush()

    def close(self) -> None:
        for line in self._lines.values():
            line.socket.close()
        self._poll.close()

    def _read(self, line: Line) -> None:
        now = time.monotonic()
        for answer in line.answers():
            member, sent_at = line.under_way.popleft()
            self.heartbeats += 1
            if member.answered(answer):
                self.beat(member)
            else:
                self.beat_at(max(now, sent_at + member.interval_s), member)

    def _flush(self) -> None:
        for line in self._unflushed:
            line.socket.sendall(b"".join(line.outgoing))
            line.outgoing.clear()
        self._unflushed.clear()
