"""ListConfigResources: what has settings. Admin clients ask it before they describe everything there is.

Versions: 0 is ListClientMetricsResources of old; 1 says which types, none meaning all.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import ConfigResourcesListed, ListConfigResources, Resource, ResourceType
from kohort.model.errors import Refused

_TYPES_SINCE = 1


class ConfigResourcesMessage(NamedTuple):
    error_code: int
    config_resources: tuple[Resource, ...]
    throttle_time_ms: int = 0


def handle_list_config_resources(request: Request, call: Call) -> None:
    types = request.resource_types if call.version >= _TYPES_SINCE else (ResourceType.CLIENT_METRICS,)
    call.send(ListConfigResources(types), partial(_answer, call))


def _answer(call: Call, listed: ConfigResourcesListed) -> None:
    call.answer(ConfigResourcesMessage(listed.error_code, listed.config_resources))


def refuse_list_config_resources(request: Request, refused: Refused, call: Call) -> Message:
    return ConfigResourcesMessage(refused.error_code, ())


LIST_CONFIG_RESOURCES = Api(74, "ListConfigResources", 0, 1, handle_list_config_resources, refuse_list_config_resources)
