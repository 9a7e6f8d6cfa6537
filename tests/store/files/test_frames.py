"""A frame counts whole or not at all, and nothing that only looks like one counts."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kohort.store.files.frames import (
    ENTRY_HEADER_SIZE,
    FRAME_HEADER_SIZE,
    EntryKind,
    decode_frame_header,
    decode_log_id,
    encode_log_id,
    entries,
    finish_frame,
    is_intact,
    pack_entry,
)
from kohort.store.log import LogId

START = 4096


def laid_frame(payloads: list[bytes], sequence: int = 3, previous: int = 7) -> tuple[bytearray, int]:
    """Memory with one frame of these entries in it, and where the frame ends."""
    memory = bytearray(START + FRAME_HEADER_SIZE + sum(ENTRY_HEADER_SIZE + len(payload) for payload in payloads) + 50)
    position = START + FRAME_HEADER_SIZE
    for number, payload in enumerate(payloads):
        pack_entry(memory, position, EntryKind.BATCHES, number, len(payload))
        position += ENTRY_HEADER_SIZE
        memory[position : position + len(payload)] = payload
        position += len(payload)
    finish_frame(memoryview(memory), START, position, sequence, previous)
    return memory, position


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=5))
def test_entries_come_back_in_order(payloads: list[bytes]) -> None:
    memory, end = laid_frame(payloads)
    view = memoryview(memory)
    header = decode_frame_header(view, START)
    assert header is not None
    assert (header.sequence, header.previous) == (3, 7)
    assert is_intact(view, START, header)
    found = list(entries(view, START, end))
    assert [(entry.log_number, bytes(view[entry.start : entry.end])) for entry in found] == list(enumerate(payloads))


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=3), st.data())
def test_a_frame_with_any_bit_wrong_does_not_count(payloads: list[bytes], data: st.DataObject) -> None:
    memory, end = laid_frame(payloads)
    position = data.draw(st.integers(START, end - 1))
    memory[position] ^= 1 << data.draw(st.integers(0, 7))
    header = decode_frame_header(memoryview(memory), START)
    assert header is None or not is_intact(memoryview(memory), START, header)


def test_a_frame_longer_than_what_is_there_does_not_count() -> None:
    memory, end = laid_frame([b"something"])
    header = decode_frame_header(memoryview(memory), START)
    assert header is not None
    assert not is_intact(memoryview(memory)[: end - 1], START, header)


def test_zeros_are_no_frame() -> None:
    assert decode_frame_header(memoryview(bytes(100)), 0) is None
    assert decode_frame_header(memoryview(b""), 0) is None


@given(st.integers(0, (1 << 63) - 1), st.text(min_size=1, max_size=60), st.uuids(), st.integers(0, (1 << 31) - 1))
def test_a_log_is_told_by_all_of_its_identity(org_id: int, topic: str, topic_id: UUID, partition: int) -> None:
    log_id = LogId(org_id, topic, topic_id, partition)
    assert decode_log_id(encode_log_id(log_id)) == log_id
