"""The operating system's files behave as disk.py says, whichever way the bytes travel."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from kohort.store.files.aligned_memory import AlignedMemory
from kohort.store.files.disk import PAGE_SIZE
from kohort.store.files.os_disk import OsDisk

SIZES = (0, 1, 100, PAGE_SIZE, PAGE_SIZE + 1, 70_000, 200_001, (1 << 20) - 1, 3 << 20)


@pytest.fixture
def disk(tmp_path: Path) -> OsDisk:
    return OsDisk(tmp_path)


@pytest.mark.parametrize("seed", range(8))
def test_appends_of_any_size_lie_end_to_end(disk: OsDisk, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    file = disk.open("file", create=True)
    expected = b""
    for _ in range(12):
        buffers = [random.randbytes(random.choice(SIZES)) for _ in range(random.randint(1, 4))]
        file.write(buffers)
        expected += b"".join(buffers)
        assert file.size == len(expected)
    file.sync()
    file.close()
    assert (tmp_path / "file").read_bytes() == expected


def test_many_small_buffers_are_one_large_append(disk: OsDisk, tmp_path: Path) -> None:
    buffers = [b"%07d" % number for number in range(60_000)]
    file = disk.open("file", create=True)
    file.write(buffers)
    file.close()
    assert (tmp_path / "file").read_bytes() == b"".join(buffers)


def test_after_a_truncate_appends_begin_there(disk: OsDisk, tmp_path: Path) -> None:
    file = disk.open("file", create=True)
    file.write([b"a" * 300_000])
    file.truncate(100_001)
    file.write([b"b" * 300_000])
    file.close()
    assert (tmp_path / "file").read_bytes() == b"a" * 100_001 + b"b" * 300_000


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("length", [10, PAGE_SIZE, 20 * PAGE_SIZE])
def test_writing_in_place_touches_nothing_else(disk: OsDisk, tmp_path: Path, durable: bool, length: int) -> None:
    file = disk.open("file", create=True)
    file.preallocate(40 * PAGE_SIZE)
    memory = AlignedMemory(page_multiple(length))
    memory.view[:length] = b"x" * length
    file.write_at(memory.view[:length], 3 * PAGE_SIZE, durable=durable)
    file.close()
    content = (tmp_path / "file").read_bytes()
    assert content == bytes(3 * PAGE_SIZE) + b"x" * length + bytes(37 * PAGE_SIZE - length)


def page_multiple(length: int) -> int:
    return -(-length // PAGE_SIZE) * PAGE_SIZE


def test_memory_is_filled_up_to_the_end_of_the_file(disk: OsDisk) -> None:
    content = os.urandom(300_000)
    file = disk.open("file", create=True)
    file.write([content])
    memory = AlignedMemory(page_multiple(300_000))
    assert file.read_into(memory.view, 0) == 300_000
    assert bytes(memory.view[:300_000]) == content
    assert file.read_into(memory.view[: 64 * PAGE_SIZE], 20 * PAGE_SIZE) == 300_000 - 20 * PAGE_SIZE
    assert bytes(memory.view[: 300_000 - 20 * PAGE_SIZE]) == content[20 * PAGE_SIZE :]
    file.close()


def test_a_file_that_is_not_there_is_not_made_unasked(disk: OsDisk) -> None:
    with pytest.raises(FileNotFoundError):
        disk.open("file")
    assert disk.list("") == []


def test_directories_come_with_their_parents_and_go_when_empty(disk: OsDisk) -> None:
    disk.make_directory("orgs/7/orders-0")
    disk.make_directory("orgs/7/orders-0")
    disk.open("orgs/7/orders-0/b", create=True).close()
    disk.open("orgs/7/orders-0/a", create=True).close()
    assert disk.list("orgs/7/orders-0") == ["a", "b"]
    with pytest.raises(OSError, match="not empty"):
        disk.remove_directory("orgs/7/orders-0")
    disk.unlink("orgs/7/orders-0/a")
    disk.unlink("orgs/7/orders-0/b")
    disk.remove_directory("orgs/7/orders-0")
    assert disk.list("orgs/7") == []
    assert disk.list("orgs/8") == []


def test_the_lock_says_which_process_has_it(disk: OsDisk, tmp_path: Path) -> None:
    disk.lock("lock")
    program = (
        "import sys; from pathlib import Path; from kohort.store.files.os_disk import OsDisk\n"
        "try: OsDisk(Path(sys.argv[1])).lock('lock')\n"
        "except BlockingIOError as error: print(error.strerror)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    refused = subprocess.run(command, capture_output=True, text=True, check=True)
    assert refused.stdout.strip() == f"{tmp_path} is used by process {os.getpid()}"
    disk.unlock()
    allowed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert allowed.stdout == ""
