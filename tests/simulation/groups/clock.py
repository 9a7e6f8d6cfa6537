"""Virtual time: an event loop that goes from one alarm to the next, and as fast as it can.

What is due in the same millisecond comes in an order that the seed draws. It never waits and never looks at a real
clock. It is as much of asyncio's event loop as the shard uses, so the shard's own tasks and sleeps run on it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

START_MS = 1_700_000_000_000

Callback = Callable[[], object]


class Alarm:
    """Something that is to happen at a time, unless it is cancelled before."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callback) -> None:
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        self.callback = None


class Clock(asyncio.AbstractEventLoop):
    def __init__(self, random: Random) -> None:
        self._random = random
        self._alarms: list[tuple[int, float, int, Alarm]] = []
        self._soon: deque[asyncio.Handle] = deque()
        self._numbers = count()
        self._tasks: list[asyncio.Task[Any]] = []
        self.now_ms = START_MS
        self.steps = 0
        self.failure: object = None
        """What an event loop would have logged: nothing here may end like that."""

    # What a simulation uses

    def at(self, at_ms: int, callback: Callback) -> Alarm:
        alarm = Alarm(callback)
        heappush(self._alarms, (at_ms, self._random.random(), next(self._numbers), alarm))
        return alarm

    def after(self, delay_ms: int, callback: Callback) -> Alarm:
        return self.at(self.now_ms + delay_ms, callback)

    def step(self, until_ms: int) -> bool:
        """Lets the next thing happen; False if nothing more does until then, and then it is that time."""
        self.steps += 1
        if self._soon:
            self._soon.popleft()._run()
            return True
        while self._alarms and self._alarms[0][0] <= until_ms:
            at_ms, _, _, alarm = heappop(self._alarms)
            callback = alarm.callback
            if callback is not None:
                alarm.callback = None
                self.now_ms = max(self.now_ms, at_ms)
                callback()
                return True
        self.now_ms = max(self.now_ms, until_ms)
        return False

    # What asyncio uses

    def time(self) -> float:
        return self.now_ms / 1000

    def get_debug(self) -> bool:
        return False

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._soon.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(self.time() + delay, callback, args, self, context)
        self.after(round(delay * 1000), lambda: handle.cancelled() or handle._run())
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """The alarm finds out when it is due."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], **_: object) -> "asyncio.Task[Any]":  # type: ignore[override]
        task = asyncio.Task(coro, loop=self)
        self._tasks.append(task)
        return task

    def end(self) -> None:
        """Whatever runs in the background ends here."""
        for task in self._tasks:
            task.cancel()
        while self._soon:
            self._soon.popleft()._run()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failure = self.failure or context.get("exception") or context["message"]
