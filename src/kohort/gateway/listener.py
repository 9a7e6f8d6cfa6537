"""Listens on a port and looks after its connections: how many there may be, and for how long one may stand still.

It decides who may connect, never what is said. Buffer sizes of sockets are the kernel's to choose: it grows them to
what a connection needs, which beats any number written here.

Next hop: connection.py.
"""

import asyncio
import logging
from collections import Counter
from typing import Final

from kohort.carrier.contract import Carrier
from kohort.gateway.call import GatewayInfo
from kohort.gateway.connection import Connection, SharedByConnections
from kohort.gateway.limits import Limits

_log: Final = logging.getLogger(__name__)

_BACKLOG: Final = 512
_CHECK_SECONDS: Final = 1.0
_CLOSING_SECONDS: Final = 5.0
"""How long stop() waits for answers that are owed."""


class Listener:
    def __init__(self, carrier: Carrier, gateway: GatewayInfo, limits: Limits, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._limits = limits
        self._shared = SharedByConnections(carrier, gateway, limits, loop)
        self._connections: dict[Connection, None] = {}
        self._connections_of: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self._check: asyncio.TimerHandle | None = None

    async def start(self, host: str, port: int) -> int:
        """Begins to listen; the port, which the system chose if 0 was asked for. OSError if it cannot be had."""
        self._server = await self._loop.create_server(
            lambda: Connection(self._shared, self), host, port, backlog=_BACKLOG, reuse_address=True
        )
        self._check = self._loop.call_later(_CHECK_SECONDS, self._check_connections)
        bound: int = self._server.sockets[0].getsockname()[1]
        _log.info("listening on %s:%d", host, bound)
        return bound

    async def stop(self) -> None:
        """Takes no more connections and no more requests; what was asked before is answered, if that is soon."""
        if self._check is not None:
            self._check.cancel()
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.drain()
        deadline = self._loop.time() + _CLOSING_SECONDS
        while self._connections and self._loop.time() < deadline:
            for connection in list(self._connections):
                if not connection.is_owed:
                    connection.close()
            await asyncio.sleep(0.01)
        for connection in list(self._connections):
            connection.abort()

    # What connections call

    def admit(self, connection: Connection) -> str | None:
        host = connection.client.host
        self._connections[connection] = None
        self._connections_of[host] += 1
        if len(self._connections) > self._limits.max_connections:
            return f"came when there were max.connections = {self._limits.max_connections} already"
        if self._connections_of[host] > self._limits.max_connections_per_ip:
            return f"has max.connections.per.ip = {self._limits.max_connections_per_ip} already"
        return None

    def on_lost(self, connection: Connection) -> None:
        host = connection.client.host
        del self._connections[connection]
        self._connections_of[host] -= 1
        if not self._connections_of[host]:
            del self._connections_of[host]

    def _check_connections(self) -> None:
        now = self._loop.time()
        for connection in list(self._connections):
            connection.check_progress(now)
        self._check = self._loop.call_later(_CHECK_SECONDS, self._check_connections)
