"""The operating system's file system as a Disk. It decides only how bytes travel: through the page cache or past it.

Big transfers go past it (O_DIRECT): the first touch of a page of the cache costs the CPU far more than the transfer,
and settled data is rarely read soon. Whatever a file system refuses to do directly is done through the cache instead.
"""

import errno
import fcntl
import mmap
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kohort.store.files.disk import PAGE_SIZE, Buffer

_DIRECT_FROM: Final = 64 << 10
"""Appends and reads of at least this many bytes go past the page cache."""
_STAGING_SIZE: Final = 1 << 20
_SMALL_BUFFER: Final = 4096


class _Staging(threading.local):
    """Aligned memory that direct writes are gathered in, one for each thread; reused, because fresh memory is dear."""

    def __init__(self) -> None:
        self.memory = memoryview(mmap.mmap(-1, _STAGING_SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


_staging: Final = _Staging()


def _is_aligned(number: int) -> bool:
    return number % PAGE_SIZE == 0


class OsFile:
    """One open file, and a second descriptor for direct transfers once one is worth it."""

    def __init__(self, path: Path, flags: int) -> None:
        self._path = path
        self._flags = flags
        self._descriptor = os.open(path, flags, 0o644)
        self._size = os.fstat(self._descriptor).st_size
        self._direct: int | None = None
        self._refuses_direct = False

    @property
    def size(self) -> int:
        return self._size

    def write(self, buffers: Sequence[Buffer]) -> None:
        total = sum(map(len, buffers))
        head = -self._size % PAGE_SIZE
        if total - head < _DIRECT_FROM:
            self._write_cached(memoryview(buffers[0] if len(buffers) == 1 else b"".join(buffers)))
            return
        stream = _Stream(_of_some_size(buffers, total), _staging.memory)
        self._write_cached(stream.take(head))
        while piece := stream.take(_STAGING_SIZE):
            whole_pages = len(piece) - len(piece) % PAGE_SIZE
            self._write_at(piece[:whole_pages], self._size, sync=0)
            self._write_cached(piece[whole_pages:])

    def write_at(self, buffer: Buffer, position: int, *, durable: bool) -> None:
        if durable:
            self._write_at(memoryview(buffer), position, sync=os.RWF_DSYNC)
        else:
            self._write_fully(self._descriptor, memoryview(buffer), position, sync=0)

    def pread(self, length: int, position: int) -> bytes:
        return os.pread(self._descriptor, length, position)

    def read_into(self, memory: memoryview, position: int) -> int:
        done = 0
        while done < len(memory):
            got = self._read_some(memory[done:], position + done)
            done += got
            if got == 0:
                break
        return done

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        self._size = size

    def preallocate(self, size: int) -> None:
        zeros = memoryview(bytes(_STAGING_SIZE))
        while self._size < size:
            self.write((zeros[: size - self._size],))
        self.sync()

    def close(self) -> None:
        os.close(self._descriptor)
        if self._direct is not None:
            os.close(self._direct)

    def _write_cached(self, piece: memoryview) -> None:
        self._write_fully(self._descriptor, piece, self._size, sync=0)

    def _write_at(self, piece: memoryview, position: int, sync: int) -> None:
        """Directly if place and length allow it and the file system does; staged memory is aligned, images are too."""
        if _is_aligned(position) and _is_aligned(len(piece)) and not self._refuses_direct:
            try:
                self._write_fully(self._direct_descriptor(), piece, position, sync)
                return
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self._refuses_direct = True
        self._write_fully(self._descriptor, piece, position, sync)

    def _write_fully(self, descriptor: int, piece: memoryview, position: int, sync: int) -> None:
        while piece:
            written = os.pwritev(descriptor, (piece,), position, sync)
            piece = piece[written:]
            position += written
            self._size = max(self._size, position)

    def _read_some(self, memory: memoryview, position: int) -> int:
        is_aligned = _is_aligned(position) and _is_aligned(len(memory))
        if len(memory) >= _DIRECT_FROM and is_aligned and not self._refuses_direct:
            try:
                return os.preadv(self._direct_descriptor(), (memory,), position)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self._refuses_direct = True
        return os.preadv(self._descriptor, (memory,), position)

    def _direct_descriptor(self) -> int:
        if self._direct is None:
            self._direct = os.open(self._path, (self._flags & ~os.O_CREAT) | os.O_DIRECT)
        return self._direct


def _of_some_size(buffers: Sequence[Buffer], total: int) -> Iterator[Buffer]:
    """The same bytes in pieces that are worth being handled one by one."""
    if total >= len(buffers) * _SMALL_BUFFER:
        yield from buffers
        return
    together = _STAGING_SIZE * len(buffers) // total
    for first in range(0, len(buffers), together):
        yield b"".join(buffers[first : first + together])


class _Stream:
    """The bytes of many buffers, taken in pieces as large as one likes, out of staging memory."""

    def __init__(self, buffers: Iterator[Buffer], staging: memoryview) -> None:
        self._buffers = buffers
        self._current = memoryview(b"")
        self._staging = staging

    def take(self, length: int) -> memoryview:
        """The next so many bytes; they count until the next call. Fewer at the end."""
        filled = 0
        while filled < length:
            if not self._current:
                following = next(self._buffers, None)
                if following is None:
                    break
                self._current = memoryview(following)
                continue
            piece = self._current[: length - filled]
            self._staging[filled : filled + len(piece)] = piece
            self._current = self._current[len(piece) :]
            filled += len(piece)
        return self._staging[:filled]


class OsDisk:
    """A data directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock: int | None = None

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> OsFile:
        return OsFile(self._directory / path, os.O_RDONLY if read_only else os.O_RDWR | (os.O_CREAT if create else 0))

    def rename(self, old: str, new: str) -> None:
        os.rename(self._directory / old, self._directory / new)

    def unlink(self, path: str) -> None:
        os.unlink(self._directory / path)

    def make_directory(self, path: str) -> None:
        (self._directory / path).mkdir(parents=True, exist_ok=True)

    def remove_directory(self, path: str) -> None:
        os.rmdir(self._directory / path)

    def list(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._directory / path))
        except FileNotFoundError:
            return []

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(self._directory / path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._directory / path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            message = f"{self._directory} is used by process {holder}"
            raise BlockingIOError(error.errno, message) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._lock = descriptor

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
