"""What a load says of itself when it has ended."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """What was done in how long. A load that watches latencies tells them all."""

    seconds: float
    requests: int = 0
    records: int = 0
    record_bytes: int = 0
    warm_up_bytes: int = 0
    """Of records before the seconds began to count: the broker spent CPU on them too."""
    latencies_ms: Sequence[float] = ()
    """Sorted."""

    def percentile_ms(self, percent: float) -> float:
        """The smallest latency that this share of all does not exceed."""
        return self.latencies_ms[math.ceil(len(self.latencies_ms) * percent / 100) - 1]
