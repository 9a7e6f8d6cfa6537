"""What settings a topic, a broker or a group has, where each value comes from, and what would stand in for it."""

from collections.abc import Iterator

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
from kohort.model.group_settings import GROUP_SETTINGS, synonym_of
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
    description = Description(state, command.include_synonyms, command.include_documentation)
    outcomes: list[ResourceOutcome] = []
    for query in command.resources:
        try:
            entries = description.of_resource(org_id, query.resource)
        except ProtocolError as refusal:
            outcomes.append(ResourceOutcome(query.resource, refusal.code, refusal.message))
            continue
        configs = tuple(entry for entry in entries if not query.names or entry.name in query.names)
        outcomes.append(ResourceOutcome(query.resource, ErrorCode.NONE, configs=configs))
    return Outcome((), ConfigsAnswer(tuple(outcomes)))


def handle_list_config_resources(
    state: CatalogState, org_id: OrgId, command: ListConfigResources, moment: Moment
) -> Outcome:
    """Groups are listed when they have settings of their own; client metrics can have none yet."""
    wanted = command.resource_types or _LISTABLE
    if not set(wanted) <= set(_LISTABLE):
        return Outcome((), ConfigResourcesListed(ErrorCode.UNSUPPORTED_VERSION, ()))
    resources: list[Resource] = []
    if ResourceType.TOPIC in wanted:
        resources += (Resource(ResourceType.TOPIC, name) for name in state.topics(org_id))
    for resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        if resource_type in wanted:
            resources += (Resource(resource_type, str(broker.broker_id)) for broker in state.live_brokers())
    if ResourceType.GROUP_CONFIG in wanted:
        groups = (group_id for owner, group_id in state.group_configs if owner == org_id)
        resources += (Resource(ResourceType.GROUP_CONFIG, group_id) for group_id in groups)
    return Outcome((), ConfigResourcesListed(ErrorCode.NONE, tuple(resources)))


class Description:
    """Tells settings in one answer. What topics inherit is worked out once, however many topics are told."""

    def __init__(self, state: CatalogState, with_synonyms: bool = False, with_documentation: bool = False) -> None:
        self._state = state
        self._with_synonyms = with_synonyms
        self._with_documentation = with_documentation
        self._inherited: dict[str, ConfigEntry] = {}

    def of_resource(self, org_id: OrgId, resource: Resource) -> tuple[ConfigEntry, ...]:
        name = resource.resource_name
        match resource.resource_type:
            case ResourceType.TOPIC:
                check_name(name)
                topic = self._state.topic(org_id, name)
                if topic is None:
                    raise ProtocolError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                return self.of_topic(topic)
            case ResourceType.BROKER if name == EVERY_BROKER:
                return self._of_every_broker()
            case ResourceType.BROKER:
                _check_is_this_broker(self._state, name, " or empty string,")
                return self._of_broker()
            case ResourceType.BROKER_LOGGER:
                _check_is_named(name, "Broker id")
                _check_is_this_broker(self._state, name, "")
                return ()
            case ResourceType.GROUP_CONFIG:
                _check_is_named(name, "Group name")
                return self._of_group(org_id, name)
            case ResourceType.CLIENT_METRICS:
                _check_is_named(name, "Client metrics subscription name")
                return ()
            case other:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {other}")

    def of_topic(self, topic: Topic) -> tuple[ConfigEntry, ...]:
        """Every setting of a topic."""
        return tuple(
            self._own(name, topic.configs[name]) if name in topic.configs else self._inherited_entry(name)
            for name in TOPIC_SETTINGS
        )

    def _own(self, name: str, value: str) -> ConfigEntry:
        synonyms = (
            ConfigSynonym(name, value, ConfigSource.DYNAMIC_TOPIC),
            *_broker_synonyms(self._state, TOPIC_SETTINGS[name].synonyms),
        )
        return self._entry(TOPIC_SETTINGS[name].setting, value, synonyms)

    def _inherited_entry(self, name: str) -> ConfigEntry:
        entry = self._inherited.get(name)
        if entry is None:
            value = render(inherited(name, self._state.settings))
            synonyms = tuple(_broker_synonyms(self._state, TOPIC_SETTINGS[name].synonyms))
            entry = self._inherited[name] = self._entry(TOPIC_SETTINGS[name].setting, value, synonyms)
        return entry

    def _of_broker(self) -> tuple[ConfigEntry, ...]:
        state = self._state
        return tuple(
            self._entry(
                setting, render(value_of(state.settings, name)), tuple(_broker_synonyms(state, (Synonym(name),)))
            )
            for name, setting in BROKER_SETTINGS.items()
        )

    def _of_every_broker(self) -> tuple[ConfigEntry, ...]:
        """Only what was changed for all of them: the rest is not known without asking one."""
        return tuple(
            self._entry(
                BROKER_SETTINGS[name], value, (ConfigSynonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER),)
            )
            for name, value in self._state.broker_configs.get(EVERY_BROKER, {}).items()
        )

    def _of_group(self, org_id: OrgId, group_id: str) -> tuple[ConfigEntry, ...]:
        """Every setting of a group, whether or not there is such a group."""
        configs = self._state.group_configs.get((org_id, group_id), {})
        entries = []
        for name, setting in GROUP_SETTINGS.items():
            inherited = tuple(_broker_synonyms(self._state, (Synonym(synonym_of(name)),)))
            own = configs.get(name)
            synonyms = inherited if own is None else (ConfigSynonym(name, own, ConfigSource.DYNAMIC_GROUP), *inherited)
            entries.append(self._entry(setting, synonyms[0].value, synonyms))
        return tuple(entries)

    def _entry(self, setting: Setting, value: str | None, synonyms: tuple[ConfigSynonym, ...]) -> ConfigEntry:
        return ConfigEntry(
            setting.name,
            value,
            source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
            config_type=setting.config_type,
            read_only=not setting.dynamic,
            synonyms=synonyms if self._with_synonyms else (),
            documentation=setting.documentation if self._with_documentation else None,
        )


def _check_is_named(name: str, what: str) -> None:
    if not name:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, f"{what} must not be empty")


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
