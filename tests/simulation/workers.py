"""Workers whose schedule is made from a seed: what runs next, and when its outcome is brought back.

Work of one kind runs in order, as one thread would; kinds run in any order beside each other. Outcomes of one kind
come back in order, later.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeVar

T = TypeVar("T")
Step = Callable[[], None]


class SimulatedWorkers:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._written: deque[Step] = deque()
        self._settled: deque[Step] = deque()
        self._reads: list[Step] = []
        self._soon: deque[Step] = deque()
        self._outcomes: dict[str, deque[Step]] = {"write": deque(), "settle": deque(), "read": deque()}

    def write(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._written.append(partial(self._run, "write", work, done))

    def settle(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._settled.append(partial(self._run, "settle", work, done))

    def read(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._reads.append(partial(self._run, "read", work, done))

    def soon(self, work: Callable[[], None]) -> None:
        self._soon.append(work)

    def close(self) -> None:
        """Does everything that was handed over, and brings it back."""
        while not self.is_idle():
            self.step()

    def is_idle(self) -> bool:
        return not (self._soon or self._runnable() or any(self._outcomes.values()))

    def step(self) -> None:
        """One thing that threads and loop could do next."""
        choices = self._runnable()
        if self._soon:
            choices.append(self._run_soon)
        for outcomes in self._outcomes.values():
            if outcomes:
                choices.append(partial(self._bring_back, outcomes))
        if choices:
            self._random.choice(choices)()

    def _run_soon(self) -> None:
        self._soon.popleft()()

    @staticmethod
    def _bring_back(outcomes: deque[Step]) -> None:
        outcomes.popleft()()

    def _runnable(self) -> list[Step]:
        """The first work of each thread, and any read."""
        steps: list[Step] = [partial(self._take, queue) for queue in (self._written, self._settled) if queue]
        if self._reads:
            steps.append(self._take_read)
        return steps

    @staticmethod
    def _take(queue: deque[Step]) -> None:
        queue.popleft()()

    def _take_read(self) -> None:
        self._reads.pop(self._random.randrange(len(self._reads)))()

    def _run(self, kind: str, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        outcome: T | BaseException
        try:
            outcome = work()
        except Exception as error:
            outcome = error
        self._outcomes[kind].append(partial(done, outcome))
