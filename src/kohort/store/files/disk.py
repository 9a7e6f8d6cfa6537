"""The few things the store asks of a file system, behind a Protocol so that a simulated one can fail as real ones do.

Every file operation of the store goes through here. Errors are OSError with the errno a kernel would give.
Paths are relative to the data directory, with "/" between the parts.
"""

from collections.abc import Sequence
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """An open file. Writes append at `size`; reads are anywhere."""

    @property
    def size(self) -> int: ...

    def write(self, buffers: Sequence[Buffer]) -> int:
        """Appends all of them; OSError leaves an unknown part written (truncate back to the old size)."""

    def pread(self, length: int, position: int) -> bytes: ...

    def sync(self) -> None:
        """Returns when data and size are on stable storage."""

    def truncate(self, size: int) -> None: ...

    def preallocate(self, size: int) -> None:
        """Reserves space without changing what `size` says."""

    def close(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File: ...

    def rename(self, old: str, new: str) -> None: ...

    def unlink(self, path: str) -> None: ...

    def make_directory(self, path: str) -> None:
        """Makes it and its parents; no error if it is there."""

    def remove_directory(self, path: str) -> None: ...

    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted; empty if it is not there."""

    def sync_directory(self, path: str) -> None:
        """Makes names created, renamed and removed in it durable."""

    def lock(self, path: str) -> None:
        """Takes the one lock of the data directory, or BlockingIOError; freed when the process ends or by close."""

    def unlock(self) -> None: ...
