"""Threads do the work, the loop's thread hears of it, and closing leaves nothing undone."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from kohort.store.files.thread_workers import ThreadWorkers


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def run_until(loop: asyncio.AbstractEventLoop, count: int, outcomes: list[object]) -> None:
    deadline = time.monotonic() + 10
    while len(outcomes) < count:
        assert time.monotonic() < deadline
        loop.run_until_complete(asyncio.sleep(0.001))


def test_outcomes_come_in_order_on_the_thread_of_the_loop(loop: asyncio.AbstractEventLoop) -> None:
    workers = ThreadWorkers(loop)
    outcomes: list[object] = []
    threads: set[int] = set()
    for number in range(50):
        workers.write(
            lambda number=number: (number, threading.get_ident()),
            lambda outcome: (outcomes.append(outcome), threads.add(threading.get_ident())),
        )
    run_until(loop, 50, outcomes)
    assert [outcome[0] for outcome in outcomes] == list(range(50))
    assert threads == {threading.get_ident()}
    assert threading.get_ident() not in {outcome[1] for outcome in outcomes}
    workers.close()


def test_an_error_is_an_outcome(loop: asyncio.AbstractEventLoop) -> None:
    workers = ThreadWorkers(loop)
    outcomes: list[object] = []

    def fail() -> None:
        raise OSError("no")

    workers.settle(fail, outcomes.append)
    run_until(loop, 1, outcomes)
    assert isinstance(outcomes[0], OSError)
    workers.close()


def test_what_comes_soon_runs_later_in_order(loop: asyncio.AbstractEventLoop) -> None:
    workers = ThreadWorkers(loop)
    outcomes: list[object] = []
    for number in range(3):
        workers.soon(lambda number=number: outcomes.append(number))
    assert outcomes == []
    run_until(loop, 3, outcomes)
    assert outcomes == [0, 1, 2]
    workers.close()


def test_closing_finishes_what_was_given_and_what_follows_from_it(loop: asyncio.AbstractEventLoop) -> None:
    workers = ThreadWorkers(loop)
    outcomes: list[object] = []

    def on_written(outcome: object) -> None:
        outcomes.append(outcome)
        workers.soon(lambda: workers.settle(lambda: "settled", outcomes.append))

    workers.write(lambda: time.sleep(0.05) or "written", on_written)
    workers.close()
    assert outcomes == ["written", "settled"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("kohort-") and thread.is_alive()]
