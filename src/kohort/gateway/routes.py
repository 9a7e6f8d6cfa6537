"""From an API's key and version to all that a request of it needs: its decoder, its handler, its encoder.

Next hop: apis/<api_name>.py.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from kohort.gateway.apis import APIS
from kohort.gateway.apis.api_versions import API_VERSIONS_KEY, UNKNOWN_API_VERSIONS
from kohort.gateway.call import Api, Message, Request
from kohort.gateway.recurring import Recurring
from kohort.wire.messages import request_decoder, response_encoder
from kohort.wire.record_batch import Buffer


class Route(NamedTuple):
    api: Api
    version: int
    decode: Callable[[memoryview, int], Request]
    encode: Callable[[int, Message], list[Buffer]]


_SMALL_ANSWER: Final = 4096
"""Bytes of an answer that may be remembered."""
_CORRELATION_ID_BEGIN: Final = 4
_CORRELATION_ID_END: Final = 8

_routes: Final[dict[tuple[int, int], Route]] = {}


def find_route(api_key: int, version: int) -> Route | None:
    """None for an API or a version that does not work here. Routes are made when first asked for: making an encoder
    takes milliseconds, and no client uses them all."""
    route = _routes.get((api_key, version))
    if route is None:
        api = APIS.get(api_key)
        if api is None:
            return None
        if not api.min_version <= version <= api.max_version:
            return _unknown_api_versions(version) if api_key == API_VERSIONS_KEY else None
        decode = api.decoder(version) if api.decoder is not None else request_decoder(api_key, version)
        encode = response_encoder(api_key, version)
        route = Route(api, version, decode, _remembering(encode) if api.answers_recur else encode)
        _routes[api_key, version] = route
    return route


def _remembering(encode: Callable[[int, Message], list[Buffer]]) -> Callable[[int, Message], list[Buffer]]:
    """Encodes an answer once: frames of the same answer differ in their correlation id only."""

    def halves(message: Message) -> tuple[bytes, bytes]:
        frame = b"".join(encode(0, message))
        return frame[:_CORRELATION_ID_BEGIN], frame[_CORRELATION_ID_END:]

    frames = Recurring(halves, lambda halves: len(halves[1]) <= _SMALL_ANSWER)

    def encode_or_remember(correlation_id: int, message: Message) -> list[Buffer]:
        before, behind = frames.made_of(message)
        return [before + correlation_id.to_bytes(4, "big", signed=True) + behind]

    return encode_or_remember


def _unknown_api_versions(version: int) -> Route:
    """The answer has the form of version 0, and the request one that nobody here knows, so it is not read."""
    return Route(UNKNOWN_API_VERSIONS, version, lambda frame, body: None, response_encoder(API_VERSIONS_KEY, 0))
