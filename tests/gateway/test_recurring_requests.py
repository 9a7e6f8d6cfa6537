"""Heartbeats that come again in the same bytes: read once, and never taken for somebody else's."""

from types import SimpleNamespace

from kohort.gateway.recurring_requests import _MOST_BYTES, _MOST_REQUESTS
from kohort.model.commands.groups import Heartbeat
from tests.gateway.client import Client, Gateway, api_versions_frame, frame
from tests.gateway.scripted_carrier import ScriptedCarrier

HEARTBEAT = 12


def heartbeat_frame(number: int, generation: int = 1, client_id: str = "", group_id: str = "g") -> bytes:
    request = SimpleNamespace(group_id=group_id, generation_id=generation, member_id="m", group_instance_id=None)
    return frame(HEARTBEAT, 4, number, request, client_id)


def heartbeats(carrier: ScriptedCarrier) -> list[Heartbeat]:
    return [command for command in carrier.commands if isinstance(command, Heartbeat)]


def test_a_heartbeat_that_comes_again_is_the_very_same_command_under_another_number() -> None:
    client = Gateway(carrier := ScriptedCarrier()).connect()
    client.send(heartbeat_frame(1) + heartbeat_frame(-2) + heartbeat_frame(3))
    first, second, third = carrier.commands
    assert first is second is third
    assert client.correlation_ids == [1, 0xFFFFFFFE, 3]


def test_a_heartbeat_that_says_anything_else_is_another() -> None:
    client = Gateway(carrier := ScriptedCarrier()).connect()
    client.send(heartbeat_frame(1) + heartbeat_frame(2, generation=2) + heartbeat_frame(3))
    assert [command.generation_id for command in heartbeats(carrier)] == [1, 2, 1]


def test_a_client_that_takes_another_name_sends_its_heartbeats_under_it() -> None:
    client = Gateway(carrier := ScriptedCarrier()).connect()
    for name in ("one", "other", "one"):
        client.send(heartbeat_frame(1, client_id=name))
    assert [command.origin.client_id for command in heartbeats(carrier)] == ["one", "other", "one"]


def test_a_client_that_says_late_which_software_it_is_sends_its_heartbeats_as_that() -> None:
    client = Gateway(carrier := ScriptedCarrier()).connect()
    client.send(heartbeat_frame(1))
    client.send(api_versions_frame(2, name="librdkafka"))
    client.send(heartbeat_frame(3))
    assert [command.origin.software_name for command in heartbeats(carrier)] == ["", "librdkafka"]


def test_two_connections_never_share_a_command() -> None:
    gateway = Gateway(carrier := ScriptedCarrier())
    for client in (gateway.connect(), gateway.connect()):
        client.send(heartbeat_frame(1))
    assert len({command.origin.connection_id for command in heartbeats(carrier)}) == 2


def test_neither_large_heartbeats_nor_many_are_kept() -> None:
    client = Gateway(carrier := ScriptedCarrier()).connect()
    large = heartbeat_frame(1, group_id="g" * _MOST_BYTES)
    client.send(large + large)
    first, second = carrier.commands
    assert first == second
    assert first is not second
    for number in range(3 * _MOST_REQUESTS):
        client.send(heartbeat_frame(number, generation=number))
    assert kept(client) <= _MOST_REQUESTS


def kept(client: Client) -> int:
    return len(client.connection._recurring._known)
