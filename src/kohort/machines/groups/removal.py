"""The records that end a group, in Kafka's order: its offsets, what its protocol wrote, and who it was.

Decides nothing. Next hop: state.py, which replays them.
"""

from collections.abc import Iterator

from kohort.machines.groups.state import AnyGroup, GroupsState
from kohort.model.records.groups import GroupsRecord, RemoveGroupIdentityRecord, RemoveOffsetRecord


def removal_of_group(state: GroupsState, group: AnyGroup) -> tuple[GroupsRecord, ...]:
    group_id = group.group_id
    identity = (RemoveGroupIdentityRecord(group_id),) if group_id in state.identities else ()
    return (*_removal_of_offsets(state, group_id), *group.removal(), *identity)


def _removal_of_offsets(state: GroupsState, group_id: str) -> Iterator[RemoveOffsetRecord]:
    for topic, offsets in state.offsets.of_group(group_id).items():
        for partition in offsets.partitions():
            yield RemoveOffsetRecord(group_id, topic, partition)
