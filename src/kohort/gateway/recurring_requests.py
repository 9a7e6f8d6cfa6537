"""A connection's requests that come again and again in the same bytes, as the heartbeats of its members: each is read,
and made a command, once.

Decides nothing. A command says who sent it, so each is kept with that, and made again when its client says that it is
another. Next hop: the API that the request is of, for one that is new.
"""

from struct import Struct
from typing import Final, NamedTuple

from kohort.gateway.call import Client
from kohort.gateway.routes import Route
from kohort.model.commands.groups import Origin

_API_AND_VERSION: Final = Struct(">i")
_BEHIND_CORRELATION_ID: Final = 8
_MOST_BYTES: Final = 256
_MOST_REQUESTS: Final = 32
"""Of a connection: few serve many members, and there may be many connections."""


class _Known(NamedTuple):
    api_and_version: int
    origin: Origin
    route: Route
    command: object


class RecurringRequests:
    __slots__ = ("_client", "_known")

    def __init__(self, client: Client) -> None:
        self._client: Final = client
        self._known: Final[dict[bytes, _Known]] = {}
        """By all that is behind the correlation id, the client's id included."""

    def find(self, frame: memoryview) -> tuple[Route, object] | None:
        """The route and the command of a request that came before."""
        if not self._known or len(frame) > _MOST_BYTES:
            return None
        known = self._known.get(bytes(frame[_BEHIND_CORRELATION_ID:]))
        if known is None:
            return None
        api_and_version, origin, route, command = known
        if api_and_version != _API_AND_VERSION.unpack_from(frame)[0] or origin is not self._client.as_origin():
            return None
        return route, command

    def remember(self, frame: memoryview, route: Route, command: object) -> None:
        if len(frame) > _MOST_BYTES:
            return
        if len(self._known) >= _MOST_REQUESTS:
            self._known.clear()
        (api_and_version,) = _API_AND_VERSION.unpack_from(frame)
        known = _Known(api_and_version, self._client.as_origin(), route, command)
        self._known[bytes(frame[_BEHIND_CORRELATION_ID:])] = known
