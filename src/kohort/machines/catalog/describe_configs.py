"""What settings a topic or a broker has, where each value comes from, and what would stand in for it."""

from collections.abc import Iterator
from dataclasses import replace

from kohort.machines.catalog.names import check_name
from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import EVERY_BROKER, CatalogState
from kohort.machines.contract import Moment
from kohort.model.commands.catalog import (
    ConfigEntry,
    ConfigResourcesListed,
    ConfigsAnswer,
    ConfigSource,
    ConfigSynonym,
    DescribeConfigs,
    ListConfigResources,
    Resource,
    ResourceOutcome,
    ResourceType,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import OrgId
from kohort.model.setting import Setting, render
from kohort.model.settings import BROKER_SETTINGS, value_of
from kohort.model.topic_settings import TOPIC_SETTINGS, Synonym, inherited
from kohort.model.topics import Topic

_LISTABLE = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP_CONFIG,
)


def handle_describe_configs(state: CatalogState, org_id: OrgId, command: DescribeConfigs, moment: Moment) -> Outcome:
    outcomes: list[ResourceOutcome] = []
    for query in command.resources:
        try:
            entries = _describe(state, org_id, query.resource)
        except ProtocolError as refusal:
            outcomes.append(ResourceOutcome(query.resource, refusal.code, refusal.message))
            continue
        configs = tuple(_shown(entry, command) for entry in entries if not query.names or entry.name in query.names)
        outcomes.append(ResourceOutcome(query.resource, ErrorCode.NONE, configs=configs))
    return Outcome((), ConfigsAnswer(tuple(outcomes)))


def handle_list_config_resources(
    state: CatalogState, org_id: OrgId, command: ListConfigResources, moment: Moment
) -> Outcome:
    """Groups and client metrics are listed when they have settings; none of them can have any yet."""
    wanted = command.resource_types or _LISTABLE
    if not set(wanted) <= set(_LISTABLE):
        return Outcome((), ConfigResourcesListed(ErrorCode.UNSUPPORTED_VERSION, ()))
    resources: list[Resource] = []
    if ResourceType.TOPIC in wanted:
        resources += (Resource(ResourceType.TOPIC, name) for name in state.topics(org_id))
    for resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        if resource_type in wanted:
            resources += (Resource(resource_type, str(broker.broker_id)) for broker in state.live_brokers())
    return Outcome((), ConfigResourcesListed(ErrorCode.NONE, tuple(resources)))


def describe_topic(state: CatalogState, topic: Topic) -> tuple[ConfigEntry, ...]:
    """Every setting of a topic, with what would stand in for it."""
    return tuple(_topic_entry(state, topic, name) for name in TOPIC_SETTINGS)


def _describe(state: CatalogState, org_id: OrgId, resource: Resource) -> tuple[ConfigEntry, ...]:
    name = resource.resource_name
    match resource.resource_type:
        case ResourceType.TOPIC:
            check_name(name)
            topic = state.topic(org_id, name)
            if topic is None:
                raise ProtocolError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return describe_topic(state, topic)
        case ResourceType.BROKER:
            return _describe_every_broker(state) if name == EVERY_BROKER else _describe_broker(state, name)
        case ResourceType.BROKER_LOGGER:
            if not name:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
            _check_is_this_broker(state, name, "")
            return ()
        case ResourceType.GROUP_CONFIG:
            if not name:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            return ()
        case ResourceType.CLIENT_METRICS:
            if not name:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
            return ()
        case other:
            raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {other}")


# Topics


def _topic_entry(state: CatalogState, topic: Topic, name: str) -> ConfigEntry:
    topic_setting = TOPIC_SETTINGS[name]
    synonyms = tuple(_broker_synonyms(state, topic_setting.synonyms))
    own = topic.configs.get(name)
    if own is not None:
        synonyms = (ConfigSynonym(name, own, ConfigSource.DYNAMIC_TOPIC), *synonyms)
    value = own if own is not None else render(inherited(name, state.settings))
    return _entry(topic_setting.setting, value, synonyms)


# Brokers


def _describe_every_broker(state: CatalogState) -> tuple[ConfigEntry, ...]:
    """Only what was changed for all of them: the rest is not known without asking one."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER
    return tuple(
        _entry(BROKER_SETTINGS[name], value, (ConfigSynonym(name, value, source),))
        for name, value in state.broker_configs.get(EVERY_BROKER, {}).items()
    )


def _describe_broker(state: CatalogState, broker_name: str) -> tuple[ConfigEntry, ...]:
    _check_is_this_broker(state, broker_name, " or empty string,")
    return tuple(
        _entry(
            setting,
            render(value_of(state.settings, name)),
            tuple(_broker_synonyms(state, (Synonym(name),))),
        )
        for name, setting in BROKER_SETTINGS.items()
    )


def _check_is_this_broker(state: CatalogState, broker_name: str, alternative: str) -> None:
    if not broker_name.removeprefix("-").isdecimal():
        raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {broker_name}")
    this_broker = state.static_settings.node_id
    if broker_name != str(this_broker):
        raise ProtocolError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {this_broker}{alternative} but received {broker_name}",
        )


def _broker_synonyms(state: CatalogState, synonyms: tuple[Synonym, ...]) -> Iterator[ConfigSynonym]:
    """Every value that these broker settings have, the ones that count more first."""
    names = [synonym.name for synonym in synonyms]
    this_broker = str(state.static_settings.node_id)
    for broker_name, source in (
        (this_broker, ConfigSource.DYNAMIC_BROKER),
        (EVERY_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER),
    ):
        configs = state.broker_configs.get(broker_name, {})
        yield from (ConfigSynonym(name, configs[name], source) for name in names if name in configs)
    for name in names:
        given = value_of(state.static_settings, name)
        if given != BROKER_SETTINGS[name].default:
            yield ConfigSynonym(name, render(given), ConfigSource.STATIC_BROKER)
    for name in names:
        default = BROKER_SETTINGS[name].default
        if default is not None:
            yield ConfigSynonym(name, render(default), ConfigSource.DEFAULT)


# Either


def _entry(setting: Setting, value: str | None, synonyms: tuple[ConfigSynonym, ...]) -> ConfigEntry:
    return ConfigEntry(
        setting.name,
        value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        config_type=setting.config_type,
        read_only=not setting.dynamic,
        synonyms=synonyms,
        documentation=setting.documentation,
    )


def _shown(entry: ConfigEntry, command: DescribeConfigs) -> ConfigEntry:
    return replace(
        entry,
        synonyms=entry.synonyms if command.include_synonyms else (),
        documentation=entry.documentation if command.include_documentation else None,
    )
