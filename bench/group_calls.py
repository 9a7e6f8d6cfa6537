"""Requests of groups that no load is made of: one at a time, decoded with kio, patient; for what comes before a load.

Every error code that is not expected ends the measurement. Next hop: connection.py.
"""

import time
from collections.abc import Sequence
from typing import Final

import kio.schema.find_coordinator.v4.request as find_coordinator
import kio.schema.find_coordinator.v4.response as coordinator_found
from kio.schema.errors import ErrorCode

from bench import connection
from bench.connection import LoadError
from bench.frames import request_frame

_READY_WITHIN_S: Final = 30.0
_ASK_EVERY_S: Final = 0.05
_NOT_YET: Final = (ErrorCode.coordinator_not_available, ErrorCode.coordinator_load_in_progress)


def wait_for_coordinator(port: int, groups: Sequence[str]) -> None:
    """Until the broker says who coordinates these groups; the first time it makes its offsets topic."""
    request = find_coordinator.FindCoordinatorRequest(coordinator_keys=tuple(groups))
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        answer = connection.call(port, request_frame(request), coordinator_found.FindCoordinatorResponse)
        errors = {found.error_code for found in answer.coordinators} - {ErrorCode.none}
        if not errors:
            return
        if errors - set(_NOT_YET) or time.monotonic() > deadline:
            raise LoadError(f"no coordinator for {groups[0]} and {len(groups) - 1} more: {errors}")
        time.sleep(_ASK_EVERY_S)
