"""An event loop that goes round when the test says so, and a transport that remembers what a connection did to it."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from kohort.gateway.connection import Connection


class CrankedLoop:
    """The part of an event loop that a connection uses."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._soon: deque[Callable[[], None]] = deque()

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def crank(self) -> None:
        """Runs all that was asked for, until nothing more is."""
        while self._soon:
            self._soon.popleft()()


class MemoryTransport(asyncio.Transport):
    """A socket's end in memory: the test is the client. It takes what is sent at once, unless it stopped reading."""

    def __init__(self, loop: CrankedLoop, host: str = "192.0.2.7", port: int = 50_000) -> None:
        super().__init__({"peername": (host, port)})
        self._loop = loop
        self._high_water = 1 << 16
        self._is_blocked = False
        self._is_reading = True
        self._to_deliver = bytearray()
        self.connection: Connection
        self.client_reads = True
        self.taken = bytearray()
        self.unsent = bytearray()
        self.writes = 0
        self.is_closed = False
        self.is_aborted = False

    def join(self, connection: Connection) -> None:
        self.connection = connection
        connection.connection_made(self)

    # What the client does

    def deliver(self, data: bytes, piece: int = 1 << 30) -> None:
        """Sends bytes to the connection, at most `piece` at a time, as far as it reads."""
        self._to_deliver += data
        self._pump(piece)

    def _pump(self, piece: int = 1 << 30) -> None:
        while self._to_deliver and self._is_reading and not self.is_closed:
            room = self.connection.get_buffer(-1)
            assert len(room) > 0
            size = min(len(room), len(self._to_deliver), piece)
            room[:size] = self._to_deliver[:size]
            del self._to_deliver[:size]
            self.connection.buffer_updated(size)

    @property
    def undelivered(self) -> int:
        return len(self._to_deliver)

    def is_reading(self) -> bool:
        return self._is_reading

    def read_some(self, size: int) -> None:
        """A client that did not read reads so many bytes."""
        self.taken += self.unsent[:size]
        del self.unsent[:size]
        if self._is_blocked and len(self.unsent) <= self._high_water // 4:
            self._is_blocked = False
            self.connection.resume_writing()

    def hang_up(self) -> None:
        if not self.is_closed:
            self.close()

    # What the connection does

    def get_write_buffer_size(self) -> int:
        return len(self.unsent)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is not None:
            self._high_water = high

    def write(self, data: Any) -> None:
        assert not self.is_closed, "wrote to a closed transport"
        self.writes += 1
        self._take(data)

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        assert not self.is_closed, "wrote to a closed transport"
        self.writes += 1
        for data in list_of_data:
            self._take(data)

    def _take(self, data: Any) -> None:
        if self.client_reads:
            self.taken += data
            return
        self.unsent += data
        if len(self.unsent) > self._high_water and not self._is_blocked:
            self._is_blocked = True
            self.connection.pause_writing()

    def pause_reading(self) -> None:
        assert self._is_reading
        self._is_reading = False

    def resume_reading(self) -> None:
        assert not self._is_reading
        self._is_reading = True
        self._loop.call_soon(self._pump)

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._loop.call_soon(lambda: self.connection.connection_lost(None))

    def abort(self) -> None:
        self.is_aborted = True
        self.close()
