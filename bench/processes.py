"""Runs a load in a process of its own, so that it never shares an interpreter with what measures it.

A load is a plain function; it is forked, so buffers made before are there without a copy. Its result and the CPU it
spent come back through a pipe. The measuring process must have no threads, or a fork could stop halfway.
"""

import multiprocessing
import resource
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from typing import Generic, NamedTuple, TypeVar

Result = TypeVar("Result")
_FORK = multiprocessing.get_context("fork")


class Finished(NamedTuple, Generic[Result]):
    """What a load returned, and the CPU seconds its process spent while it ran."""

    result: Result
    cpu_seconds: float


class LoadFailedError(Exception):
    """A load raised an exception; the message is its traceback."""


def run_apart(*loads: Callable[[], Result]) -> list[Finished[Result]]:
    """Runs the loads at the same time, each in its own process; their results in the same order."""
    running = []
    for load in loads:
        receiving, sending = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=_run, args=(load, sending), daemon=True)
        process.start()
        sending.close()
        running.append((process, receiving))
    outcomes: list[Finished[Result] | str] = []
    for process, receiving in running:
        try:
            outcomes.append(receiving.recv())
        except EOFError:
            outcomes.append(f"the load's process ended with code {process.exitcode} and said nothing")
        process.join()
    return _all_finished(outcomes)


@contextmanager
def running(load: Callable[[], Result]) -> Iterator[None]:
    """Runs a load in its own process until the block ends; then it is killed. It must not have ended by itself."""
    receiving, sending = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_run, args=(load, sending), daemon=True)
    process.start()
    sending.close()
    try:
        yield
        if not process.is_alive():
            raise LoadFailedError(f"the load ended before its time: {receiving.recv()}")
    finally:
        process.kill()
        process.join()


def _all_finished(outcomes: Sequence[Finished[Result] | str]) -> list[Finished[Result]]:
    failures = [outcome for outcome in outcomes if isinstance(outcome, str)]
    if failures:
        raise LoadFailedError("\n".join(failures))
    return [outcome for outcome in outcomes if not isinstance(outcome, str)]


def _run(load: Callable[[], Result], sending: Pipe) -> None:
    try:
        before = _cpu_seconds()
        result = load()
        sending.send(Finished(result, _cpu_seconds() - before))
    except BaseException:
        sending.send(traceback.format_exc())


def _cpu_seconds() -> float:
    """Of this process and of the children it waited for."""
    mine, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime
