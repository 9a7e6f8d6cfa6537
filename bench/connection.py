"""One blocking connection to a broker: raw frames out, answers into memory that is used again.

Fresh memory is dear on the machines this runs on, so nothing here allocates while a load runs. A connection knows
nothing of Kafka but the four bytes in front of an answer; admin calls, which may be slow, decode with kio.
"""

import socket
import time
from struct import Struct
from types import TracebackType
from typing import Any, Final, Self

import kio.schema.create_topics.v7.response as create_topics
import kio.schema.delete_topics.v6.response as delete_topics
import kio.schema.list_offsets.v7.response as list_offsets
from kio.serial import entity_reader

from bench import frames

HOST: Final = "127.0.0.1"
_SIZE: Final = Struct(">i")
_RECEIVE_SIZE: Final = 1 << 21
_READY_WITHIN_S: Final = 30.0


class LoadError(Exception):
    """The broker answered something that no measurement can stand on."""


class Connection:
    """A blocking socket with one receive buffer."""

    def __init__(self, port: int, receive_size: int = _RECEIVE_SIZE) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.memory = memoryview(bytearray(receive_size))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes | bytearray | memoryview) -> None:
        self.socket.sendall(data)

    def receive_exactly(self, size: int) -> memoryview:
        """This many bytes, at the beginning of the receive buffer."""
        self._fill(0, size)
        return self.memory[:size]

    def receive_answer(self) -> memoryview:
        """One whole answer, its size in front. The kernel is asked for all there is, then once for the rest."""
        received = self.socket.recv_into(self.memory)
        if received < _SIZE.size:
            self._fill(received, _SIZE.size)
            received = _SIZE.size
        size = _SIZE.size + int(_SIZE.unpack_from(self.memory)[0])
        self._fill(received, size)
        return self.memory[:size]

    def _fill(self, filled: int, size: int) -> None:
        while filled < size:
            count = self.socket.recv_into(self.memory[filled:size], size - filled, socket.MSG_WAITALL)
            if count == 0:
                raise LoadError("the broker closed the connection in the middle of a load")
            filled += count


def call(port: int, frame: bytes, response: type[Any]) -> Any:
    """Sends one request on a connection of its own and decodes the answer with kio."""
    with Connection(port) as connection:
        connection.send(frame)
        answer = bytes(connection.receive_answer())
    header_size = 4 + 4 + (1 if response.__flexible__ else 0)
    entity, _ = entity_reader(response)(answer, header_size)
    return entity


def create_topic(port: int, topic: str, partitions: int) -> None:
    """Makes the topic and waits until each of its partitions answers."""
    frame = frames.create_topic_frame(topic, partitions)
    (created,) = call(port, frame, create_topics.CreateTopicsResponse).topics
    if created.error_code != 0:
        raise LoadError(f"topic {topic} could not be created: {created.error_code!r} {created.error_message}")
    wait_ready(port, topic, partitions)


def wait_ready(port: int, topic: str, partitions: int) -> None:
    """Waits until each partition tells its end offset."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while _end_offsets(port, topic, partitions) is None:
        if time.monotonic() > deadline:
            raise LoadError(f"topic {topic} did not become ready within {_READY_WITHIN_S:.0f} s")
        time.sleep(0.02)


def delete_topic(port: int, topic: str) -> None:
    (deleted,) = call(port, frames.delete_topic_frame(topic), delete_topics.DeleteTopicsResponse).responses
    if deleted.error_code != 0:
        raise LoadError(f"topic {topic} could not be deleted: {deleted.error_code!r} {deleted.error_message}")


def end_offsets(port: int, topic: str, partitions: int) -> list[int]:
    """The end of each partition, in order."""
    found = _end_offsets(port, topic, partitions)
    if found is None:
        raise LoadError(f"a partition of {topic} does not tell its end offset")
    return found


def _end_offsets(port: int, topic: str, partitions: int) -> list[int] | None:
    (answer,) = call(port, frames.end_offsets_frame(topic, partitions), list_offsets.ListOffsetsResponse).topics
    ordered = sorted(answer.partitions, key=lambda partition: int(partition.partition_index))
    if any(partition.error_code != 0 for partition in ordered):
        return None
    return [int(partition.offset) for partition in ordered]
