"""Arbitrary bytes into a connection: no exception escapes, memory stays bounded, others are served."""

import resource
import tracemalloc
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.client import Gateway, api_versions_frame, fetch_frame, metadata_frame, produce_frame
from tests.gateway.scripted_carrier import ScriptedCarrier

HONEST = [api_versions_frame(1), metadata_frame(2), produce_frame(3), produce_frame(4, acks=0), fetch_frame(5)]
ALLOWED_BYTES = 8 << 20


@st.composite
def mutated_frames(draw: st.DrawFn) -> bytes:
    """An honest request with some of its bytes replaced, its size mostly left alone so that what follows is read."""
    data = bytearray(draw(st.sampled_from(HONEST)))
    first = draw(st.sampled_from([0, 4, 4, 4, 4]))
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(first, len(data) - 1))] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    return bytes(data)


framed_garbage = st.binary(min_size=8, max_size=64).map(lambda data: len(data).to_bytes(4, "big") + data)
streams = st.lists(st.binary(max_size=64) | framed_garbage | mutated_frames() | st.sampled_from(HONEST), max_size=8)


@settings(max_examples=300, deadline=None, suppress_health_check=(HealthCheck.too_slow,))
@given(pieces=streams, cut=st.integers(1, 200))
def test_no_bytes_hurt_anybody_but_their_sender(pieces: list[bytes], cut: int) -> None:
    gateway = Gateway(ScriptedCarrier())
    client = gateway.connect()
    client.send(b"".join(pieces), piece=cut)
    stranger = gateway.connect()
    stranger.send(metadata_frame(9))
    assert stranger.correlation_ids == [9]
    client.transport.hang_up()
    gateway.loop.crank()
    assert gateway.shared.in_flight.used == 0
    assert gateway.shared.arriving.used == 0


def test_no_bytes_make_a_connection_take_memory_beyond_a_small_multiple_of_them() -> None:
    @settings(max_examples=150, deadline=None, database=None, suppress_health_check=(HealthCheck.too_slow,))
    @given(pieces=streams)
    def feed(pieces: list[bytes]) -> None:
        client = Gateway(ScriptedCarrier()).connect()
        data = b"".join(pieces)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        client.send(data)
        assert tracemalloc.get_traced_memory()[1] - before < ALLOWED_BYTES

    for honest in HONEST:
        Gateway(ScriptedCarrier()).connect().send(honest)
    tracemalloc.start()
    try:
        feed()
    finally:
        tracemalloc.stop()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_announcing_large_requests_costs_no_more_memory_than_the_bytes_that_came() -> None:
    gateway = Gateway(ScriptedCarrier())
    announced = (90 << 20).to_bytes(4, "big") + produce_frame(1)[4:] + bytes(20_000)
    before = resident_bytes()
    clients = [gateway.connect() for _ in range(100)]
    for client in clients:
        client.send(announced)
        client.send(bytes(1000))
    assert resident_bytes() - before < 16 << 20, "a hundred clients sent 2 MB in all"
    for client in clients:
        client.transport.hang_up()
    gateway.loop.crank()
    assert gateway.shared.arriving.used == 0
