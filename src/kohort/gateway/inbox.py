"""What a connection has received and not handled yet, and in whose memory it lies.

The bytes from start to end of the buffer begin with a frame: complete ones while connection.py works through them,
then at most a part of one. A small part is copied out and the buffer given back; a large one keeps its buffer, or gets
a larger one as its bytes come, and counts against the budget of requests that are arriving.

Next hop: receive_buffers.py.
"""

from struct import Struct
from typing import Final

from kohort.gateway.budget import Budget
from kohort.gateway.receive_buffers import READ_SIZE, ReceiveBuffers, rounded_up

FRAME_SIZE: Final = Struct(">i")
"""In front of every frame: how many bytes it has, these four not counted."""
FRAME_SIZE_BYTES: Final = FRAME_SIZE.size

_COPIED: Final = 16 << 10
"""A part of a frame up to this size is copied out of the buffer."""
_WHOLE_AT_ONCE: Final = 4 << 20
"""A frame above this size gets its memory as its bytes come, so that announcing one costs nothing."""
_READ_AHEAD: Final = 512 << 10
"""A connection whose frames do not fit READ_SIZE reads this much at once, so that few frames are cut by a read."""


class Inbox:
    __slots__ = ("_budget", "_buffers", "_counted", "_part", "_read_size", "buffer", "end", "start")

    def __init__(self, buffers: ReceiveBuffers, budget: Budget) -> None:
        self._buffers = buffers
        self._budget = budget
        self._counted = 0
        self._part = b""
        self._read_size = READ_SIZE
        self.buffer: memoryview | None = None
        self.start = 0
        self.end = 0

    @property
    def has_part(self) -> bool:
        """Whether a frame has begun to arrive."""
        return bool(self._part) or self.end > self.start

    def room(self) -> memoryview:
        """Where to receive into; never empty. Asked only when no complete frame is left."""
        buffer = self.buffer
        if buffer is None:
            buffer = self.buffer = self._buffers.take(self._read_size)
            self.start, self.end = 0, len(self._part)
            if self.end:
                buffer[: self.end] = self._part
                self._part = b""
        elif self.start + self._frame_end() > len(buffer) or self.end == len(buffer):
            buffer = self._move(buffer)
        return buffer[self.end :]

    def _frame_end(self) -> int:
        """Bytes of the frame that begins in the buffer, its size field included."""
        if self.buffer is None or self.end - self.start < FRAME_SIZE_BYTES:
            return FRAME_SIZE_BYTES
        size: int = FRAME_SIZE.unpack_from(self.buffer, self.start)[0]
        return FRAME_SIZE_BYTES + size

    def _move(self, buffer: memoryview) -> memoryview:
        """The part at the beginning of this buffer, or of a larger one if the frame does not fit this."""
        part = buffer[self.start : self.end]
        needed = self._frame_end()
        if needed <= len(buffer):
            buffer[: len(part)] = part
        else:
            capacity = rounded_up(min(needed, max(_WHOLE_AT_ONCE, 2 * len(buffer))))
            larger = self._buffers.take(capacity)
            larger[: len(part)] = part
            self._buffers.give_back(buffer)
            self._budget.take(capacity - self._counted)
            self._counted = capacity
            self._read_size = max(capacity, _READ_AHEAD)
            self.buffer = buffer = larger
        self.start, self.end = 0, len(part)
        return buffer

    def keep_part(self) -> bool:
        """Keeps what is left when all complete frames are handled. False when the budget must have room first."""
        if self.buffer is None:
            return True
        if self.end - self.start <= _COPIED:
            part = bytes(self.buffer[self.start : self.end])
            self.clear()
            self._part = part
        elif not self._counted and max(len(self.buffer), self._frame_end()) > READ_SIZE:
            if self._budget.is_spent:
                return False
            self._counted = len(self.buffer)
            self._budget.take(self._counted)
        return True

    def clear(self) -> None:
        """Drops everything; the memory goes back."""
        self._part = b""
        self.start = self.end = 0
        if self.buffer is not None:
            self._buffers.give_back(self.buffer)
            self.buffer = None
        if self._counted:
            counted, self._counted = self._counted, 0
            self._budget.give_back(counted)
