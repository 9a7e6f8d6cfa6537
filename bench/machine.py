"""What the machine is, what its memory costs just now, and how busy it is with other things.

On virtual machines that give free memory back to their host, the first touch of a page costs many times what a second
costs, and a broker that writes fresh files pays for it by luck. So between rounds some memory is held in a file on
/dev/shm and given back right before a round: every round of every broker begins with memory that was touched lately.
"""

import os
import platform
import shutil
import time
from pathlib import Path
from typing import Final

_MB: Final = 1_000_000
_PIECE: Final = bytes(1 << 20)
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_SHARED_MEMORY: Final = Path("/dev/shm")


class WarmMemory:
    """Memory that is held while nobody measures. hold() takes it, release() gives it to the next round."""

    def __init__(self, size: int) -> None:
        self._size = size if _SHARED_MEMORY.is_dir() else 0
        self._path = _SHARED_MEMORY / f"kohort-bench-{os.getpid()}"

    def hold(self) -> None:
        if self._path.exists() or not self._size:
            return
        room = shutil.disk_usage(_SHARED_MEMORY).free
        with self._path.open("wb", buffering=0) as file:
            for _ in range(min(self._size, room // 2) // len(_PIECE)):
                file.write(_PIECE)

    def release(self) -> None:
        self._path.unlink(missing_ok=True)


def fresh_write_ms_per_mb(directory: Path, size: int = 16 << 20) -> float:
    """CPU that a fresh file in the page cache costs here and now: 0.3 where memory is warm, 5 and more where not."""
    path = directory / "calibration"
    before = time.process_time()
    with path.open("wb", buffering=0) as file:
        for _ in range(size // len(_PIECE)):
            file.write(_PIECE)
    spent = time.process_time() - before
    path.unlink()
    return spent * 1000 / (size / _MB)


def busy_seconds() -> float:
    """CPU seconds that all processors together have been busy since the machine started, the kernel's work included."""
    with Path("/proc/stat").open() as file:
        user, nice, system, _idle, _iowait, irq, softirq = (int(field) for field in file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / _TICKS_PER_S


def describe() -> dict[str, str]:
    """The machine, for the head of a report."""
    cpu_lines = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    processor = cpu_lines[0].partition(":")[2].strip() if cpu_lines else platform.machine()
    return {
        "processor": f"{os.cpu_count()} x {processor}",
        "memory": f"{memory_kb / 1_000_000:.0f} GB",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
