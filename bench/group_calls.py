"""Requests of groups that no load is made of: one at a time, decoded with kio, patient; for what comes before a load.

Every error code that is not expected ends the measurement. Next hop: connection.py.
"""

import socket
import time
from collections.abc import Sequence
from typing import Any, Final

import kio.schema.api_versions.v3.request as api_versions
import kio.schema.find_coordinator.v4.request as find_coordinator
import kio.schema.find_coordinator.v4.response as coordinator_found
import kio.schema.offset_fetch.v9.request as offset_fetch
import kio.schema.offset_fetch.v9.response as offset_fetch_answer
from kio.schema.errors import ErrorCode
from kio.schema.types import GroupId

from bench import connection
from bench.connection import HOST, LoadError
from bench.frames import request_frame

LIBRDKAFKA: Final = "librdkafka"
UNKNOWN: Final = "bench"
"""A broker cannot know what such a client bears, and answers it at once."""
_READY_WITHIN_S: Final = 90.0
_ASK_EVERY_S: Final = 0.05
_NOT_YET: Final = (
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.not_coordinator,
)
_SOFTWARE_VERSION: Final = "2.16.0"


def open_connection(port: int, software: str) -> socket.socket:
    """A connection on which the client has said what it is, as every client does first."""
    connected = socket.create_connection((HOST, port), timeout=60)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = api_versions.ApiVersionsRequest(client_software_name=software, client_software_version=_SOFTWARE_VERSION)
    exchange(connected, request_frame(request))
    return connected


def exchange(connected: socket.socket, frame: bytes) -> bytes:
    """Sends a request and receives its answer, on a connection on which nothing else is under way."""
    connected.sendall(frame)
    return receive(connected)


def receive(connected: socket.socket) -> bytes:
    """One whole answer, its size in front."""
    size = connected.recv(4, socket.MSG_WAITALL)
    answer = size + connected.recv(int.from_bytes(size), socket.MSG_WAITALL)
    if len(size) < 4 or len(answer) < 4 + int.from_bytes(size):
        raise LoadError("the broker closed the connection")
    return answer


def wait_for_coordinator(port: int, groups: Sequence[str], ask_every_s: float = _ASK_EVERY_S) -> None:
    """Until the broker coordinates these groups; the first time it has to make its offsets topic."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while errors := _errors(port, groups):
        if errors - set(_NOT_YET) or time.monotonic() > deadline:
            raise LoadError(f"no coordinator for {groups[0]} and {len(groups) - 1} more: {errors}")
        time.sleep(ask_every_s)


def _errors(port: int, groups: Sequence[str]) -> set[ErrorCode]:
    """What keeps the coordinators of these groups from being found, and then from answering."""
    request: Any = find_coordinator.FindCoordinatorRequest(coordinator_keys=tuple(groups))
    found = connection.call(port, request_frame(request), coordinator_found.FindCoordinatorResponse)
    errors = {coordinator.error_code for coordinator in found.coordinators} - {ErrorCode.none}
    if errors:
        return errors
    asked = tuple(offset_fetch.OffsetFetchRequestGroup(group_id=GroupId(group), topics=None) for group in groups)
    request = offset_fetch.OffsetFetchRequest(groups=asked)
    fetched = connection.call(port, request_frame(request), offset_fetch_answer.OffsetFetchResponse)
    return {group.error_code for group in fetched.groups} - {ErrorCode.none}
