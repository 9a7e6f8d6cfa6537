"""Workers whose schedule is made from a seed: what goes on next, and when its outcome is brought back.

Work of one kind runs in order, as one thread would; kinds run beside each other. Outcomes of one kind come back in
order, later. Work is done in one go, or, where a seed wants it so, from one disk operation to the next, with anything
else in between. For that each piece of work has a thread; only one of all threads ever runs, so that a seed still
decides everything.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from threading import Semaphore, Thread, current_thread
from typing import TypeVar

from tests.simulation.disk import Machine, PowerCut

T = TypeVar("T")
Step = Callable[[], None]
READERS = 2


class Errand:
    """A piece of work that is done bit by bit: a thread that runs when it is told to, up to its next disk operation."""

    def __init__(self, work: Step) -> None:
        self._work = work
        self._may_run = Semaphore(0)
        self._stands = Semaphore(0)
        self._is_dropped = False
        self._cut: PowerCut | None = None
        self.is_done = False
        self.thread = Thread(target=self._run, daemon=True)
        self.thread.start()

    def go_on(self) -> None:
        """Runs to the next disk operation or to the end; PowerCut if the machine went down in it."""
        self._may_run.release()
        self._stands.acquire()
        if self._cut is not None:
            raise self._cut

    def pause(self) -> None:
        """In the errand's own thread: lets others go on."""
        self._stands.release()
        self._may_run.acquire()
        if self._is_dropped:
            raise PowerCut

    def drop(self) -> None:
        """Its process is gone."""
        self._is_dropped = True
        self._may_run.release()
        self.thread.join()

    def _run(self) -> None:
        self._may_run.acquire()
        try:
            if not self._is_dropped:
                self._work()
        except PowerCut as cut:
            self._cut = cut
        self.is_done = True
        self._stands.release()


class SimulatedWorkers:
    def __init__(self, random: Random, machine: Machine, *, in_pieces: bool = False) -> None:
        self._random = random
        self._in_pieces = in_pieces
        self._waiting: dict[str, deque[Step]] = {"write": deque(), "settle": deque(), "read": deque()}
        self._errands: dict[str, list[Errand]] = {kind: [] for kind in self._waiting}
        self._outcomes: dict[str, deque[Step]] = {kind: deque() for kind in self._waiting}
        self._soon: deque[Step] = deque()
        if in_pieces:
            machine.before_operation = self._pause

    def write(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._waiting["write"].append(partial(self._run, "write", work, done))

    def settle(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._waiting["settle"].append(partial(self._run, "settle", work, done))

    def read(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._waiting["read"].append(partial(self._run, "read", work, done))

    def soon(self, work: Step) -> None:
        self._soon.append(work)

    def close(self) -> None:
        """Does everything that was handed over, and brings it back."""
        while not self.is_idle():
            self.step()

    def drop(self) -> None:
        """The process is gone, and everything that it was at."""
        for errands in self._errands.values():
            for errand in errands:
                errand.drop()

    def is_idle(self) -> bool:
        return not (self._soon or any(self._busy()) or any(self._outcomes.values()))

    def step(self) -> None:
        """One thing that threads and loop could do next."""
        choices: list[Step] = [
            partial(self._go_on, kind) for kind, is_busy in zip(self._waiting, self._busy()) if is_busy
        ]
        choices += [partial(_do_first, outcomes) for outcomes in self._outcomes.values() if outcomes]
        if self._soon:
            choices.append(partial(_do_first, self._soon))
        if choices:
            self._random.choice(choices)()

    def _busy(self) -> list[bool]:
        return [bool(self._waiting[kind] or self._errands[kind]) for kind in self._waiting]

    def _go_on(self, kind: str) -> None:
        waiting, errands = self._waiting[kind], self._errands[kind]
        if not self._in_pieces:
            _do_first(waiting)
            return
        if waiting and len(errands) < (READERS if kind == "read" else 1):
            errands.append(Errand(waiting.popleft()))
        errand = self._random.choice(errands)
        try:
            errand.go_on()
        finally:
            if errand.is_done:
                errands.remove(errand)

    def _pause(self) -> None:
        """Called before each disk operation, in whichever thread does it."""
        for errands in self._errands.values():
            for errand in errands:
                if errand.thread is current_thread():
                    errand.pause()
                    return

    def _run(self, kind: str, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        outcome: T | BaseException
        try:
            outcome = work()
        except Exception as error:
            outcome = error
        self._outcomes[kind].append(partial(done, outcome))


def _do_first(steps: deque[Step]) -> None:
    steps.popleft()()
