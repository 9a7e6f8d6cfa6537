"""The few things the store asks of a file system, behind a Protocol so that a simulated one can fail as real ones do.

Every file operation of the store goes through here. Errors are OSError with the errno a kernel would give; an error
of a write leaves an unknown part of it written. Paths are relative to the data directory, with "/" between the parts.
"""

from collections.abc import Sequence
from typing import Final, Protocol

Buffer = bytes | bytearray | memoryview

PAGE_SIZE: Final = 4096
"""What a disk writes as one, and what direct I/O wants positions, lengths and memory to be multiples of."""


class File(Protocol):
    """An open file. It is used by one thread at a time."""

    @property
    def size(self) -> int: ...

    def write(self, buffers: Sequence[Buffer]) -> None:
        """Appends all of them at `size`. In the operating system's hands on return, durable after sync."""

    def write_at(self, buffer: Buffer, position: int, *, durable: bool) -> None:
        """Writes in place. With durable these bytes, but no earlier ones, are on stable storage on return."""

    def pread(self, length: int, position: int) -> bytes:
        """What is there, shorter at the end of the file."""

    def read_into(self, memory: memoryview, position: int) -> int:
        """Fills the memory from this position; how many bytes there were."""

    def sync(self) -> None:
        """Returns when everything written before, and the size, are on stable storage."""

    def truncate(self, size: int) -> None: ...

    def preallocate(self, size: int) -> None:
        """Grows the file to this size with zeros that have their place on the disk: writing there needs no space."""

    def close(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        """Opens the file as it is; with create makes an empty one if it is not there. Else FileNotFoundError."""

    def rename(self, old: str, new: str) -> None:
        """Replaces what has the new name, in one step."""

    def unlink(self, path: str) -> None: ...

    def make_directory(self, path: str) -> None:
        """Makes it and its parents; no error if it is there."""

    def remove_directory(self, path: str) -> None:
        """Removes an empty one."""

    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted; empty if it is not there. "" is the data directory itself."""

    def sync_directory(self, path: str) -> None:
        """Makes names created, renamed and removed in it durable."""

    def lock(self, path: str) -> None:
        """Takes the one lock of the data directory, or BlockingIOError that says who has it; freed with the process."""

    def unlock(self) -> None: ...
