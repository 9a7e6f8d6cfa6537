"""AlterConfigs and IncrementalAlterConfigs: settings of topics and brokers are changed. Both have the same answer.

Versions of AlterConfigs, which puts every setting it does not name back to its default: 2 flexible.
Versions of IncrementalAlterConfigs, which changes what it names: 1 flexible.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import (
    AlterConfigs,
    ConfigChange,
    ConfigOperation,
    ConfigsAnswer,
    Resource,
    ResourceChanges,
)
from kohort.model.errors import Refused


class ResourceMessage(NamedTuple):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str


class AlterConfigsMessage(NamedTuple):
    responses: tuple[ResourceMessage, ...]
    throttle_time_ms: int = 0


def handle_alter_configs(request: Request, call: Call) -> None:
    resources = tuple(
        ResourceChanges(
            Resource(asked.resource_type, asked.resource_name),
            tuple(ConfigChange(config.name, ConfigOperation.SET, config.value) for config in asked.configs),
        )
        for asked in request.resources
    )
    call.send(AlterConfigs(resources, request.validate_only, replace=True), partial(_answer, call))


def handle_incremental_alter_configs(request: Request, call: Call) -> None:
    resources = tuple(
        ResourceChanges(
            Resource(asked.resource_type, asked.resource_name),
            tuple(ConfigChange(config.name, config.config_operation, config.value) for config in asked.configs),
        )
        for asked in request.resources
    )
    call.send(AlterConfigs(resources, request.validate_only), partial(_answer, call))


def _answer(call: Call, answer: ConfigsAnswer) -> None:
    responses = tuple(
        ResourceMessage(
            outcome.error_code,
            outcome.error_message,
            outcome.resource.resource_type,
            outcome.resource.resource_name,
        )
        for outcome in answer.resources
    )
    call.answer(AlterConfigsMessage(responses))


def refuse_alter_configs(request: Request, refused: Refused, call: Call) -> Message:
    return AlterConfigsMessage(
        tuple(
            ResourceMessage(refused.error_code, refused.error_message, asked.resource_type, asked.resource_name)
            for asked in request.resources
        )
    )


ALTER_CONFIGS = Api(33, "AlterConfigs", 0, 2, handle_alter_configs, refuse_alter_configs)
INCREMENTAL_ALTER_CONFIGS = Api(
    44, "IncrementalAlterConfigs", 0, 1, handle_incremental_alter_configs, refuse_alter_configs
)
