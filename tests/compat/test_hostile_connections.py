"""Connections that misbehave cost the others nothing: half a request, no reading, garbage, and frames of 2 GB."""

import socket
import struct
import time
from pathlib import Path

import pytest

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import StartBroker
from tests.compat.librdkafka import make_producer, produce_all, read_partition

API_VERSIONS_REQUEST = struct.pack(">ihhih", 10, 18, 0, 7, -1)
FETCH = 1


def test_half_a_request_and_silence_harms_nobody(broker: BrokerProcess, topic: str) -> None:
    silent = [_connect(broker) for _ in range(50)]
    for connection in silent:
        connection.sendall(API_VERSIONS_REQUEST[:9])

    produce_all(make_producer(broker.bootstrap), topic, [b"unharmed"])

    assert [each.value() for each in read_partition(broker.bootstrap, topic)] == [b"unharmed"]
    silent[0].sendall(API_VERSIONS_REQUEST[9:])
    assert _read_frame(silent[0])[:4] == struct.pack(">i", 7)
    for connection in silent:
        connection.close()


def test_a_request_that_comes_byte_by_byte_is_answered(broker: BrokerProcess) -> None:
    with _connect(broker) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in API_VERSIONS_REQUEST:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)

        assert _read_frame(connection)[:4] == struct.pack(">i", 7)


def test_an_idle_connection_is_closed_after_its_time(start_broker: StartBroker) -> None:
    broker = start_broker({"connections.max.idle.ms": "2000"})
    begun = time.monotonic()
    with _connect(broker) as connection:
        connection.sendall(API_VERSIONS_REQUEST)
        _read_frame(connection)
        connection.settimeout(20)
        assert connection.recv(1) == b""

    assert 1 < time.monotonic() - begun < 15


@pytest.mark.parametrize(
    "garbage",
    [
        struct.pack(">i", 2_147_483_647) + b"x" * 1000,
        struct.pack(">i", -1),
        b"GET / HTTP/1.1\r\nHost: kohort\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
        struct.pack(">ihhih", 10, 999, 0, 7, -1),
        struct.pack(">ihhih", 10, FETCH, 99, 7, -1),
        struct.pack(">ihhihi", 14, 3, 1, 7, -1, 2_000_000_000),
    ],
    ids=["2 GB frame", "negative size", "HTTP", "TLS", "unknown api", "unknown version", "length bomb"],
)
def test_what_is_no_request_is_cut_off_and_costs_little(broker: BrokerProcess, topic: str, garbage: bytes) -> None:
    memory_before = _resident_bytes(broker)
    for _ in range(20):
        with _connect(broker) as connection:
            connection.sendall(garbage)
            assert _closed_by_peer(connection)

    assert _resident_bytes(broker) - memory_before < 100_000_000
    produce_all(make_producer(broker.bootstrap), topic, [b"unharmed"])
    assert [each.value() for each in read_partition(broker.bootstrap, topic)] == [b"unharmed"]


def test_a_client_that_asks_and_never_reads_costs_the_others_nothing(broker: BrokerProcess, topic: str) -> None:
    value = bytes(range(256)) * 400
    produce_all(make_producer(broker.bootstrap), topic, [value] * 100)
    memory_before = _resident_bytes(broker)
    fetch = _fetch_request(topic)
    deaf = [_connect(broker) for _ in range(5)]
    for connection in deaf:
        connection.setblocking(False)
        _send_as_much_as_it_takes(connection, fetch, count=2000)

    produce_all(make_producer(broker.bootstrap), topic, [b"unharmed"])

    assert [each.value() for each in read_partition(broker.bootstrap, topic, start=100)] == [b"unharmed"]
    assert _resident_bytes(broker) - memory_before < 300_000_000
    for connection in deaf:
        connection.close()


def test_a_client_that_is_gone_in_the_middle_of_a_request_is_forgotten(broker: BrokerProcess, topic: str) -> None:
    for _ in range(100):
        connection = _connect(broker)
        connection.sendall(_fetch_request(topic)[:-5])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()  # a reset, not a goodbye

    produce_all(make_producer(broker.bootstrap), topic, [b"unharmed"])
    assert [each.value() for each in read_partition(broker.bootstrap, topic)] == [b"unharmed"]


def _connect(broker: BrokerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", broker.port), 20)


def _read_frame(connection: socket.socket) -> bytes:
    size = struct.unpack(">i", _read_exactly(connection, 4))[0]
    return _read_exactly(connection, size)


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        received = connection.recv(size - len(data))
        assert received, "the broker closed the connection"
        data += received
    return data


def _closed_by_peer(connection: socket.socket) -> bool:
    """Whether the broker ends the connection within its timeout, whatever it says before."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def _fetch_request(topic: str) -> bytes:
    """Fetch version 4 of partition 0 from its beginning: 1 MB at most, without waiting."""
    name = topic.encode()
    body = struct.pack(">iiiib", -1, 0, 1, 1_000_000, 0)
    body += struct.pack(">ih", 1, len(name)) + name + struct.pack(">iiqi", 1, 0, 0, 1_000_000)
    header = struct.pack(">hhih", FETCH, 4, 7, -1)
    return struct.pack(">i", len(header) + len(body)) + header + body


def _send_as_much_as_it_takes(connection: socket.socket, request: bytes, count: int) -> None:
    """Sends requests until the broker stops taking them: the way to ask for much and read nothing."""
    waiting = memoryview(request * count)
    deadline = time.monotonic() + 1
    while waiting and time.monotonic() < deadline:
        try:
            waiting = waiting[connection.send(waiting) :]
        except BlockingIOError:
            time.sleep(0.01)
        except ConnectionError:
            return  # cut off: as good an answer


def _resident_bytes(broker: BrokerProcess) -> int:
    fields = Path(f"/proc/{broker.process.pid}/statm").read_text().split()
    return int(fields[1]) * 4096
