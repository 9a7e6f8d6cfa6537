"""Page-aligned memory that is used again and again, because the first touch of fresh memory costs more than any copy.

Slices of it are handed out as the very bytes of an answer, and may still lie in a socket's queue when their owner is
done with the memory. It is used again only when no slice is left: the operating system's map refuses to be resized
as long as anyone looks into it. The pool may be used from any thread.
"""

import mmap
import threading
from typing import Final

_HUGE_PAGES_FROM: Final = 2 << 20


class AlignedMemory:
    """A piece of memory; `view` is what everyone slices."""

    __slots__ = ("_map", "size", "view")

    def __init__(self, size: int) -> None:
        self._map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if size >= _HUGE_PAGES_FROM:
            self._map.madvise(mmap.MADV_HUGEPAGE)
        self.size: Final = size
        self.view = memoryview(self._map)

    def reclaim(self) -> bool:
        """Whether nobody looks into it any more, so that it may be written anew."""
        try:
            self.view.release()
            self._map.resize(self.size)
        except BufferError:
            return False
        finally:
            self.view = memoryview(self._map)
        return True


class MemoryPool:
    """Pieces of memory by size. Pieces that are still looked into wait here until they are not."""

    def __init__(self, keep_bytes: int) -> None:
        self._keep_bytes: Final = keep_bytes
        self._pieces: list[AlignedMemory] = []
        self._lock: Final = threading.Lock()

    def take(self, size: int) -> AlignedMemory:
        """A piece of this size; what it holds is arbitrary."""
        with self._lock:
            for position, piece in enumerate(self._pieces):
                if piece.size == size and piece.reclaim():
                    return self._pieces.pop(position)
        return AlignedMemory(size)

    def give_back(self, piece: AlignedMemory) -> None:
        """The caller is done with it, though slices may still be out. The oldest go when there are too many."""
        with self._lock:
            self._pieces.append(piece)
            while sum(kept.size for kept in self._pieces) > self._keep_bytes:
                self._pieces.pop(0)

    def release(self) -> None:
        """Gives everything back to the operating system, as soon as its last slice is gone."""
        with self._lock:
            self._pieces.clear()
