"""One client's connection: bytes to requests, answers to bytes, and how much of either may pile up.

It has each frame handled where it lies, in a plain call, and sends the answers in the order of their requests, all that
are ready in one write. It decides when to stop reading (see _may_handle) and when a client is cut off; never what a
request means. A request whose API is not pipelined is handled alone: the next one waits in the inbox until its answer
is there, and makes it hurry.

    inbox        [====frame====][====frame====][==part of one
    exchanges    [answered][owed][answered]                     oldest first; only answered ones at the head may leave
    out          [bytes][bytes]                                 to be written when this turn ends

Next hop: exchange.py; and back from it, the socket.
"""

import asyncio
import logging
from collections import deque
from itertools import count
from typing import Final, Protocol, cast

from kohort.carrier.contract import Answer, Carrier
from kohort.gateway.budget import Budget
from kohort.gateway.call import Client, GatewayInfo, Request
from kohort.gateway.exchange import Exchange
from kohort.gateway.inbox import FRAME_SIZE, FRAME_SIZE_BYTES, Inbox
from kohort.gateway.limits import MAX_IN_FLIGHT, Limits
from kohort.gateway.mistaken_protocol import mistaken_protocol
from kohort.gateway.receive_buffers import ReceiveBuffers
from kohort.gateway.recurring_requests import RecurringRequests
from kohort.gateway.routes import Route, find_route
from kohort.model.commands.groups import NO_ORIGIN, ConnectionLost
from kohort.model.ids import DEFAULT_ORG, OrgId
from kohort.wire.messages import DecodeError, correlation_id_of, decode_request_header
from kohort.wire.record_batch import Buffer

_log: Final = logging.getLogger(__name__)

_MIN_FRAME: Final = 8
"""An API key, its version and a correlation id: the least that every request begins with."""
_JOINED: Final = 2048
"""Answers below this size are cheaper to join than to hand over one by one."""
_GATHERED: Final = 64
"""Answers given at once that wait for the turn to end, to leave together. Large ones do not wait: whether the client
takes them decides whether its next request is handled."""


class SharedByConnections:
    """What all connections of a gateway have in common."""

    __slots__ = ("arriving", "buffers", "carrier", "connection_ids", "gateway", "in_flight", "limits", "loop")

    def __init__(self, carrier: Carrier, gateway: GatewayInfo, limits: Limits, loop: asyncio.AbstractEventLoop) -> None:
        self.carrier = carrier
        self.gateway = gateway
        self.limits = limits
        self.loop = loop
        self.connection_ids = count(1)
        self.buffers = ReceiveBuffers()
        self.in_flight = Budget(limits.queued_max_request_bytes)
        """Requests that were handled and wait for their answers: it comes free whatever clients do."""
        self.arriving = Budget(limits.queued_max_request_bytes)
        """Large requests of which a part has arrived: it comes free as clients go on, or are cut off."""


class ConnectionOwner(Protocol):
    """The listener, as a connection sees it."""

    def admit(self, connection: "Connection") -> str | None:
        """Takes note of the connection. A text says why it may not be."""

    def on_lost(self, connection: "Connection") -> None:
        """The connection is gone; called for every one, admitted or not."""


class Connection(asyncio.BufferedProtocol):
    """Driven by its transport, on the loop's thread."""

    __slots__ = (
        "_alone",
        "_exchanges",
        "_inbox",
        "_is_called",
        "_is_draining",
        "_is_handling",
        "_is_over",
        "_is_reading",
        "_is_scheduled",
        "_is_write_blocked",
        "_last_progress",
        "_out",
        "_owner",
        "_recurring",
        "_shared",
        "_transport",
        "_unsent",
        "carrier",
        "client",
        "gateway",
        "org_id",
    )

    _transport: asyncio.Transport
    client: Client

    def __init__(self, shared: SharedByConnections, owner: ConnectionOwner) -> None:
        self.carrier: Carrier = shared.carrier
        self.gateway: GatewayInfo = shared.gateway
        self.org_id: OrgId = DEFAULT_ORG
        self._shared = shared
        self._owner = owner
        self._inbox = Inbox(shared.buffers, shared.arriving)
        self._exchanges: deque[Exchange] = deque()
        self._alone: Exchange | None = None
        self._out: list[Buffer] = []
        self._is_called = False
        self._is_draining = False
        self._is_handling = False
        self._is_scheduled = False
        self._is_reading = True
        self._is_write_blocked = False
        self._is_over = False
        self._last_progress = shared.loop.time()
        self._unsent = 0

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        host, port = (transport.get_extra_info("peername") or ("a client gone already", 0))[:2]
        self.client = Client(host, port, connection_id=next(self._shared.connection_ids))
        self._recurring = RecurringRequests(self.client)
        self._transport.set_write_buffer_limits(high=self._shared.limits.unsent_max_bytes)
        refusal = self._owner.admit(self)
        if refusal is not None:
            self.cut_off(refusal)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._inbox.room()

    def buffer_updated(self, nbytes: int) -> None:
        self._inbox.end += nbytes
        self._last_progress = self._shared.loop.time()
        self._handle_received()

    def pause_writing(self) -> None:
        self._is_write_blocked = True

    def resume_writing(self) -> None:
        self._is_write_blocked = False
        self._schedule()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._is_over = True
        owed, self._exchanges = self._exchanges, deque()
        for exchange in owed:
            exchange.forget()
        if self.client.origin is not NO_ORIGIN:
            self.carrier.send(self.org_id, ConnectionLost(self.client.connection_id), _nothing_is_owed)
        self._out.clear()
        shared = self._shared
        self._inbox.clear()
        shared.in_flight.give_back(sum(exchange.request_size for exchange in owed))
        shared.in_flight.leave(self._on_called)
        shared.arriving.leave(self._on_called)
        self._owner.on_lost(self)

    # Requests

    def _handle_received(self) -> None:
        """Handles what there is, until the frames end or something holds the connection; then writes."""
        self._is_handling = True
        try:
            if not self._is_over:
                self._handle_frames()
        except Exception:
            _log.exception("%s: a request could not be handled", self.client)
            self.cut_off("is in a state that nobody thought of")
        finally:
            self._is_handling = False
        self._write_answers()

    def _handle_frames(self) -> None:
        inbox = self._inbox
        if inbox.buffer is None:
            return
        buffer, end = inbox.buffer.toreadonly(), inbox.end
        largest = self._shared.limits.socket_request_max_bytes
        while (start := inbox.start + FRAME_SIZE_BYTES) <= end:
            size = FRAME_SIZE.unpack_from(buffer, inbox.start)[0]
            if not _MIN_FRAME <= size <= largest:
                self._refuse_frame(size)
                return
            if start + size > end:
                break
            if not self._may_handle():
                self._pause_reading()
                return
            inbox.start = start + size
            self._handle_frame(buffer[start : start + size])
            if self._is_over:
                return
        if inbox.keep_part():
            self._resume_reading()
        else:
            self._shared.arriving.wait(self._on_called)
            self._pause_reading()

    def _may_handle(self) -> bool:
        """Whether another request may be handled now. Whatever makes that change schedules another turn."""
        alone = self._alone
        if alone is not None:
            if alone.answer_frame is None:
                alone.hurry()
            if alone.answer_frame is None:
                return False
            self._alone = None
        if self._is_write_blocked or self._is_draining or len(self._exchanges) >= MAX_IN_FLIGHT:
            return False
        if self._is_called:
            self._is_called = False
            return True
        if self._shared.in_flight.is_open:
            return True
        self._shared.in_flight.wait(self._on_called)
        return False

    def _on_called(self) -> None:
        """There is room in a budget again, and it is this connection's turn to take of it."""
        self._is_called = True
        self._schedule()

    def _handle_frame(self, frame: memoryview) -> None:
        known = self._recurring.find(frame) or self._read(frame)
        if known is None:
            return
        route, request = known
        exchange = Exchange(self, route, correlation_id_of(frame), request, len(frame))
        exchange.handle()
        if exchange.answer_frame is not None and not self._exchanges:
            self._out += exchange.answer_frame
        else:
            self._exchanges.append(exchange)
            self._shared.in_flight.used += exchange.request_size
        if route.api.pipelined:
            return
        if exchange.answer_frame is None:
            self._alone = exchange
        elif len(self._out) >= _GATHERED or (self._out and len(self._out[-1]) >= _JOINED):
            self._write_answers()

    def _read(self, frame: memoryview) -> tuple[Route, Request] | None:
        """What is asked for. None if that cannot be said, and the client is cut off."""
        try:
            (api_key, version, _correlation_id, client_id), body = decode_request_header(frame)
            route = find_route(api_key, version)
            if route is None:
                self.cut_off(f"asked for the API {api_key} in version {version}, which is not supported here")
                return None
            request = route.decode(frame, body)
        except DecodeError as error:
            self.cut_off(f"sent a request that cannot be read: {error}")
            return None
        client = self.client
        if client.client_id != client_id:
            client.client_id = client_id
        if route.api.command is not None:
            request = route.api.command(request, version, client.as_origin())
            self._recurring.remember(frame, route, request)
        return route, request

    def _refuse_frame(self, size: int) -> None:
        inbox = self._inbox
        assert inbox.buffer is not None
        mistaken = mistaken_protocol(bytes(inbox.buffer[inbox.start : inbox.end][:16]))
        if mistaken is not None:
            self.cut_off(f"speaks {mistaken}, and this port Kafka's protocol without TLS")
        elif size < _MIN_FRAME:
            self.cut_off(f"announced a request of {size} bytes, and none is that short")
        else:
            largest = self._shared.limits.socket_request_max_bytes
            self.cut_off(f"announced a request of {size} bytes, and socket.request.max.bytes is {largest}")

    def _pause_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._last_progress = self._shared.loop.time()
            self._transport.resume_reading()

    def _schedule(self) -> None:
        """Has another turn once the loop comes round: answers of one burst leave together, and nobody's callback is
        re-entered with new requests."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._shared.loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._is_scheduled = False
        was_called = self._is_called
        self._handle_received()
        if was_called:
            self._is_called = False
            self._shared.in_flight.call_next()
            self._shared.arriving.call_next()

    # Answers

    def on_answered(self) -> None:
        """An exchange has its answer: all that have one and wait for no older one may leave."""
        exchanges = self._exchanges
        released = 0
        while exchanges and (frame := exchanges[0].answer_frame) is not None:
            self._out += frame
            released += exchanges.popleft().request_size
        if released:
            self._shared.in_flight.give_back(released)
        if self._is_handling:
            return
        if exchanges or not self._is_reading:
            self._schedule()
        else:
            self._write_answers()

    def _write_answers(self) -> None:
        out = self._out
        if not out or self._is_over:
            return
        self._out = []
        if len(out) == 1:
            self._transport.write(out[0])
        elif max(map(len, out)) < _JOINED:
            self._transport.write(b"".join(out))
        else:
            self._transport.writelines(out)

    # The end

    def drain(self) -> None:
        """Handles no more requests, and hurries those that wait. is_owed says when none is left."""
        self._is_draining = True
        for exchange in tuple(self._exchanges):
            exchange.hurry()

    @property
    def is_owed(self) -> bool:
        """Whether an answer is due to the client."""
        return bool(self._exchanges)

    def close(self) -> None:
        """Answers that are ready still go out."""
        if not self._is_over:
            self._write_answers()
            self._is_over = True
            self._transport.close()

    def abort(self) -> None:
        self._is_over = True
        self._transport.abort()

    def cut_off(self, reason: str) -> None:
        """Closes, and tells the log why: the reason goes on after the client's name."""
        if not self._is_over:
            _log.warning("%s is cut off: it %s", self.client, reason)
            self.close()

    def check_progress(self, now: float) -> None:
        """Cuts off a client that stands still halfway, closes one that is idle. Called about once a second."""
        limits = self._shared.limits
        unsent = self._transport.get_write_buffer_size()
        if unsent != self._unsent:
            self._unsent = unsent
            self._last_progress = now
        still_ms = (now - self._last_progress) * 1000
        if still_ms >= limits.stalled_client_ms:
            if unsent:
                self.cut_off(f"left {unsent} bytes of answers unread for {still_ms / 1000:.0f} s")
                self.abort()
            elif self._inbox.has_part and self._is_reading and not self._exchanges:
                self.cut_off(f"left a request half sent for {still_ms / 1000:.0f} s")
        if 0 <= limits.connections_max_idle_ms <= still_ms and not self._exchanges and not self._is_over:
            _log.info("%s is idle for %.0f s and closed", self.client, still_ms / 1000)
            self.close()


def _nothing_is_owed(answer: Answer) -> None:
    """What the broker answers to a connection that is gone."""
