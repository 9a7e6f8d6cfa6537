"""Requests that come again in the very same bytes: read once, whatever the frame around them."""

from kohort.wire import recurring_requests
from kohort.wire.recurring_requests import remembering


def test_a_body_is_read_once_wherever_it_lies() -> None:
    read: list[bytes] = []

    def decode(frame: memoryview, position: int) -> tuple[bytes]:
        read.append(bytes(frame[position:]))
        return (read[-1],)

    decoder = remembering(decode)
    first = decoder(memoryview(b"head-body"), 5)
    assert decoder(memoryview(b"another-body"), 8) is first
    assert decoder(memoryview(b"head-other"), 5) == (b"other",)
    assert read == [b"body", b"other"]


def test_large_bodies_and_many_bodies_are_not_kept() -> None:
    read: list[int] = []
    decoder = remembering(lambda frame, position: read.append(position) or (len(read),))  # type: ignore[func-returns-value]
    large = memoryview(bytes(recurring_requests._MOST_BYTES + 1))
    assert decoder(large, 0) != decoder(large, 0)
    before = len(read)
    small = [memoryview(number.to_bytes(4, "big")) for number in range(recurring_requests._MOST_REQUESTS + 1)]
    for each in (*small, small[0]):
        decoder(each, 0)
    assert len(read) - before == len(small) + 1
