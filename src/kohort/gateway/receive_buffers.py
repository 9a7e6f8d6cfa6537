"""The memory that sockets are read into, shared by all connections.

A connection holds a buffer only while a part of a request is in it, so idle connections hold none, and the same few
buffers, whose pages the machine has long made, serve everyone: on a virtual machine the first touch of a page costs
more than all else that happens to the bytes in it. For that reason new ones are mapped, not allocated: what no byte is
received into is never touched.
"""

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

READ_SIZE: Final = 64 << 10
"""What a connection reads into as long as its requests are small."""

_KEPT_BYTES: Final = 32 << 20


class ReceiveBuffers:
    """Buffers whose sizes are powers of two. At most 32 MiB of unused ones are kept."""

    __slots__ = ("_free", "_kept")

    def __init__(self) -> None:
        self._free: dict[int, list[memoryview]] = {}
        self._kept = 0

    def take(self, size: int) -> memoryview:
        """A buffer of at least this size: the one that was given back last, whose bytes are nearest to the CPU."""
        size = rounded_up(size)
        free = self._free.get(size)
        if free:
            self._kept -= size
            return free.pop()
        return memoryview(mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS))

    def give_back(self, buffer: memoryview) -> None:
        size = len(buffer)
        if self._kept + size <= _KEPT_BYTES:
            self._kept += size
            self._free.setdefault(size, []).append(buffer)


def rounded_up(size: int) -> int:
    return max(READ_SIZE, 1 << (size - 1).bit_length())
