"""One request and its one answer: what a handler sees as its Call, and what a connection sees as a place in its queue.

It carries commands, turns refusals into the API's own answer, and encodes. An exception that nobody expected is told to
the log with its traceback and to the client as UNKNOWN_SERVER_ERROR; the connection lives.

Next hop: apis/<api_name>.py with the request, carrier/contract.py with the command, connection.py with the answer.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

from kohort.carrier.contract import Answer, Carrier, Pending
from kohort.gateway.call import Client, GatewayInfo, Message, Request
from kohort.gateway.routes import Route
from kohort.model.errors import ErrorCode, ProtocolError, Refused
from kohort.model.ids import OrgId
from kohort.wire.record_batch import Buffer

_log: Final = logging.getLogger(__name__)


class AnsweredTo(Protocol):
    """The connection, as an exchange sees it."""

    client: Client
    gateway: GatewayInfo
    carrier: Carrier
    org_id: OrgId

    def on_answered(self) -> None:
        """An exchange has its answer; it may leave once those before it have theirs."""

    def cut_off(self, reason: str) -> None:
        """Closes the connection and logs why."""


class _PendingEach:
    """The answers to several commands of one request."""

    __slots__ = ("_pending", "answers", "missing")

    def __init__(self, count: int) -> None:
        self.answers: list[Answer] = [None] * count
        self.missing = count
        self._pending: list[Pending] = []

    def add(self, pending: Pending | None) -> None:
        if pending is not None:
            self._pending.append(pending)

    def forget(self) -> None:
        for pending in self._pending:
            pending.forget()

    def hurry(self) -> None:
        for pending in self._pending:
            pending.hurry()


class Exchange:
    __slots__ = (
        "_connection",
        "_correlation_id",
        "_on_answer",
        "_request",
        "answer_frame",
        "pending",
        "request_size",
        "route",
    )

    def __init__(
        self, connection: AnsweredTo, route: Route, correlation_id: int, request: Request, request_size: int
    ) -> None:
        self.route = route
        self.request_size = request_size
        self.answer_frame: list[Buffer] | None = None
        """The answer's bytes; empty when there is none to send; None as long as it is owed."""
        self.pending: Pending | None = None
        self._connection = connection
        self._correlation_id = correlation_id
        self._request = request

    @property
    def version(self) -> int:
        return self.route.version

    @property
    def client(self) -> Client:
        return self._connection.client

    @property
    def gateway(self) -> GatewayInfo:
        return self._connection.gateway

    def handle(self) -> None:
        """Lets the API handle the request. It may be answered before this returns."""
        try:
            self.route.api.handle(self._request, self)
        except ProtocolError as error:
            self._refuse(Refused(error.code, error.message))
        except Exception:
            self._refuse_unexpected()

    def send(self, command: object, answer: Callable[[Any], None]) -> None:
        self._on_answer = answer
        connection = self._connection
        self.pending = connection.carrier.send(connection.org_id, command, self._take)

    def send_each(self, commands: Sequence[object], answer: Callable[[tuple[Any, ...]], None]) -> None:
        self._on_answer = answer
        if not commands:
            self._take(())
            return
        connection = self._connection
        each = _PendingEach(len(commands))
        for place, command in enumerate(commands):
            each.add(connection.carrier.send(connection.org_id, command, partial(self._take_one, each, place)))
        if each.missing:
            self.pending = each

    def _take_one(self, each: _PendingEach, place: int, answer: Answer) -> None:
        each.answers[place] = answer
        each.missing -= 1
        if not each.missing:
            self._take(tuple(each.answers))

    def _take(self, answer: Answer) -> None:
        """What the broker answered."""
        if self.answer_frame is not None:
            return
        if isinstance(answer, Refused):
            self._refuse(answer)
            return
        on_answer = self._on_answer
        # Both lead back here: a cycle would keep request and answer until Python looks for cycles.
        del self._on_answer
        self.pending = None
        try:
            on_answer(answer)
        except ProtocolError as error:
            self._refuse(Refused(error.code, error.message))
        except Exception:
            self._refuse_unexpected()

    def answer(self, message: Message) -> None:
        self.answer_frame = self.route.encode(self._correlation_id, message)
        self._connection.on_answered()

    def answer_nothing(self) -> None:
        self.answer_frame = []
        self._connection.on_answered()

    def disconnect(self, reason: str) -> None:
        self.answer_frame = []
        self._connection.cut_off(reason)

    def hurry(self) -> None:
        """Another request is behind this one. It may be answered before this returns."""
        if self.pending is not None and self.answer_frame is None:
            self.pending.hurry()

    def forget(self) -> None:
        """The client is gone: nothing is owed to it any more, and an answer that comes is dropped."""
        self.answer_frame = []
        pending, self.pending = self.pending, None
        if pending is not None:
            pending.forget()

    def _refuse_unexpected(self) -> None:
        _log.exception("%s: a request of %s failed", self._connection.client, self._named())
        if self.answer_frame is None:
            self._refuse(Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker's log says what went wrong."))

    def _refuse(self, refused: Refused) -> None:
        try:
            message = self.route.api.refuse(self._request, refused, self)
            if message is not None:
                self.answer(message)
                return
            reason = refused.error_message or refused.error_code.name
        except Exception:
            _log.exception("%s: a request of %s could not even be refused", self._connection.client, self._named())
            reason = "a failure that has no answer"
        self.disconnect(f"{self._named()} ended with {reason}")

    def _named(self) -> str:
        return f"{self.route.api.name} version {self.route.version}"
