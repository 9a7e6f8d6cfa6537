"""Memory is written anew only when nobody looks into it any more."""

from kohort.store.files.aligned_memory import AlignedMemory, MemoryPool

SIZE = 1 << 16


def test_memory_that_somebody_looks_into_is_not_reclaimed() -> None:
    memory = AlignedMemory(SIZE)
    memory.view[:5] = b"hello"
    held = memory.view[:5]
    assert not memory.reclaim()
    assert bytes(held) == b"hello"
    held.release()
    assert memory.reclaim()


def test_a_slice_of_a_slice_counts_too() -> None:
    memory = AlignedMemory(SIZE)
    outer = memory.view[:100]
    inner = outer[10:20]
    outer.release()
    assert not memory.reclaim()
    inner.release()
    assert memory.reclaim()


def test_the_pool_hands_out_again_what_is_free_and_of_the_size_asked() -> None:
    pool = MemoryPool(4 * SIZE)
    first = pool.take(SIZE)
    pool.give_back(first)
    assert pool.take(2 * SIZE) is not first
    assert pool.take(SIZE) is first


def test_the_pool_does_not_hand_out_what_is_still_looked_into() -> None:
    pool = MemoryPool(4 * SIZE)
    first = pool.take(SIZE)
    held = first.view[:10]
    pool.give_back(first)
    assert pool.take(SIZE) is not first
    held.release()
    assert pool.take(SIZE) is first


def test_the_pool_keeps_no_more_than_it_may() -> None:
    pool = MemoryPool(2 * SIZE)
    pieces = [pool.take(SIZE) for _ in range(4)]
    for piece in pieces:
        pool.give_back(piece)
    again = [pool.take(SIZE) for _ in range(4)]
    assert [piece for piece in again if piece in pieces] == pieces[2:]
