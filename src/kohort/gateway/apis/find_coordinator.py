"""FindCoordinator: which broker leads a group or a transaction. The gateway answers with its own address.

Versions: 1 key_type, error_message; 3 flexible; 4 many keys; 5 newer error codes; 6 share groups, of which there are
none here: INVALID_REQUEST, as Kafka answers where they are switched off.

Answered by the gateway itself.
"""

from enum import IntEnum
from typing import NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.errors import ErrorCode, Refused

_KEY_TYPE_SINCE = 1
_MANY_KEYS_SINCE = 4


class KeyType(IntEnum):
    GROUP = 0
    TRANSACTION = 1


class CoordinatorMessage(NamedTuple):
    """Up to version 3 the whole answer, since 4 one of its coordinators."""

    key: str
    node_id: int
    host: str
    port: int
    error_code: int = ErrorCode.NONE
    error_message: str | None = None
    throttle_time_ms: int = 0


class CoordinatorsMessage(NamedTuple):
    coordinators: tuple[CoordinatorMessage, ...]
    throttle_time_ms: int = 0


def handle_find_coordinator(request: Request, call: Call) -> None:
    key_type = request.key_type if call.version >= _KEY_TYPE_SINCE else KeyType.GROUP
    if key_type not in (KeyType.GROUP, KeyType.TRANSACTION):
        refused = Refused(ErrorCode.INVALID_REQUEST, f"There are no coordinators for keys of type {key_type}.")
        call.answer(refuse_find_coordinator(request, refused, call))
        return
    gateway = call.gateway
    call.answer(
        _message(
            request,
            call,
            tuple(
                CoordinatorMessage(key, gateway.broker_id, gateway.advertised_host, gateway.advertised_port)
                for key in _keys(request, call)
            ),
        )
    )


def _keys(request: Request, call: Call) -> tuple[str, ...]:
    keys: tuple[str, ...] = request.coordinator_keys if call.version >= _MANY_KEYS_SINCE else (request.key,)
    return keys


def _message(request: Request, call: Call, coordinators: tuple[CoordinatorMessage, ...]) -> Message:
    return CoordinatorsMessage(coordinators) if call.version >= _MANY_KEYS_SINCE else coordinators[0]


def refuse_find_coordinator(request: Request, refused: Refused, call: Call) -> Message:
    return _message(
        request,
        call,
        tuple(
            CoordinatorMessage(key, -1, "", -1, refused.error_code, refused.error_message)
            for key in _keys(request, call)
        ),
    )


FIND_COORDINATOR = Api(10, "FindCoordinator", 0, 6, handle_find_coordinator, refuse_find_coordinator)
