"""Every API in every version that ApiVersions tells of, with requests of all shapes, against the wire of clients."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kio.index import load_request_schema

from kohort.gateway.apis import APIS
from kohort.model.errors import ErrorCode
from tests.gateway.client import Gateway, frame
from tests.gateway.scripted_carrier import ScriptedCarrier, refusing
from tests.wire.entities import entities, message

WORKING = [(api.key, version) for api in APIS.values() for version in range(api.min_version, api.max_version + 1)]
NAMES = [f"{APIS[key].name}-v{version}" for key, version in WORKING]
PRODUCE, HEARTBEAT = 0, 12
QUICK = settings(max_examples=5, deadline=None, phases=(Phase.generate,), suppress_health_check=(HealthCheck.too_slow,))


@pytest.mark.parametrize(("api_key", "version"), WORKING, ids=NAMES)
@QUICK
@given(data=st.data())
def test_a_request_of_any_shape_has_an_answer_that_clients_can_read(
    api_key: int, version: int, data: st.DataObject
) -> None:
    request = data.draw(entities(load_request_schema(api_key, version)))
    client = Gateway(ScriptedCarrier()).connect()
    client.send(frame(api_key, version, 77, message(request)))
    if api_key == PRODUCE and request.acks == 0:
        assert client.frames == []
    else:
        assert client.correlation_ids == [77]
        client.answer(api_key, version)
    assert not client.transport.is_closed


@pytest.mark.parametrize(("api_key", "version"), WORKING, ids=NAMES)
@QUICK
@given(data=st.data())
def test_a_refusal_of_the_whole_request_has_an_answer_that_clients_can_read(
    api_key: int, version: int, data: st.DataObject
) -> None:
    request = data.draw(entities(load_request_schema(api_key, version)))
    carrier = ScriptedCarrier(script=refusing(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "not yet"))
    client = Gateway(carrier).connect()
    client.send(frame(api_key, version, 78, message(request)))
    if api_key == PRODUCE and request.acks == 0:
        assert client.transport.is_closed
        return
    assert client.correlation_ids == [78]
    answer = str(client.answer(api_key, version))
    if api_key == HEARTBEAT:
        assert "ErrorCode.none" in answer  # so that members go on while their group is loaded, as Kafka does
    elif carrier.commands and _asks_for_something(request):
        assert "coordinator_load_in_progress" in answer


@pytest.mark.parametrize(("api_key", "version"), WORKING, ids=NAMES)
@QUICK
@given(data=st.data())
def test_a_handler_that_fails_is_told_to_the_client_and_the_connection_lives(
    api_key: int, version: int, data: st.DataObject
) -> None:
    def fail(command: object) -> object:
        raise RuntimeError("a fault in the broker")

    request = data.draw(entities(load_request_schema(api_key, version)))
    client = Gateway(ScriptedCarrier(script=fail)).connect()
    client.send(frame(api_key, version, 79, message(request)))
    if api_key == PRODUCE and request.acks == 0:
        assert client.transport.is_closed
        return
    assert client.correlation_ids == [79]
    client.answer(api_key, version)
    assert not client.transport.is_closed


def _asks_for_something(request: object) -> bool:
    """Whether the request names anything that an error can be told for; else its answer may be empty."""
    lists = ("topics", "topic_names", "topic_data", "resources")
    for name in lists:
        if hasattr(request, name):
            return bool(getattr(request, name)) and all(
                getattr(item, "partitions", getattr(item, "partition_data", getattr(item, "partition_indexes", True)))
                for item in getattr(request, name)
            )
    return True
