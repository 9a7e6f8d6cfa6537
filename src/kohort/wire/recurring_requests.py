"""Requests that come again and again in the very same bytes, as of who watches how far groups are: read once.

Next hop: the decoder that is given, for bytes that are new.
"""

from collections.abc import Callable
from typing import Final, TypeVar

Request = TypeVar("Request")

_MOST_BYTES: Final = 1024
"""A request that is larger is read each time, so that clients decide little about what is kept."""
_MOST_REQUESTS: Final = 4096


def remembering(decode: Callable[[memoryview, int], Request]) -> Callable[[memoryview, int], Request]:
    """A decoder of (frame, where the body begins) that remembers by the body. What it gives must never be changed."""
    requests: dict[bytes, Request] = {}

    def decode_or_remember(frame: memoryview, position: int) -> Request:
        if len(frame) - position > _MOST_BYTES:
            return decode(frame, position)
        body = bytes(frame[position:])
        request = requests.get(body)
        if request is None:
            if len(requests) >= _MOST_REQUESTS:
                requests.clear()
            request = requests[body] = decode(frame, position)
        return request

    return decode_or_remember
