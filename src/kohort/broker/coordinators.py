"""The coordinators: which shard a group lives in, and that there are shards for it to live in.

Each org has a topic __consumer_offsets of its own, made when the first of its groups is spoken of; each partition of it
is a shard, and a group lives in the one that its id hashes to. Shards are opened as soon as the catalog has the topic,
and told of the org's topics when they are loaded and whenever those change. It never decides anything about a group.

Next hop: shard.py, and there machines/groups/machine.py.
"""

import asyncio
from asyncio import AbstractEventLoop, Task, TimerHandle
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from struct import unpack
from typing import Any, Final, Protocol

from kohort.broker.each_partition import IN_PROGRESS
from kohort.broker.partitions import Partitions
from kohort.broker.shard import Shard
from kohort.carrier.contract import Answer, AnswerTo, Pending
from kohort.model.commands.catalog import CreateInternalTopic
from kohort.model.commands.groups import (
    ConnectionLost,
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    DeleteGroup,
    DescribeGroup,
    GroupConfigsChanged,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListedGroup,
    ListGroups,
    ListGroupsAnswer,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
    TopicsChanged,
)
from kohort.model.errors import ErrorCode, Refused
from kohort.model.ids import OrgId
from kohort.model.records.groups import GroupsRecord
from kohort.model.settings import BrokerSettings
from kohort.model.topics import Topic
from kohort.store.log import Log

OFFSETS_TOPIC: Final = "__consumer_offsets"

COMMANDS_OF_MEMBERS: Final = (ConsumerGroupHeartbeat, Heartbeat, JoinGroup, SyncGroup)
"""What names one group, and who sent it: the shard wants to know when that connection is lost."""

COMMANDS_TO_A_GROUP: Final = (
    ConsumerGroupDescribe,
    DeleteGroup,
    DescribeGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
)
"""What names one group besides."""

_STOPPING: Final = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The broker is stopping.")
_CHECKS_PER_TIMEOUT: Final = 10
"""Nobody is told of offsets.commit.timeout.ms later than by this part of it."""
_LOADING_PATIENCE_S: Final = 0.5
_REMEMBERED_GROUPS: Final = 65_536
_LONGEST_REMEMBERED_ID: Final = 100


class MakeShard(Protocol):
    def __call__(self, log: Log, on_loaded: Callable[[], None]) -> Shard[GroupsRecord]:
        """A shard of groups on this log, not yet loaded."""


Handle = Callable[[OrgId, Any, AnswerTo], Pending | None]
AskCatalog = Callable[[OrgId, object, AnswerTo], None]


def partition_of_group(group_id: str, partitions: int) -> int:
    """Where Kafka puts a group: by the hash that Java gives its id."""
    hashed = _remembered_hash(group_id) if len(group_id) <= _LONGEST_REMEMBERED_ID else _java_hash(group_id)
    return hashed % partitions


def _java_hash(text: str) -> int:
    """Without its sign."""
    utf_16 = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for unit in unpack(f">{len(utf_16) // 2}H", utf_16):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    if hashed >= 1 << 31:
        hashed = (1 << 32) - hashed
    # The least number has no positive counterpart in 32 bits: Kafka takes 0.
    return 0 if hashed == 1 << 31 else hashed


_remembered_hash = lru_cache(_REMEMBERED_GROUPS)(_java_hash)


class _Waiting:
    """A command that came before its shard was there. Satisfies carrier.contract.Pending."""

    __slots__ = ("_answer_to", "_command", "_handle", "_is_forgotten", "_pending", "group_id")

    def __init__(self, handle: Handle, command: Any, answer_to: AnswerTo) -> None:
        self.group_id: str = command.group_id
        self._handle = handle
        self._command: Any = command
        self._answer_to = answer_to
        self._is_forgotten = False
        self._pending: Pending | None = None

    def go_on(self, org_id: OrgId) -> None:
        if not self._is_forgotten:
            self._pending = self._handle(org_id, self._command, self._answer_to)

    def refuse(self, refused: Refused) -> None:
        if not self._is_forgotten:
            self._answer_to(refused)

    def forget(self) -> None:
        self._is_forgotten = True
        if self._pending is not None:
            self._pending.forget()

    def hurry(self) -> None:
        if self._pending is not None:
            self._pending.hurry()


class _Org:
    """One org's topics and shards."""

    __slots__ = (
        "group_configs",
        "heard_of",
        "loading",
        "org_id",
        "removed",
        "shards",
        "told_topics",
        "topics",
        "waiting",
        "was_told",
    )

    def __init__(self, org_id: OrgId) -> None:
        self.org_id = org_id
        self.topics: dict[str, Topic] = {}
        self.told_topics: Mapping[str, Topic] = {}
        """The topics as shards were last told: one copy for all of them."""
        self.removed: list[Topic] = []
        """Since the shards were told."""
        self.was_told = True
        self.shards: Sequence[Shard[GroupsRecord]] = ()
        """By partition of the offsets topic; none as long as there is no such topic."""
        self.waiting: list[_Waiting] = []
        self.group_configs: Mapping[str, Mapping[str, str]] = {}
        self.loading: Task[None] | None = None
        self.heard_of: Final[dict[int, dict[int, None]]] = {}
        """By connection, the shards that heard of it: only they need to know that it was lost."""

    def partition_of(self, group_id: str) -> int:
        return partition_of_group(group_id, len(self.shards))


class Coordinators:
    def __init__(
        self,
        partitions: Partitions,
        settings: BrokerSettings,
        make_shard: MakeShard,
        ask_catalog: AskCatalog,
        loop: AbstractEventLoop,
        now_ms: Callable[[], int],
    ) -> None:
        self._partitions: Final = partitions
        self._settings: Final = settings
        self._make_shard: Final = make_shard
        self._ask_catalog: Final = ask_catalog
        self._loop: Final = loop
        self._orgs: Final[dict[OrgId, _Org]] = {}
        self._now_ms: Final = now_ms
        self._overdue_check: TimerHandle | None = None
        self._is_started = False

    def start(self) -> None:
        """The catalog is known and this broker is in it: opens the shards of every org that has groups."""
        self._is_started = True
        for org in self._orgs.values():
            self._open(org)
        self._refuse_overdue()

    def stop(self) -> None:
        """Whoever waits for other members, and whoever comes from now on, is told to look for another coordinator."""
        self._is_started = False
        if self._overdue_check is not None:
            self._overdue_check.cancel()
        for org in self._orgs.values():
            self._close(org)
            waiting, org.waiting = org.waiting, []
            for each in waiting:
                each.refuse(_STOPPING)

    def _refuse_overdue(self) -> None:
        """Whoever waits for the store in vain is told so."""
        timeout_ms = self._settings.offsets_commit_timeout_ms
        self._overdue_check = self._loop.call_later(timeout_ms / _CHECKS_PER_TIMEOUT / 1000, self._refuse_overdue)
        until_ms = self._now_ms() - timeout_ms
        for org in self._orgs.values():
            for shard in org.shards:
                shard.refuse_overdue(until_ms)

    # Commands

    def handle(self, org_id: OrgId, command: Any, answer_to: AnswerTo) -> Pending | None:
        """A command that names one group."""
        org = self._org(org_id)
        if not org.shards:
            return self._wait_for_shards(org, self.handle, command, answer_to)
        if not org.was_told:
            self._tell(org)
        return org.shards[org.partition_of(command.group_id)].handle(org_id, command, answer_to)

    def handle_of_member(self, org_id: OrgId, command: Any, answer_to: AnswerTo) -> Pending | None:
        """A command that names one group and who sent it."""
        org = self._org(org_id)
        if not org.shards:
            return self._wait_for_shards(org, self.handle_of_member, command, answer_to)
        if not org.was_told:
            self._tell(org)
        partition = org.partition_of(command.group_id)
        connection_id = command.origin.connection_id
        if connection_id and partition not in org.heard_of.get(connection_id, ()):
            org.heard_of.setdefault(connection_id, {})[partition] = None
        return org.shards[partition].handle(org_id, command, answer_to)

    def handle_list_groups(self, org_id: OrgId, command: ListGroups, answer_to: AnswerTo) -> Pending | None:
        """Every shard lists its groups. One that cannot makes the whole list worthless, as in Kafka."""
        shards = self._org(org_id).shards
        missing = len(shards)
        groups: list[ListedGroup] = []
        refusals: list[Refused] = []

        def take(answer: Answer) -> None:
            nonlocal missing
            missing -= 1
            if isinstance(answer, Refused):
                refusals.append(answer)
            else:
                assert isinstance(answer, ListGroupsAnswer)
                groups.extend(answer.groups)
            if not missing:
                answer_to(refusals[0] if refusals else ListGroupsAnswer(ErrorCode.NONE, tuple(groups)))

        if not shards:
            answer_to(ListGroupsAnswer(ErrorCode.NONE))
        for shard in shards:
            shard.handle(org_id, command, take)
        return IN_PROGRESS if missing else None

    def handle_connection_lost(self, org_id: OrgId, command: ConnectionLost, answer_to: AnswerTo) -> None:
        org = self._org(org_id)
        for partition in org.heard_of.pop(command.connection_id, ()):
            org.shards[partition].handle(org_id, command, _ignore)
        answer_to(None)

    def _org(self, org_id: OrgId) -> _Org:
        org = self._orgs.get(org_id)
        if org is None:
            org = self._orgs[org_id] = _Org(org_id)
        return org

    # The first use

    def _wait_for_shards(self, org: _Org, handle: Handle, command: object, answer_to: AnswerTo) -> Pending | None:
        if not self._is_started:
            answer_to(_STOPPING)
            return None
        waiting = _Waiting(handle, command, answer_to)
        org.waiting.append(waiting)
        if len(org.waiting) == 1:
            partitions = self._settings.offsets_topic_num_partitions
            configs = (
                ("cleanup.policy", "compact"),
                ("compression.type", "producer"),
                ("segment.bytes", str(self._settings.offsets_topic_segment_bytes)),
            )
            make_topic = CreateInternalTopic(OFFSETS_TOPIC, partitions, configs)
            self._ask_catalog(org.org_id, make_topic, partial(self._on_topic_made, org))
        return waiting

    def _on_topic_made(self, org: _Org, answer: Answer) -> None:
        """The catalog's records come before its answers: put_topic has opened the shards, unless it was refused."""
        if isinstance(answer, Refused):
            waiting, org.waiting = org.waiting, []
            for each in waiting:
                each.refuse(Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, answer.error_message))

    def _on_loaded(self, org: _Org, partition: int) -> None:
        topics = TopicsChanged(org.told_topics, (), self._settings.broker_rack)
        org.shards[partition].handle(org.org_id, GroupConfigsChanged(org.group_configs), _ignore)
        org.shards[partition].handle(org.org_id, topics, _ignore)
        here = [each for each in org.waiting if org.partition_of(each.group_id) == partition]
        if here:
            org.waiting = [each for each in org.waiting if each not in here]
            for each in here:
                each.go_on(org.org_id)

    # Following the catalog

    def put_topic(self, topic: Topic) -> None:
        """A topic was made, grown or configured."""
        org = self._org(topic.org_id)
        known = org.topics.get(topic.name)
        if known is not None and known.topic_id != topic.topic_id:
            self.remove_topic(known.org_id, known.name)
        org.topics[topic.name] = topic
        if topic.name == OFFSETS_TOPIC and self._is_started:
            self._open(org)
        if known is None or (known.topic_id, known.partitions) != (topic.topic_id, topic.partitions):
            self._tell_soon(org)

    def remove_topic(self, org_id: OrgId, name: str) -> None:
        org = self._org(org_id)
        topic = org.topics.pop(name, None)
        if topic is None:
            return
        if name == OFFSETS_TOPIC:
            self._close(org)
        org.removed.append(topic)
        self._tell_soon(org)

    def put_group_configs(self, org_id: OrgId, group_id: str, configs: Mapping[str, str]) -> None:
        """A group was given settings of its own."""
        org = self._org(org_id)
        others = {each: its_own for each, its_own in org.group_configs.items() if each != group_id}
        org.group_configs = {**others, group_id: configs} if configs else others
        if org.shards:
            changed = GroupConfigsChanged(org.group_configs)
            org.shards[org.partition_of(group_id)].handle(org_id, changed, _ignore)

    def _open(self, org: _Org) -> None:
        """Groups stay where their hashes put them: partitions that the topic is given later are not used before the
        next start, as in Kafka."""
        topic = org.topics.get(OFFSETS_TOPIC)
        if topic is None or org.shards:
            return
        org.told_topics = dict(org.topics)
        org.removed = []
        org.shards = [
            self._make_shard(
                self._partitions.named(org.org_id, OFFSETS_TOPIC, index).log, partial(self._on_loaded, org, index)
            )
            for index in range(topic.partitions)
        ]
        for shard in org.shards:
            if shard.log_is_empty:
                shard.start_loading()
        org.loading = self._loop.create_task(self._load(org.shards))

    async def _load(self, shards: Sequence[Shard[GroupsRecord]]) -> None:
        """One after the other, and always the one next that somebody asks for, so that the first groups are back long
        before the last. One that takes its time, since its log cannot be read, holds up the others for a moment."""
        waiting = [shard for shard in shards if not shard.log_is_empty]
        while waiting:
            shard = next((each for each in waiting if each.was_asked), waiting[0])
            waiting.remove(shard)
            await asyncio.wait({shard.start_loading()}, timeout=_LOADING_PATIENCE_S)

    def _close(self, org: _Org) -> None:
        if org.loading is not None:
            org.loading.cancel()
        shards, org.shards = org.shards, ()
        org.heard_of.clear()
        for shard in shards:
            shard.close()

    def _tell_soon(self, org: _Org) -> None:
        """Many topics may change at once: shards hear of all of them together, and before anybody's next request."""
        if org.was_told and org.shards:
            org.was_told = False
            self._loop.call_soon(self._tell, org)

    def _tell(self, org: _Org) -> None:
        if org.was_told:
            return
        org.was_told = True
        org.told_topics = dict(org.topics)
        removed, org.removed = tuple(org.removed), []
        changed = TopicsChanged(org.told_topics, removed, self._settings.broker_rack)
        for shard in org.shards:
            shard.handle(org.org_id, changed, _ignore)


def _ignore(answer: Answer) -> None:
    """What nobody waits for."""
