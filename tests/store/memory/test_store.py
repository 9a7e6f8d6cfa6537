"""What is particular to the store in memory; what every store promises is in tests/contract."""

from collections import deque
from collections.abc import Callable
from uuid import UUID

import pytest

from kohort.store.log import Durability, LogConfig, LogId, StoreError
from kohort.store.memory.store import MemoryStore
from tests.batches import values

ORDERS = LogId(0, "orders", UUID(int=7), 0)


@pytest.fixture
def soon() -> deque[Callable[[], None]]:
    return deque()


@pytest.fixture
def store(soon: deque[Callable[[], None]]) -> MemoryStore:
    store = MemoryStore(soon.append)
    store.open()
    return store


def test_an_open_store_cannot_be_opened_again(store: MemoryStore) -> None:
    with pytest.raises(StoreError, match="open already"):
        store.open()


def test_an_append_is_done_when_soon_comes_and_not_before(store: MemoryStore, soon: deque[Callable[[], None]]) -> None:
    log = store.log(ORDERS, LogConfig())
    done: list[StoreError | None] = []
    log.append([values(0, 2)], Durability.FSYNC, done.append)
    assert (log.readable_offset, done) == (0, [])
    soon.popleft()()
    assert (log.readable_offset, done) == (2, [None])


def test_an_append_below_the_end_is_a_mistake_of_the_caller(store: MemoryStore) -> None:
    log = store.log(ORDERS, LogConfig())
    log.append([values(0, 2)], Durability.FSYNC, lambda _: None)
    with pytest.raises(ValueError, match="ends at 2"):
        log.append([values(1, 2)], Durability.FSYNC, lambda _: None)


def test_a_log_of_a_closed_store_takes_nothing_more(store: MemoryStore, soon: deque[Callable[[], None]]) -> None:
    log = store.log(ORDERS, LogConfig())
    store.close()
    done: list[StoreError | None] = []
    log.append([values(0, 1)], Durability.FSYNC, done.append)
    soon.popleft()()
    assert isinstance(done[0], StoreError)
