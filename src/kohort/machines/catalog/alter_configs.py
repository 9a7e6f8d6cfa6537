"""Changing settings of topics, brokers and groups, each resource of a request for itself, in Kafka's words for why not.

Values are kept in the one spelling that setting.render gives them. Loggers and client metrics have no settings to
change yet, and say so.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from kohort.machines.catalog.names import check_name
from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import EVERY_BROKER, CatalogState
from kohort.machines.contract import Moment
from kohort.model.commands.catalog import (
    AlterConfigs,
    ConfigOperation,
    ConfigsAnswer,
    ConfigType,
    ResourceChanges,
    ResourceOutcome,
    ResourceType,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.group_settings import GROUP_SETTINGS, checked_group_configs, synonym_of
from kohort.model.ids import OrgId
from kohort.model.records.catalog import BrokerConfigsRecord, CatalogRecord, GroupConfigsRecord, TopicRecord
from kohort.model.setting import ConfigError, Setting, Value, parse, render
from kohort.model.settings import BROKER_SETTINGS, value_of
from kohort.model.topic_settings import TOPIC_SETTINGS, checked_configs, inherited


def handle_alter_configs(state: CatalogState, org_id: OrgId, command: AlterConfigs, moment: Moment) -> Outcome:
    times_named = Counter(changes.resource for changes in command.resources)
    records: list[CatalogRecord] = []
    outcomes: list[ResourceOutcome] = []
    for changes in command.resources:
        try:
            if times_named[changes.resource] > 1:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            records += _alter(state, org_id, changes, command.replace)
        except ProtocolError as refusal:
            outcomes.append(ResourceOutcome(changes.resource, refusal.code, refusal.message))
        else:
            outcomes.append(ResourceOutcome(changes.resource, ErrorCode.NONE))
    return Outcome(() if command.validate_only else tuple(records), ConfigsAnswer(tuple(outcomes)))


def _alter(state: CatalogState, org_id: OrgId, changes: ResourceChanges, replace_all: bool) -> list[CatalogRecord]:
    resource = changes.resource
    match resource.resource_type:
        case ResourceType.TOPIC:
            return _alter_topic(state, org_id, changes, replace_all)
        case ResourceType.BROKER:
            return _alter_broker(state, changes, replace_all)
        case ResourceType.BROKER_LOGGER if not replace_all:
            _check_is_this_broker(state, resource.resource_name, "Unexpected node id. Expected {}, but received {}")
            return _alter_nothing(changes, ErrorCode.INVALID_CONFIG, "Logger {} does not exist!")
        case ResourceType.GROUP_CONFIG:
            if not resource.resource_name:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
            return _alter_group(state, org_id, changes, replace_all)
        case ResourceType.CLIENT_METRICS:
            if not resource.resource_name:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
            return _alter_nothing(changes, ErrorCode.INVALID_REQUEST, "Unknown client metrics configuration: {}")
        case other:
            raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {other}")


def _alter_nothing(changes: ResourceChanges, code: ErrorCode, refusal: str) -> list[CatalogRecord]:
    """A resource that has no settings: whoever names one is refused."""
    for change in changes.changes:
        raise ProtocolError(code, refusal.format(change.name))
    return []


# Topics


def _alter_topic(
    state: CatalogState, org_id: OrgId, changes: ResourceChanges, replace_all: bool
) -> list[CatalogRecord]:
    name = changes.resource.resource_name
    if not name:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    check_name(name)
    topic = state.topic(org_id, name)
    if topic is None:
        raise ProtocolError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")

    settings = {each: topic_setting.setting for each, topic_setting in TOPIC_SETTINGS.items()}
    owner = _Owner(topic.configs, settings, lambda setting_name: inherited(setting_name, state.settings))
    configs = _changed(owner, changes, replace_all)
    try:
        checked = checked_configs(configs, state.settings)
    except ConfigError as error:
        raise ProtocolError(ErrorCode.INVALID_CONFIG, str(error)) from None
    return [TopicRecord(replace(topic, configs=checked))] if checked != topic.configs else []


# Brokers


def _alter_broker(state: CatalogState, changes: ResourceChanges, replace_all: bool) -> list[CatalogRecord]:
    name = changes.resource.resource_name
    if name != EVERY_BROKER:
        _check_is_this_broker(state, name, "Unexpected broker id, expected {}, but received {}")
    own = state.broker_configs.get(name, {})
    owner = _Owner(own, BROKER_SETTINGS, lambda setting_name: value_of(state.settings, setting_name))
    configs = _changed(owner, changes, replace_all)
    fixed = [each for each in configs if each in BROKER_SETTINGS and not BROKER_SETTINGS[each].dynamic]
    if fixed:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    unknown = next((each for each in configs if each not in BROKER_SETTINGS), None)
    if unknown is not None:
        # Kafka takes any name, for the sake of plugins that may know it. There are none here, so it must be a mistake.
        raise ProtocolError(ErrorCode.INVALID_CONFIG, f"Unknown broker config name: {unknown}")
    try:
        checked = {each: render(parse(BROKER_SETTINGS[each], text)) or "" for each, text in configs.items()}
    except ConfigError as error:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, str(error)) from None
    return [BrokerConfigsRecord(name, checked)] if checked != own else []


# Groups


def _alter_group(
    state: CatalogState, org_id: OrgId, changes: ResourceChanges, replace_all: bool
) -> list[CatalogRecord]:
    """A group may be configured before it exists, and keeps that when it is deleted, as in Kafka."""
    group_id = changes.resource.resource_name
    own = state.group_configs.get((org_id, group_id), {})
    owner = _Owner(own, GROUP_SETTINGS, lambda setting_name: value_of(state.settings, synonym_of(setting_name)))
    configs = _changed(owner, changes, replace_all)
    try:
        checked = checked_group_configs(configs, state.settings)
    except ConfigError as error:
        raise ProtocolError(ErrorCode.INVALID_CONFIG, str(error)) from None
    return [GroupConfigsRecord(org_id, group_id, checked)] if checked != own else []


def _check_is_this_broker(state: CatalogState, broker_name: str, refusal: str) -> None:
    if not broker_name.removeprefix("-").isdecimal():
        raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {broker_name}")
    this_broker = state.static_settings.node_id
    if broker_name != str(this_broker):
        raise ProtocolError(ErrorCode.INVALID_REQUEST, refusal.format(this_broker, broker_name))


# Either


class _Owner(NamedTuple):
    """What has settings: its own, as text, every one it could have, and what it has when it has not its own."""

    configs: Mapping[str, str]
    settings: Mapping[str, Setting]
    inherited: Callable[[str], Value]


def _changed(owner: _Owner, changes: ResourceChanges, replace_all: bool) -> dict[str, str]:
    """The owner's settings after the changes, not yet checked."""
    names = Counter(change.name for change in changes.changes)
    if any(times > 1 for times in names.values()):
        raise ProtocolError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    configs = {} if replace_all else dict(owner.configs)
    for change in changes.changes:
        if change.operation == ConfigOperation.DELETE:
            configs.pop(change.name, None)
            continue
        if change.value is None:
            raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {change.name}")
        match change.operation:
            case ConfigOperation.SET:
                configs[change.name] = change.value
            case ConfigOperation.APPEND:
                words = _words(owner, change.name, "APPEND")
                words += (word for word in change.value.split(",") if word not in words)
                configs[change.name] = ",".join(words)
            case ConfigOperation.SUBTRACT:
                unwanted = change.value.split(",")
                words = _words(owner, change.name, "SUBTRACT")
                configs[change.name] = ",".join(word for word in words if word not in unwanted)
            case other:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Unknown operation {other} for {change.name}")
    return configs


def _words(owner: _Owner, name: str, operation: str) -> list[str]:
    """The list that a setting has now."""
    setting = owner.settings.get(name)
    if setting is None or setting.config_type is not ConfigType.LIST:
        raise ProtocolError(ErrorCode.INVALID_CONFIG, f"Can't {operation} to key {name} because its type is not LIST.")
    value = parse(setting, owner.configs[name]) if name in owner.configs else owner.inherited(name)
    return list(value)
