"""DescribeConfigs: the settings of topics and brokers, and where each value comes from.

Versions: 1 synonyms; 3 types and documentation; 4 flexible.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import (
    ConfigEntry,
    ConfigsAnswer,
    ConfigSynonym,
    DescribeConfigs,
    Resource,
    ResourceOutcome,
    ResourceQuery,
)
from kohort.model.errors import Refused

_DOCUMENTATION_SINCE = 3


class ConfigMessage(NamedTuple):
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    config_type: int
    documentation: str | None


class ResourceMessage(NamedTuple):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: tuple[ConfigMessage, ...] = ()


class DescribeConfigsMessage(NamedTuple):
    results: tuple[ResourceMessage, ...]
    throttle_time_ms: int = 0


def handle_describe_configs(request: Request, call: Call) -> None:
    resources = tuple(
        ResourceQuery(Resource(asked.resource_type, asked.resource_name), asked.configuration_keys)
        for asked in request.resources
    )
    include_documentation = call.version >= _DOCUMENTATION_SINCE and request.include_documentation
    call.send(DescribeConfigs(resources, request.include_synonyms, include_documentation), partial(_answer, call))


def _answer(call: Call, answer: ConfigsAnswer) -> None:
    call.answer(DescribeConfigsMessage(tuple(map(_resource, answer.resources))))


def _resource(outcome: ResourceOutcome) -> ResourceMessage:
    return ResourceMessage(
        outcome.error_code,
        outcome.error_message,
        outcome.resource.resource_type,
        outcome.resource.resource_name,
        tuple(map(_config, outcome.configs)),
    )


def _config(config: ConfigEntry) -> ConfigMessage:
    return ConfigMessage(
        config.name,
        config.value,
        config.read_only,
        config.source,
        config.is_sensitive,
        config.synonyms,
        config.config_type,
        config.documentation,
    )


def refuse_describe_configs(request: Request, refused: Refused, call: Call) -> Message:
    return DescribeConfigsMessage(
        tuple(
            ResourceMessage(refused.error_code, refused.error_message, asked.resource_type, asked.resource_name)
            for asked in request.resources
        )
    )


DESCRIBE_CONFIGS = Api(32, "DescribeConfigs", 1, 4, handle_describe_configs, refuse_describe_configs)
