"""What the embedded store costs by itself: python -m bench.store [--directory DIR] [--only NAME]

One process, one thread that appends as a broker's would, no network. CPU is the process's own, all threads.
"""

import argparse
import asyncio
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import uvloop

from kohort.store.files.os_disk import OsDisk
from kohort.store.files.settings import FilesSettings
from kohort.store.files.store import FilesStore
from kohort.store.files.thread_workers import ThreadWorkers
from kohort.store.log import Chunk, Durability, Log, LogConfig, LogId, StoreError
from kohort.wire.record_batch import Batch, decode_header
from kohort.wire.records import NewRecord, encode_batch

MEGABYTE = 1 << 20


class Meter:
    """Wall and CPU time from here on."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def report(self, what: str, size_bytes: int, count: int) -> None:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        megabytes = size_bytes / MEGABYTE
        print(
            f"{what:42} {megabytes / wall:7.0f} MB/s {1000 * cpu / megabytes:7.2f} ms CPU/MB"
            f" {count / wall:9.0f} /s {1e6 * wall / count:7.2f} us wall {1e6 * cpu / count:7.2f} us CPU each",
            flush=True,
        )


class Bench:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.store: FilesStore

    def open(self) -> None:
        workers = ThreadWorkers(asyncio.get_running_loop())
        now_ms = lambda: int(time.time() * 1000)  # noqa: E731
        self.store = FilesStore(OsDisk(self._directory), workers, FilesSettings(), now_ms, _raise)
        self.store.open()

    def log(self, number: int = 0) -> Log:
        return self.store.log(LogId(0, "bench", UUID(int=1), number), LogConfig())

    def forget(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def _raise(error: StoreError) -> None:
    raise error


def made_batch(size: int) -> Batch:
    return encode_batch([NewRecord(None, os.urandom(size), 1_700_000_000_000)])


async def append(
    bench: Bench, what: str, size: int, total: int, durability: Durability, logs: int, in_flight: int
) -> None:
    """Keeps so many appends in flight, as pipelining producers do, and waits for the last."""
    batch = made_batch(size)
    targets = [bench.log(number) for number in range(logs)]
    ends = [log.end_offset for log in targets]
    count = total // len(batch.data)
    loop = asyncio.get_running_loop()
    finished = loop.create_future()
    open_appends = done_appends = started = 0

    def fill() -> None:
        nonlocal open_appends, started
        while open_appends < in_flight and started < count:
            number = started % logs
            started += 1
            open_appends += 1
            header = batch.header._replace(base_offset=ends[number])
            ends[number] += 1
            targets[number].append((Batch(header, batch.data),), durability, done)

    def done(error: StoreError | None) -> None:
        nonlocal open_appends, done_appends
        open_appends -= 1
        done_appends += 1
        if done_appends == count:
            finished.set_result(None)
        elif open_appends <= in_flight // 2:
            fill()

    meter = Meter()
    fill()
    await finished
    meter.report(what, count * len(batch.data), count)


async def lone_appends(bench: Bench, what: str, durability: Durability) -> None:
    """One at a time: what a client waits that sends one and waits for its answer."""
    batch = made_batch(100)
    log = bench.log()
    loop = asyncio.get_running_loop()
    times: list[float] = []
    for _ in range(2000):
        future = loop.create_future()
        began = time.perf_counter()
        log.append(
            (Batch(batch.header._replace(base_offset=log.end_offset), batch.data),), durability, future.set_result
        )
        await future
        times.append(1e6 * (time.perf_counter() - began))
    times.sort()
    print(f"{what:42} p50 {statistics.median(times):6.0f} us, p99 {times[len(times) * 99 // 100]:6.0f} us", flush=True)


async def read(bench: Bench, what: str, max_bytes: int) -> None:
    """All of the log from its start, one read after the other."""
    log = bench.log()
    loop = asyncio.get_running_loop()
    meter = Meter()
    offset, total, reads = log.start_offset, 0, 0
    while offset < log.readable_offset:
        future: asyncio.Future[Chunk | StoreError] = loop.create_future()
        log.read(offset, max_bytes, log.readable_offset, future.set_result)
        chunk = await future
        if isinstance(chunk, StoreError):
            raise chunk
        offset = _next_offset(chunk)
        total += chunk.size
        reads += 1
    meter.report(what, total, reads)


def _next_offset(chunk: Chunk) -> int:
    """Where the next read begins. Every batch of this benchmark is of one size and one record."""
    header = decode_header(chunk.buffers[0])
    return header.base_offset + chunk.size // header.size


async def run(directory: Path, only: str) -> None:
    bench = Bench(directory)

    async def measure(name: str, measurement: Callable[[], Awaitable[None]]) -> None:
        if only in name:
            await measurement()

    bench.forget()
    bench.open()
    for durability in Durability:
        for logs in (1, 8):
            await measure(
                "append 64 KiB",
                lambda d=durability, n=logs: append(
                    bench, f"append 64 KiB, {d.value}, {n} logs", 65_000, 1500 * MEGABYTE, d, n, 40
                ),
            )
        await measure(
            "append 1 MiB",
            lambda d=durability: append(bench, f"append 1 MiB, {d.value}", MEGABYTE - 200, 1500 * MEGABYTE, d, 1, 8),
        )
        await measure(
            "append 150 B",
            lambda d=durability: append(bench, f"append 150 B, {d.value}", 80, 50 * MEGABYTE, d, 16, 256),
        )
        await measure(
            "append 2 KiB",
            lambda d=durability: append(
                bench, f"append 2 KiB, {d.value}, 1000 logs", 1_950, 150 * MEGABYTE, d, 1000, 1000
            ),
        )
        await measure("lone", lambda d=durability: lone_appends(bench, f"lone append, {d.value}", d))
    bench.store.close()
    bench.forget()
    bench.open()
    await append(bench, "append 64 KiB to be read", 65_000, 1000 * MEGABYTE, Durability.OS, 1, 40)
    bench.store.close()
    bench.open()
    await measure("read", lambda: read(bench, "read settled, 1 MiB at a time", MEGABYTE))
    await measure("read", lambda: read(bench, "read settled again, 1 MiB at a time", MEGABYTE))
    await measure("read", lambda: read(bench, "read settled, 4 MiB at a time", 4 * MEGABYTE))
    print(f"largest resident memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    bench.store.close()
    bench.forget()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "kohort-bench-store")
    parser.add_argument("--only", default="", help="a part of a measurement's name")
    arguments = parser.parse_args()
    uvloop.run(run(arguments.directory, arguments.only))


if __name__ == "__main__":
    main()
