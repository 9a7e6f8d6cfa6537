"""What an API's handler is given, and how an API describes itself.

A handler translates: a request of one Kafka version into a command for the carrier, and the broker's answer into a
message that exchange.py encodes with the same version. It decides nothing about topics, logs or groups.

Next hop: carrier/contract.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kohort.model.commands.groups import NO_ORIGIN, Origin
from kohort.model.errors import Refused

Request = Any
"""A request as kio decoded it: a class for each version, with Kafka's field names in snake_case. Fields that a version
does not have are not there; times are timedelta (wire.messages.milliseconds turns them into a number). Or what the
API's own decoder made of it."""

Message = object
"""An answer: any value with kio's attribute names (times as integers, with _ms at the end of the name). It may have
more attributes than a version writes, so one value serves every version of an API."""


@dataclass(slots=True)
class Client:
    """Who is at the other end of a connection: said by ApiVersions and by each request's header."""

    host: str
    port: int
    client_id: str = ""
    software_name: str = ""
    software_version: str = ""
    connection_id: int = 0
    """Different for every connection that there ever was to this gateway."""
    origin: Origin = NO_ORIGIN
    """What coordinators were last told of this client, and NO_ORIGIN as long as none was."""

    def as_origin(self) -> Origin:
        """What coordinators are told of this client: the same value as long as nothing of it changed."""
        origin = self.origin
        if origin is NO_ORIGIN or origin.client_id != self.client_id or origin.software_name != self.software_name:
            # The host as java.net.InetAddress writes it, which is how Kafka tells it to whoever describes a group.
            origin = Origin(
                self.client_id, f"/{self.host}", self.software_name, self.connection_id, self.software_version
            )
            self.origin = origin
        return origin

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" + (f" (client id {self.client_id[:80]!r})" if self.client_id else "")


@dataclass(frozen=True, slots=True)
class GatewayInfo:
    """What the gateway itself answers with: where clients reach it."""

    broker_id: int
    advertised_host: str
    advertised_port: int


class Call(Protocol):
    """One request, from its arrival to its answer."""

    @property
    def version(self) -> int: ...

    @property
    def client(self) -> Client: ...

    @property
    def gateway(self) -> GatewayInfo: ...

    def send(self, command: object, answer: Callable[[Any], None]) -> None:
        """Carries the command to the broker, once; answer gets what comes back, unless it is Refused.

        A Refused answer, and a ProtocolError raised by the handler, become the API's error message (Api.refuse).
        """

    def send_each(self, commands: Sequence[object], answer: Callable[[tuple[Any, ...]], None]) -> None:
        """Carries several commands to the broker; answer gets what came back for each, Refused among it, in order."""

    def answer(self, message: Message) -> None:
        """The request's one answer."""

    def answer_nothing(self) -> None:
        """The request has no answer (Produce with acks=0)."""

    def disconnect(self, reason: str) -> None:
        """The request failed and has no answer to say so in: the client learns it by losing its connection."""


@dataclass(frozen=True, slots=True)
class Api:
    """An API as apis/__init__.py lists it: its key, the versions that work, and what to do."""

    key: int
    name: str
    min_version: int
    max_version: int
    handle: Callable[[Request, Call], None]
    refuse: Callable[[Request, Refused, Call], Message | None]
    """The answer that tells a refusal of the whole request in this API's own form; None when it has no such form, and
    the connection is closed."""
    pipelined: bool = False
    """Requests behind this one are handled before its answer is there; answers leave in order nevertheless. Kafka
    handles one request of a connection at a time; only where many are in flight by design is more gained than lost."""
    command: Callable[[Request, int, Origin], object] | None = None
    """What a request of a version stands for, where it comes again and again in the same bytes: that is remembered, and
    the handler gets it in place of the request."""
    decoder: Callable[[int], Callable[[memoryview, int], Request]] | None = None
    """By version, a reader of (frame, where the body begins) to be used instead of kio's."""
    answers_recur: bool = False
    """The broker gives the very same answer again when it has the same to say, so its bytes are remembered."""
    advertised_min_version: int | None = None
    """What ApiVersions says in place of min_version, where clients take a wrong turn otherwise."""
