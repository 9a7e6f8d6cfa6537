"""A listener on a real socket, under the loop that the server runs."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from kohort.gateway.limits import Limits
from kohort.gateway.listener import Listener
from kohort.model.commands.data import Fetch
from tests.gateway.client import GATEWAY, fetch_frame, metadata_frame, produce_frame
from tests.gateway.scripted_carrier import ScriptedCarrier

Conversation = Callable[[Listener, int], Awaitable[None]]


def converse(carrier: ScriptedCarrier, conversation: Conversation, limits: Limits | None = None) -> None:
    """Runs the conversation against a listener on a port of its own."""

    async def run() -> None:
        listener = Listener(carrier, GATEWAY, limits or Limits(), asyncio.get_running_loop())
        port = await listener.start("127.0.0.1", 0)
        try:
            await asyncio.wait_for(conversation(listener, port), 30)
        finally:
            await listener.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


async def answer_id(reader: asyncio.StreamReader) -> int:
    """The correlation id of the next answer."""
    size = int.from_bytes(await reader.readexactly(4), "big")
    return int.from_bytes((await reader.readexactly(size))[:4], "big")


def test_requests_are_answered_over_a_socket() -> None:
    async def conversation(listener: Listener, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"".join(metadata_frame(number) for number in range(300)))
        for number in range(300):
            assert await answer_id(reader) == number
        writer.write(produce_frame(300, records=bytes(20 << 20)))
        assert await answer_id(reader) == 300
        writer.close()

    converse(ScriptedCarrier(), conversation)


def test_a_client_that_does_not_read_gets_its_answers_when_it_does() -> None:
    async def conversation(listener: Listener, port: int) -> None:
        lazy = socket.create_connection(("127.0.0.1", port))
        lazy.setblocking(False)
        loop = asyncio.get_running_loop()
        sender = loop.create_task(loop.sock_sendall(lazy, b"".join(metadata_frame(number) for number in range(60_000))))
        await asyncio.sleep(0.3)
        lively_reader, lively_writer = await asyncio.open_connection("127.0.0.1", port)
        lively_writer.write(metadata_frame(7))
        assert await answer_id(lively_reader) == 7
        reader, _ = await asyncio.open_connection(sock=lazy)
        for number in range(60_000):
            assert await answer_id(reader) == number
        await sender

    converse(ScriptedCarrier(), conversation, Limits(unsent_max_bytes=20_000))


def test_one_address_has_no_more_connections_than_it_may(caplog: pytest.LogCaptureFixture) -> None:
    async def conversation(listener: Listener, port: int) -> None:
        pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        assert await pairs[2][0].read() == b""
        assert "max.connections.per.ip = 2" in caplog.text
        pairs[0][1].close()
        await asyncio.sleep(0.1)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(metadata_frame(1))
        assert await answer_id(reader) == 1

    converse(ScriptedCarrier(), conversation, Limits(max_connections_per_ip=2))


def test_there_are_no_more_connections_than_there_may_be(caplog: pytest.LogCaptureFixture) -> None:
    async def conversation(listener: Listener, port: int) -> None:
        _, first = await asyncio.open_connection("127.0.0.1", port)
        reader, _ = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        assert "max.connections = 1" in caplog.text
        first.close()

    converse(ScriptedCarrier(), conversation, Limits(max_connections=1))


def test_an_idle_connection_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    async def conversation(listener: Listener, port: int) -> None:
        reader, _ = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        assert "is idle" in caplog.text

    caplog.set_level(logging.INFO)
    converse(ScriptedCarrier(), conversation, Limits(connections_max_idle_ms=500))


def test_what_was_asked_is_answered_before_the_listener_stops_and_nothing_that_comes_later() -> None:
    carrier = ScriptedCarrier(holds=(Fetch,))

    async def conversation(listener: Listener, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(fetch_frame(1))
        await until(lambda: len(carrier.owed) == 1)
        stopping = asyncio.get_running_loop().create_task(listener.stop())
        await until(lambda: carrier.owed[0].hurries > 0)
        writer.write(metadata_frame(2))
        await asyncio.sleep(0.05)
        carrier.owed[0].give()
        assert await answer_id(reader) == 1
        assert await reader.read() == b""
        await stopping

    converse(carrier, conversation)
    assert [type(command) for command in carrier.commands] == [Fetch]


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - what it waits for is not the test's to signal
        await asyncio.sleep(0.005)
