"""What the machine is, what its memory costs just now, and how busy it is with other things.

On virtual machines that give free memory back to their host, the first touch of a page costs twenty times what a second
costs, and a broker that writes fresh files pays for it by luck. So right before a round a file is written and deleted:
its memory is what the round's fresh files get, and every round of every broker begins alike.
"""

import os
import platform
import time
from pathlib import Path
from typing import Final

_MB: Final = 1_000_000
_PIECE: Final = bytes(1 << 20)
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


def touch_memory(directory: Path, size: int) -> float:
    """Writes a file of about this size and deletes it; the CPU that it cost in ms/MB.

    0.2 where memory was touched in the last seconds, 5 and more where not. A size of nothing touches and costs nothing.
    """
    pieces = size // len(_PIECE)
    if pieces == 0:
        return 0.0
    path = directory / "touched"
    before = time.process_time()
    with path.open("wb", buffering=0) as file:
        for _ in range(pieces):
            file.write(_PIECE)
    spent = time.process_time() - before
    path.unlink()
    return spent * 1000 / (pieces * len(_PIECE) / _MB)


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
