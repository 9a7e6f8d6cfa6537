"""Everything that one shard of groups knows. What is durable of it changes by replay only.

Next hop: classic/group.py, consumer/group.py and committed.py, which replay the records that are theirs.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.committed import CommittedOffsets
from kohort.machines.groups.connections import Connections
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.held import HeldHeartbeats
from kohort.machines.groups.identity import mint_identity
from kohort.machines.groups.push.push import Push
from kohort.machines.groups.topics import NO_TOPICS, Topics
from kohort.model.consumer_protocol import ConsumerProtocol
from kohort.model.group_settings import GroupSettings, group_settings
from kohort.model.records.groups import (
    ConsumerGroupRecord,
    GroupIdentityRecord,
    GroupMetadataRecord,
    GroupsRecord,
    OffsetCommitRecord,
    RemoveConsumerGroupMemberMetadataRecord,
    RemoveConsumerGroupMetadataRecord,
    RemoveConsumerGroupPartitionMetadataRecord,
    RemoveCurrentMemberAssignmentRecord,
    RemoveGroupIdentityRecord,
    RemoveGroupMetadataRecord,
    RemoveOffsetRecord,
    RemoveRegularExpressionRecord,
    RemoveTargetAssignmentMemberRecord,
    RemoveTargetAssignmentMetadataRecord,
    UnknownRecord,
)
from kohort.model.settings import BrokerSettings

AnyGroup = ClassicGroup | ConsumerGroup

_TOMBSTONES_OF_CONSUMER_GROUPS: Final = (
    RemoveConsumerGroupMemberMetadataRecord,
    RemoveConsumerGroupPartitionMetadataRecord,
    RemoveCurrentMemberAssignmentRecord,
    RemoveRegularExpressionRecord,
    RemoveTargetAssignmentMemberRecord,
    RemoveTargetAssignmentMetadataRecord,
)


class GroupsState:
    def __init__(self, settings: BrokerSettings, consumer_protocol: ConsumerProtocol) -> None:
        self.settings: Final = settings
        self.consumer_protocol: Final = consumer_protocol
        self.groups: Final[dict[str, AnyGroup]] = {}
        self.offsets: Final = CommittedOffsets()
        self.identities: Final[dict[str, str]] = {}
        # What follows is volatile.
        self.topics: Topics = NO_TOPICS
        self.held: Final = HeldHeartbeats()
        self.connections: Final = Connections()
        self.push: Final = Push(settings)
        self.common_settings: Final = group_settings({}, settings)
        self.own_settings: Mapping[str, GroupSettings] = {}
        """Of the groups that were given any."""
        self.empty_since_ms: Final[dict[str, int]] = {}
        """When a group without members was first seen to have no offsets either."""

    def settings_of(self, group_id: str) -> GroupSettings:
        return self.own_settings.get(group_id, self.common_settings)

    # Finding and making groups

    def introduce(self, group_id: str, draft: Draft) -> None:
        """The group is about to be written of: gives it its identity, if this is the first time."""
        if group_id not in self.identities:
            draft.write(GroupIdentityRecord(group_id, mint_identity(draft.moment)))

    def made_classic_group(self, group_id: str) -> ClassicGroup:
        """The group, made if there is none: by replay, and by the first who joins."""
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            group = self.groups[group_id] = ClassicGroup(group_id, self.consumer_protocol)
        return group

    def made_consumer_group(self, group_id: str) -> ConsumerGroup:
        group = self.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            group = self.groups[group_id] = ConsumerGroup(group_id, self.topics)
        return group

    # Replay

    def replay(self, record: GroupsRecord) -> None:
        match record:
            case OffsetCommitRecord():
                self.offsets.put(record)
                if record.group_id not in self.groups:
                    self.made_classic_group(record.group_id)
            case RemoveOffsetRecord():
                self.offsets.remove(record)
            case GroupIdentityRecord():
                self.identities[record.group_id] = record.identity
                if record.group_id not in self.groups:
                    # Of one that has lost all its offsets, a snapshot has no more than this.
                    self.made_classic_group(record.group_id)
            case RemoveGroupIdentityRecord():
                self.identities.pop(record.group_id, None)
                self.forget_if_nothing(record.group_id)
            case GroupMetadataRecord():
                self.made_classic_group(record.group_id).apply(record)
            case RemoveGroupMetadataRecord():
                self._remove_group(record.group_id, ClassicGroup)
            case RemoveConsumerGroupMetadataRecord():
                self._remove_group(record.group_id, ConsumerGroup)
            case UnknownRecord():
                pass
            case _:
                self._replay_of_consumer_group(record)

    def _replay_of_consumer_group(self, record: ConsumerGroupRecord) -> None:
        """A tombstone of a group that is not there, as a compacted log has them, does not make it."""
        group = self.groups.get(record.group_id)
        if isinstance(group, ConsumerGroup):
            group.replay(record)
        elif not isinstance(record, _TOMBSTONES_OF_CONSUMER_GROUPS):
            self.made_consumer_group(record.group_id).replay(record)

    def _remove_group(self, group_id: str, kind: type[AnyGroup]) -> None:
        """A group that has offsets is left with no more than those."""
        if isinstance(self.groups.get(group_id), kind):
            del self.groups[group_id]
            if self.offsets.of_group(group_id):
                self.made_classic_group(group_id)

    def forget_if_nothing(self, group_id: str) -> None:
        """A group that only ever had offsets, or never had a generation, has no record that could take it away."""
        group = self.groups.get(group_id)
        if isinstance(group, ClassicGroup) and group.is_nothing() and not self.offsets.of_group(group_id):
            del self.groups[group_id]

    def snapshot(self) -> Iterator[GroupsRecord]:
        for group_id, identity in self.identities.items():
            yield GroupIdentityRecord(group_id, identity)
        for group in self.groups.values():
            yield from group.snapshot()
        yield from self.offsets.snapshot()
