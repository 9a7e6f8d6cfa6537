"""A connection as its client sees it: order, waiting, backpressure, and what becomes of those who misbehave."""

import gc
import logging
import weakref

import pytest

from kohort.gateway.limits import MAX_IN_FLIGHT, Limits
from kohort.model.commands.data import Fetch, PartitionProduced, Produce, Produced, TopicProduced
from kohort.model.errors import ErrorCode
from kohort.model.ids import NO_TOPIC_ID
from tests.gateway.client import (
    API_VERSIONS,
    PRODUCE,
    Gateway,
    api_versions_frame,
    fetch_frame,
    metadata_frame,
    produce_frame,
)
from tests.gateway.scripted_carrier import Owed, ScriptedCarrier

# Order


def test_answers_leave_in_the_order_of_their_requests() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Produce,))).connect()
    client.send(b"".join(produce_frame(number) for number in (1, 2, 3)))
    third, second, first = reversed(carrier.owed)
    third.give()
    second.give()
    client.crank()
    assert client.correlation_ids == []
    first.give()
    client.crank()
    assert client.correlation_ids == [1, 2, 3]


def test_answers_of_one_burst_leave_in_one_write() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Produce,))).connect()
    client.send(b"".join(produce_frame(number) for number in range(10)))
    for owed in carrier.owed:
        owed.give()
    client.crank()
    assert client.correlation_ids == list(range(10))
    assert client.transport.writes == 1


def test_an_answer_behind_which_nothing_waits_leaves_without_another_turn_of_the_loop() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Fetch,))).connect()
    client.send(fetch_frame(1))
    carrier.owed[0].give()
    assert client.correlation_ids == [1]


def test_an_answer_that_came_later_keeps_nothing_alive_until_python_looks_for_cycles() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Fetch,))).connect()
    client.send(fetch_frame(1))
    owed = carrier.owed.pop()
    remains = weakref.ref(owed)
    gc.disable()
    try:
        owed.give()
        del owed
        assert remains() is None
    finally:
        gc.enable()


def test_a_produce_request_without_an_answer_keeps_its_place() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Produce,))).connect()
    client.send(produce_frame(1, acks=0) + produce_frame(2))
    carrier.owed[1].give()
    client.crank()
    assert client.correlation_ids == []
    carrier.owed[0].give()
    client.crank()
    assert client.correlation_ids == [2]


def test_a_failed_produce_request_without_an_answer_costs_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    failed = Produced(
        (TopicProduced("orders", NO_TOPIC_ID, (PartitionProduced(0, ErrorCode.NOT_LEADER_OR_FOLLOWER),)),)
    )
    client = Gateway(ScriptedCarrier(script=lambda command: failed)).connect()
    client.send(produce_frame(1, acks=0))
    assert client.transport.is_closed
    assert "orders-0 answered NOT_LEADER_OR_FOLLOWER" in caplog.text


def test_requests_behind_one_that_waits_are_handled_after_its_answer() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Fetch,))).connect()
    client.send(fetch_frame(1) + metadata_frame(2) + metadata_frame(3))
    assert [type(command) for command in carrier.commands] == [Fetch]
    carrier.owed[0].give()
    client.crank()
    assert client.correlation_ids == [1, 2, 3]


def test_a_request_that_waits_hears_that_another_is_behind_it() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Fetch,))).connect()
    client.send(fetch_frame(1))
    assert carrier.owed[0].hurries == 0
    client.send(metadata_frame(2)[:-1])
    assert carrier.owed[0].hurries == 0, "half a request is not behind it yet"
    client.send(metadata_frame(2)[-1:])
    assert carrier.owed[0].hurries == 1


def test_a_request_may_be_answered_as_it_is_told_to_hurry() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Fetch,))).connect()
    client.send(fetch_frame(1))
    carrier.owed[0].on_hurry = Owed.give
    client.send(metadata_frame(2))
    assert client.correlation_ids == [1, 2]
    assert client.transport.is_reading()


def test_bytes_that_come_one_at_a_time_are_the_same_requests() -> None:
    client = Gateway(ScriptedCarrier()).connect()
    client.send(b"".join((api_versions_frame(1), metadata_frame(2), produce_frame(3), fetch_frame(4))), piece=1)
    assert client.correlation_ids == [1, 2, 3, 4]


@pytest.mark.parametrize("size", [10_000, 70_000, 300_000, 9_000_000])
@pytest.mark.parametrize("piece", [1 << 30, 40_000, 65_537])
def test_large_requests_arrive_whole_however_they_are_cut(size: int, piece: int) -> None:
    records = bytes(range(256)) * (size // 256)
    client = Gateway(carrier := ScriptedCarrier()).connect()
    client.send(b"".join(produce_frame(number, records=records) for number in range(4)), piece)
    assert client.correlation_ids == [0, 1, 2, 3]
    for command in carrier.commands:
        assert isinstance(command, Produce)
        assert command.topics[0].partitions[0].records == records


# ApiVersions and versions


def test_an_unknown_version_of_api_versions_is_answered_in_the_form_of_version_0() -> None:
    client = Gateway(ScriptedCarrier()).connect()
    unknown = bytearray(api_versions_frame(5, version=4))
    unknown[6:8] = (99).to_bytes(2, "big")
    client.send(bytes(unknown))
    answer = client.answer(API_VERSIONS, 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(key.api_key, key.min_version, key.max_version) for key in answer.api_keys] == [(18, 0, 4)]
    client.send(api_versions_frame(6, version=4))
    assert client.answer(API_VERSIONS, 4).error_code == ErrorCode.NONE


def test_the_client_s_software_is_learned() -> None:
    client = Gateway(ScriptedCarrier()).connect()
    client.send(api_versions_frame(1, name="apache-kafka-java", software_version="4.3.1"))
    assert client.connection.client.software_name == "apache-kafka-java"
    assert client.connection.client.software_version == "4.3.1"
    assert client.connection.client.client_id == "tester"


@pytest.mark.parametrize("name", ["", "two words", "-dash-first", "dot-last."])
def test_a_software_name_that_is_none_is_an_invalid_request(name: str) -> None:
    client = Gateway(ScriptedCarrier()).connect()
    client.send(api_versions_frame(1, name=name))
    assert client.answer(API_VERSIONS, 3).error_code == ErrorCode.INVALID_REQUEST
    assert not client.transport.is_closed


def test_produce_is_advertised_from_version_0_for_librdkafka_and_works_from_version_3() -> None:
    client = Gateway(ScriptedCarrier()).connect()
    client.send(api_versions_frame(1))
    produce = next(key for key in client.answer(API_VERSIONS, 3).api_keys if key.api_key == PRODUCE)
    assert (produce.min_version, produce.max_version) == (0, 13)
    old = bytearray(produce_frame(2, version=3))
    old[6:8] = (2).to_bytes(2, "big")
    client.send(bytes(old))
    assert client.transport.is_closed


# Backpressure


def test_no_more_than_so_many_requests_of_a_connection_wait_at_once() -> None:
    client = Gateway(carrier := ScriptedCarrier(holds=(Produce,))).connect()
    client.send(b"".join(produce_frame(number) for number in range(MAX_IN_FLIGHT + 10)))
    assert len(carrier.owed) == MAX_IN_FLIGHT
    assert not client.transport.is_reading()
    for owed in list(carrier.owed):
        owed.give()
    client.crank()
    assert len(carrier.owed) == MAX_IN_FLIGHT + 10
    assert client.transport.is_reading()


def test_the_requests_of_a_client_that_reads_no_answers_stay_in_its_socket() -> None:
    client = Gateway(carrier := ScriptedCarrier(), Limits(unsent_max_bytes=10_000)).connect()
    client.transport.client_reads = False
    client.send(b"".join(metadata_frame(number) for number in range(5_000)))
    handled = len(carrier.commands)
    assert handled < 500
    assert not client.transport.is_reading()
    client.transport.client_reads = True
    client.transport.read_some(1 << 30)
    client.crank()
    assert client.correlation_ids == list(range(5_000))


def test_requests_that_wait_are_bounded_for_all_connections_together() -> None:
    records = bytes(1000)
    gateway = Gateway(carrier := ScriptedCarrier(holds=(Produce,)), Limits(queued_max_request_bytes=20_000))
    clients = [gateway.connect() for _ in range(5)]
    for client in clients:
        client.send(b"".join(produce_frame(number, records=records) for number in range(100)))
    assert len(carrier.owed) < 25
    assert gateway.shared.in_flight.used < 22_000
    answered = 0
    while answered < len(carrier.owed):
        carrier.owed[answered].give()
        answered += 1
        gateway.loop.crank()
        assert gateway.shared.in_flight.used < 22_000
    for client in clients:
        assert client.correlation_ids == list(range(100))
    assert gateway.shared.in_flight.used == 0


def test_everybody_gets_a_turn_when_the_budget_comes_free() -> None:
    gateway = Gateway(carrier := ScriptedCarrier(holds=(Produce,)), Limits(queued_max_request_bytes=5_000))
    greedy, modest = gateway.connect(), gateway.connect()
    greedy.send(b"".join(produce_frame(number, records=bytes(1000)) for number in range(200)))
    modest.send(produce_frame(7, records=bytes(1000)))
    given = 0
    while not modest.correlation_ids:
        carrier.owed[given].give()
        given += 1
        gateway.loop.crank()
        assert given < 20, "the modest client waits for the greedy one's every request"


def test_a_request_larger_than_the_whole_budget_gets_its_turn() -> None:
    client = Gateway(ScriptedCarrier(), Limits(queued_max_request_bytes=1000)).connect()
    client.send(produce_frame(1, records=bytes(500_000)) + produce_frame(2))
    assert client.correlation_ids == [1, 2]


def test_large_requests_that_arrive_slowly_leave_room_for_small_ones() -> None:
    gateway = Gateway(ScriptedCarrier(), Limits(queued_max_request_bytes=1 << 20))
    slow = [gateway.connect() for _ in range(20)]
    for client in slow:
        client.send(produce_frame(1, records=bytes(900_000))[:600_000])
    assert gateway.shared.arriving.used <= 3 << 20
    quick = gateway.connect()
    quick.send(produce_frame(2))
    assert quick.correlation_ids == [2]
    for client in slow:
        client.transport.hang_up()
    gateway.loop.crank()
    assert gateway.shared.arriving.used == 0


# The end


def test_what_is_owed_to_a_client_that_is_gone_is_forgotten() -> None:
    gateway = Gateway(carrier := ScriptedCarrier(holds=(Produce, Fetch)))
    client = gateway.connect()
    client.send(produce_frame(1) + produce_frame(2) + fetch_frame(3))
    client.transport.hang_up()
    client.crank()
    assert [owed.is_forgotten for owed in carrier.owed] == [True, True, True]
    assert gateway.shared.in_flight.used == 0
    assert gateway.lost == [client.connection]
    for owed in carrier.owed:
        owed.give()
    client.crank()
    assert client.correlation_ids == []


HOSTILE = {
    "a frame of 2 GB": (b"\x7f\xff\xff\xff" + b"x" * 100, "announced a request of 2147483647 bytes"),
    "a negative frame": (b"\xff\xff\xff\xff", "announced a request of -1 bytes"),
    "an empty frame": (b"\0\0\0\0", "announced a request of 0 bytes"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: kohort\r\n\r\n", "speaks HTTP"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "speaks TLS"),
    "an unknown API": (b"\0\0\0\x0a" + b"\x03\xe7\0\0\0\0\0\1\xff\xff", "999"),
    "a truncated body": (b"\0\0\0\x0c" + b"\0\3\0\x0c\0\0\0\1\xff\xff\0\x7f", "cannot be read"),
    "a bomb of topics": (b"\0\0\0\x10" + b"\0\3\0\x09\0\0\0\1\xff\xff\0\xff\xff\xff\xff\x07", "cannot be read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_end_the_connection_with_a_line_that_names_the_client(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    data, expected = HOSTILE[name]
    gateway = Gateway(ScriptedCarrier())
    client, bystander = gateway.connect(), gateway.connect()
    client.send(data)
    assert client.transport.is_closed
    assert expected in caplog.text
    assert "192.0.2.7:50000" in caplog.text
    bystander.send(metadata_frame(1))
    assert bystander.correlation_ids == [1]


def test_a_client_that_is_not_admitted_is_told_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(ScriptedCarrier())
    gateway.refusal = "is one too many"
    client = gateway.connect()
    assert client.transport.is_closed
    assert "it is one too many" in caplog.text


# Standing still


def stand_still(client: object, gateway: Gateway, seconds: float) -> None:
    gateway.loop.now += seconds
    client.connection.check_progress(gateway.loop.now)  # type: ignore[attr-defined]
    gateway.loop.crank()


def test_a_client_that_leaves_its_answers_unread_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(ScriptedCarrier(), Limits(unsent_max_bytes=10_000, stalled_client_ms=30_000))
    client = gateway.connect()
    client.transport.client_reads = False
    client.send(b"".join(metadata_frame(number) for number in range(500)))
    stand_still(client, gateway, 0)
    stand_still(client, gateway, 29)
    client.transport.read_some(10)
    stand_still(client, gateway, 1)
    stand_still(client, gateway, 29)
    assert not client.transport.is_closed, "it has read ten bytes, and counts as slow"
    stand_still(client, gateway, 1)
    assert client.transport.is_aborted
    assert "bytes of answers unread" in caplog.text


def test_a_request_left_half_sent_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(ScriptedCarrier())
    client = gateway.connect()
    client.send(metadata_frame(1)[:7])
    stand_still(client, gateway, 29)
    assert not client.transport.is_closed
    stand_still(client, gateway, 1)
    assert client.transport.is_closed
    assert "half sent" in caplog.text


def test_an_idle_client_is_closed_and_one_that_waits_for_an_answer_is_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    gateway = Gateway(ScriptedCarrier(holds=(Fetch,)), Limits(connections_max_idle_ms=60_000))
    idle, waiting = gateway.connect(), gateway.connect()
    idle.send(metadata_frame(1))
    waiting.send(fetch_frame(1))
    stand_still(idle, gateway, 59)
    assert not idle.transport.is_closed
    stand_still(idle, gateway, 1)
    stand_still(waiting, gateway, 0)
    assert idle.transport.is_closed
    assert "is idle" in caplog.text
    assert not waiting.transport.is_closed
