"""A disk that fails as real ones do, at moments and in ways that a seed decides.

    data        what was not synced survives a power cut in any part (file_data.py)
    names       a directory's changes survive up to any one of them, in order; a rename is one change
    sync        everything so far is stable; or EIO: some of it is, the rest never will be, and the kernel has
                forgotten that it was dirty, so that the next sync has nothing to complain about
    full        what needs new space fails with ENOSPC after some part of it was written
    power cut   at any operation, in the middle of a write too; whatever the store still tries then raises PowerCut

A killed process is kinder: the page cache stays.
"""

import errno
import os
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from kohort.store.files.disk import Buffer
from tests.simulation.file_data import FileData

Trace = Callable[..., None]
"""Is told what happens, in pieces that it may join."""


def silence(*_: object) -> None:
    """A trace that nobody reads."""


class PowerCut(BaseException):
    """The machine is gone. No Exception, lest the store take it for an error that it could handle."""


Names = dict[str, "Directory | FileData"]
Change = Callable[[Names], None]


class Directory:
    """Names, as they are seen and as a power cut would leave them."""

    def __init__(self) -> None:
        self.seen: Names = {}
        self._stable: Names = {}
        self._changes: list[Change] = []

    def change(self, change: Change) -> None:
        change(self.seen)
        self._changes.append(change)

    def sync(self) -> None:
        self._stable = dict(self.seen)
        self._changes.clear()

    def evict(self) -> None:
        for node in self.seen.values():
            node.evict()

    def lose_power(self, random: Random) -> None:
        for change in self._changes[: random.randint(0, len(self._changes))]:
            change(self._stable)
        self._changes.clear()
        self.seen = dict(self._stable)
        for name in sorted(self.seen):
            self.seen[name].lose_power(random)


class Machine:
    """What outlives the processes that run on it: the disk's content, its faults to come, and the cut to come."""

    def __init__(self, random: Random, trace: Trace = silence) -> None:
        self.random = random
        self.life = 0
        """Counts the processes so far: what an earlier one holds open is dead."""
        self.operations = 0
        self.cut_at = -1
        """The operation in which the process ends."""
        self.is_full = False
        self.failing_syncs = 0
        """So many of the next syncs fail."""
        self.has_failed = False
        """Whether a sync has failed since this was set last: then no process can trust what it wrote."""
        self.root = Directory()
        self.is_locked = False
        self.before_operation: Callable[[], None] = silence
        """Called before whatever a process does with the disk."""
        self._trace = trace

    def operate(self, name: str, path: str, *details: object) -> bool:
        """Counts an operation that changes the disk; whether it is the one that the process does not survive."""
        self.operations += 1
        is_last = self.operations == self.cut_at
        self._trace("disk", self.operations, name, path, *details, "CUT" if is_last else "")
        if is_last:
            self.kill()
        return is_last

    def kill(self) -> None:
        """The process is gone: its open files and its lock with it, the page cache not."""
        self.life += 1
        self.cut_at = -1
        self.is_locked = False
        self.before_operation = silence
        if self.random.random() < 0.5:
            self.root.evict()

    def lose_power(self) -> None:
        self.kill()
        self.is_full = False
        self.root.lose_power(self.random)


class SimulatedFile:
    """An open file. It is dead once the process that opened it is."""

    def __init__(self, machine: Machine, path: str, data: FileData, read_only: bool) -> None:
        self._machine = machine
        self._path = path
        self._data = data
        self._read_only = read_only
        self._life = machine.life

    @property
    def size(self) -> int:
        return len(self._data.seen)

    def write(self, buffers: Sequence[Buffer]) -> None:
        self._write(b"".join(buffers), self.size)

    def write_at(self, buffer: Buffer, position: int, *, durable: bool) -> None:
        self._write(bytes(buffer), position)
        if durable:
            self._sync_or_fail()
            self._data.sync_range(position, position + len(buffer))

    def _write(self, data: bytes, position: int) -> None:
        part = data[: self._machine.random.randint(0, len(data))]
        if self._begin("write", position, len(data)):
            self._data.write(part, position)
            raise PowerCut
        if self._machine.is_full and position + len(data) > self.size:
            self._data.write(part, position)
            raise _error(errno.ENOSPC, self._path)
        self._data.write(data, position)

    def _sync_or_fail(self) -> None:
        if self._machine.failing_syncs:
            self._machine.failing_syncs -= 1
            self._machine.has_failed = True
            self._data.fail_sync(self._machine.random)
            raise _error(errno.EIO, self._path)

    def pread(self, length: int, position: int) -> bytes:
        _check_alive(self._machine, self._life)
        return bytes(self._data.seen[position : position + length])

    def read_into(self, memory: memoryview, position: int) -> int:
        data = self.pread(len(memory), position)
        memory[: len(data)] = data
        return len(data)

    def sync(self) -> None:
        if self._begin("sync"):
            raise PowerCut
        self._sync_or_fail()
        self._data.sync()

    def truncate(self, size: int) -> None:
        if self._begin("truncate", size):
            raise PowerCut
        self._data.resize(size)

    def preallocate(self, size: int) -> None:
        if self._begin("preallocate", size):
            raise PowerCut
        if self._machine.is_full and size > self.size:
            raise _error(errno.ENOSPC, self._path)
        self._data.resize(max(self.size, size))

    def close(self) -> None:
        """Makes nothing durable, as a real close does not."""

    def _begin(self, name: str, *details: object) -> bool:
        _check_alive(self._machine, self._life)
        if self._read_only and name != "sync":
            raise _error(errno.EBADF, self._path)
        return self._machine.operate(name, self._path, *details)


class SimulatedDisk:
    """The disk of a machine, as one process has it: store/files/disk.py says what its verbs do."""

    file_class = SimulatedFile

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._life = machine.life

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> SimulatedFile:
        directory, name = self._parent(path)
        data = directory.seen.get(name)
        if data is None:
            if not create:
                raise _error(errno.ENOENT, path)
            if self._machine.is_full:
                raise _error(errno.ENOSPC, path)
            data = FileData()
            self._change("create", path, directory, partial(_put, name, data))
        if isinstance(data, Directory):
            raise _error(errno.EISDIR, path)
        return self.file_class(self._machine, path, data, read_only)

    def rename(self, old: str, new: str) -> None:
        directory, old_name = self._parent(old)
        other, new_name = self._parent(new)
        if other is not directory:
            raise _error(errno.EXDEV, new)
        if old_name not in directory.seen:
            raise _error(errno.ENOENT, old)
        self._change("rename", f"{old} {new}", directory, partial(_rename, old_name, new_name))

    def unlink(self, path: str) -> None:
        self._remove("unlink", path, FileData)

    def remove_directory(self, path: str) -> None:
        self._remove("remove_directory", path, Directory)

    def make_directory(self, path: str) -> None:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            ancestor = "/".join(parts[:depth])
            directory, name = self._parent(ancestor)
            found = directory.seen.get(name)
            if isinstance(found, FileData):
                raise _error(errno.ENOTDIR, ancestor)
            if found is None:
                if self._machine.is_full:
                    raise _error(errno.ENOSPC, ancestor)
                self._change("make_directory", ancestor, directory, partial(_put, name, Directory()))

    def list(self, path: str) -> list[str]:
        _check_alive(self._machine, self._life)
        found = self._find(path)
        return sorted(found.seen) if isinstance(found, Directory) else []

    def sync_directory(self, path: str) -> None:
        _check_alive(self._machine, self._life)
        found = self._find(path)
        if not isinstance(found, Directory):
            raise _error(errno.ENOENT, path)
        if self._machine.operate("sync_directory", path):
            raise PowerCut
        found.sync()

    def lock(self, path: str) -> None:
        _check_alive(self._machine, self._life)
        if self._machine.is_locked:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK), path)
        self._machine.is_locked = True

    def unlock(self) -> None:
        _check_alive(self._machine, self._life)
        self._machine.is_locked = False

    def _remove(self, verb: str, path: str, kind: type[Directory] | type[FileData]) -> None:
        directory, name = self._parent(path)
        found = directory.seen.get(name)
        if found is None:
            raise _error(errno.ENOENT, path)
        if not isinstance(found, kind):
            raise _error(errno.ENOTDIR if kind is Directory else errno.EISDIR, path)
        if isinstance(found, Directory) and found.seen:
            raise _error(errno.ENOTEMPTY, path)
        self._change(verb, path, directory, partial(_drop, name))

    def _change(self, verb: str, path: str, directory: Directory, change: Change) -> None:
        if self._machine.operate(verb, path):
            raise PowerCut
        directory.change(change)

    def _parent(self, path: str) -> tuple[Directory, str]:
        _check_alive(self._machine, self._life)
        parent, _, name = path.rpartition("/")
        directory = self._find(parent)
        if not isinstance(directory, Directory):
            raise _error(errno.ENOENT, path)
        return directory, name

    def _find(self, path: str) -> Directory | FileData | None:
        found: Directory | FileData | None = self._machine.root
        for name in path.split("/"):
            if name in ("", "."):
                continue
            found = found.seen.get(name) if isinstance(found, Directory) else None
        return found


def _put(name: str, node: Directory | FileData, names: Names) -> None:
    names[name] = node


def _drop(name: str, names: Names) -> None:
    names.pop(name, None)


def _rename(old: str, new: str, names: Names) -> None:
    names[new] = names.pop(old)


def _check_alive(machine: Machine, life: int) -> None:
    machine.before_operation()
    if life != machine.life:
        raise PowerCut


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)
