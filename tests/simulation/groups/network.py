"""Connections from clients to the broker, and the way between: slow at times, and cut at any moment.

It does what gateway/connection.py does: the requests of a connection are handled one at a time and in order, one that
comes behind another makes it hurry, and the broker is told when a connection is gone. A connection that is cut loses
what is on the way in both directions; either end may hear of that much later. What a lost connection had still to
deliver is never handled behind what its client sent on a later one, as no TCP connection of a live client does that.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import Any, Protocol

from kohort.carrier.contract import AnswerTo, Pending
from kohort.model.commands.groups import ConnectionLost, Origin
from tests.simulation.disk import Trace
from tests.simulation.groups.clock import Callback, Clock
from tests.simulation.groups.refusals import as_answer

REFUSED_MS = 20
"""How soon a client learns that there is no broker."""

OnAnswer = Callable[[Any], None]


class Broker(Protocol):
    is_up: bool

    def handle(self, command: object, answer_to: AnswerTo) -> Pending | None: ...


class Require(Protocol):
    def __call__(self, holds: bool, *what: object) -> None:
        """The oracle's: something that must hold."""


@dataclass(eq=False, slots=True)
class _Exchange:
    command: object
    on_answer: OnAnswer
    pending: Pending | None = None
    is_answered: bool = False


@dataclass(slots=True)
class Weather:
    """How the network is at the moment."""

    latency_ms: int = 2
    spike_ms: int = 0
    spike_chance: float = 0.0


class Network:
    def __init__(self, clock: Clock, random: Random, require: Require, trace: Trace) -> None:
        self.clock = clock
        self.random = random
        self.require = require
        self.trace = trace
        self.weather = Weather()
        self.connections: dict[int, Connection] = {}
        """Those that the broker has, by their ids."""
        self._ids = count(1)
        self.broker: Broker

    def connect(self, client_id: str, software_name: str, on_lost: Callback) -> "Connection":
        origin = Origin(client_id, "/192.0.2.7", software_name, next(self._ids))
        connection = Connection(self, origin, on_lost)
        if self.broker.is_up:
            self.connections[origin.connection_id] = connection
        else:
            connection.is_cut = True
            self.clock.after(REFUSED_MS, connection.client_learns)
        return connection

    def latency_ms(self) -> int:
        weather = self.weather
        if weather.spike_chance and self.random.random() < weather.spike_chance:
            return self.random.randint(0, weather.spike_ms)
        return self.random.randint(0, weather.latency_ms)

    def clear_up(self) -> None:
        """Nothing is slow any more: what is stuck on the way is lost, and both ends hear of it."""
        self.weather = Weather()
        for connection in list(self.connections.values()):
            if connection.is_cut or connection.is_stuck():
                connection.cut(0, 0)

    def cut_all(self) -> None:
        """The broker is gone, and with it its end of every connection."""
        for connection in list(self.connections.values()):
            connection.is_cut = True
            connection.drop()
            self.clock.after(self.latency_ms(), connection.client_learns)


@dataclass(eq=False, slots=True)
class Connection:
    """Both ends of one connection, and what is on the way."""

    network: Network
    origin: Origin
    on_lost: Callback
    is_open: bool = True
    """As the client sees it."""
    is_cut: bool = False
    """Nothing gets across any more."""
    _requests: deque[_Exchange] = field(default_factory=deque)
    _inbox: deque[_Exchange] = field(default_factory=deque)
    _serving: _Exchange | None = None
    _answers: deque[tuple[OnAnswer, object]] = field(default_factory=deque)
    _requests_until_ms: int = 0
    _answers_until_ms: int = 0

    # The client's end

    def send(self, command: object, on_answer: OnAnswer) -> None:
        if self.is_cut:
            return
        self._requests.append(_Exchange(command, on_answer))
        clock = self.network.clock
        self._requests_until_ms = max(self._requests_until_ms, clock.now_ms + self.network.latency_ms())
        clock.at(self._requests_until_ms, self._arrive)

    def close(self) -> None:
        """What was sent still arrives; nobody waits for answers."""
        self.is_open = False
        clock = self.network.clock
        clock.at(max(self._requests_until_ms, clock.now_ms) + 1, self.broker_learns)

    def abandon(self) -> None:
        """The client gives this connection up, and will come back on another one."""
        self.is_open = False
        self.cut(self.network.latency_ms(), None)

    def client_learns(self) -> None:
        if self.is_open:
            self.is_open = False
            self.on_lost()

    def _deliver(self) -> None:
        if self.is_cut:
            return
        on_answer, answer = self._answers.popleft()
        if self.is_open:
            on_answer(answer)

    # The way between

    def cut(self, broker_learns_ms: int | None, client_learns_ms: int | None) -> None:
        """After so long each end hears of it; None: never, as when a machine loses its power."""
        self.is_cut = True
        self._requests.clear()
        self._inbox.clear()
        if broker_learns_ms is not None:
            self.network.clock.after(broker_learns_ms, self.broker_learns)
        if client_learns_ms is not None:
            self.network.clock.after(client_learns_ms, self.client_learns)

    def is_stuck(self) -> bool:
        """Whether something on its way will take longer than it should."""
        soon_ms = self.network.clock.now_ms + Weather().latency_ms
        return self._requests_until_ms > soon_ms or self._answers_until_ms > soon_ms

    # The broker's end

    def _arrive(self) -> None:
        if self._requests:
            self._inbox.append(self._requests.popleft())
            self._serve()

    def _serve(self) -> None:
        while self._inbox:
            serving = self._serving
            if serving is not None:
                if serving.pending is not None:
                    serving.pending.hurry()
                if self._serving is not None:
                    return
            if not self._inbox:
                return
            self._serving = exchange = self._inbox.popleft()
            exchange.pending = self.network.broker.handle(exchange.command, partial(self._answered, exchange))

    def _answered(self, exchange: _Exchange, answer: object) -> None:
        network = self.network
        network.require(not exchange.is_answered, "answered twice:", exchange.command)
        exchange.is_answered = True
        if self._serving is not exchange:
            return
        self._serving = None
        if self._inbox:
            network.clock.after(0, self._serve)
        if self.is_cut or not self.is_open:
            return
        self._answers.append((exchange.on_answer, as_answer(exchange.command, answer)))
        self._answers_until_ms = max(self._answers_until_ms, network.clock.now_ms + network.latency_ms())
        network.clock.at(self._answers_until_ms, self._deliver)

    def broker_learns(self) -> None:
        if self.network.connections.get(self.origin.connection_id) is not self:
            return
        serving = self._serving
        self.drop()
        if serving is not None and serving.pending is not None:
            serving.pending.forget()
        self.network.broker.handle(ConnectionLost(self.origin.connection_id), _ignore)

    def drop(self) -> None:
        """The broker's end is gone."""
        del self.network.connections[self.origin.connection_id]
        self._serving = None
        self._inbox.clear()
        self._requests.clear()

    @property
    def owed(self) -> object:
        """The command that waits for its answer, if any does."""
        return None if self._serving is None else self._serving.command


def _ignore(answer: object) -> None:
    """What nobody waits for."""
