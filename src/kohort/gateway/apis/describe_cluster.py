"""DescribeCluster: the cluster's id and its brokers.

Versions: 1 endpoint_type: only brokers answer here, no controllers; 2 fenced brokers when asked for.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from enum import IntEnum
from functools import partial
from typing import NamedTuple

from kohort.gateway.apis.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import BrokerInfo, ClusterDescribed, DescribeCluster
from kohort.model.errors import ErrorCode, ProtocolError, Refused

_ENDPOINT_TYPE_SINCE = 1
_FENCED_BROKERS_SINCE = 2


class EndpointType(IntEnum):
    BROKER = 1
    CONTROLLER = 2


class ClusterMessage(NamedTuple):
    error_code: int
    error_message: str | None
    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerInfo, ...]
    cluster_authorized_operations: int = NOT_ASKED
    endpoint_type: int = EndpointType.BROKER
    throttle_time_ms: int = 0


def handle_describe_cluster(request: Request, call: Call) -> None:
    if call.version >= _ENDPOINT_TYPE_SINCE:
        _require_broker_endpoint(request.endpoint_type)
    include_fenced = call.version >= _FENCED_BROKERS_SINCE and request.include_fenced_brokers
    call.send(DescribeCluster(include_fenced), partial(_answer, request, call))


def _require_broker_endpoint(endpoint_type: int) -> None:
    if endpoint_type == EndpointType.CONTROLLER:
        raise ProtocolError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        )
    if endpoint_type != EndpointType.BROKER:
        raise ProtocolError(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}")


def _answer(request: Request, call: Call, cluster: ClusterDescribed) -> None:
    operations = CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
    call.answer(
        ClusterMessage(ErrorCode.NONE, None, cluster.cluster_id, cluster.controller_id, cluster.brokers, operations)
    )


def refuse_describe_cluster(request: Request, refused: Refused, call: Call) -> Message:
    return ClusterMessage(refused.error_code, refused.error_message, cluster_id="", controller_id=-1, brokers=())


DESCRIBE_CLUSTER = Api(60, "DescribeCluster", 0, 2, handle_describe_cluster, refuse_describe_cluster)
