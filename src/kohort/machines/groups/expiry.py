"""Offsets that nobody needs any more, and groups that are nothing without them: looked for now and then.

An offset expires when the end that it was committed with has come or, if it has none, when its group says so: how long
ago it was committed, or the group lost its last member (GROUPS.md 6.6). A group is forgotten, identity and all, when it
has had neither members nor offsets for as long as offsets are kept: a group that comes back within that time is itself.

Next hop: classic/group.py and consumer/group.py, which know what they still need.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kohort.machines.groups.committed import TopicOffsets
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.removal import removal_of_group
from kohort.machines.groups.state import AnyGroup, GroupsState
from kohort.model.ids import NO_TOPIC_ID
from kohort.model.records.groups import OffsetCommitRecord, RemoveOffsetRecord

_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class OffsetsCheck:
    """The timer of the next look."""


def watch_offsets(state: GroupsState, draft: Draft) -> None:
    draft.set_timer(OffsetsCheck(), draft.now_ms + state.settings.offsets_retention_check_interval_ms)


def on_offsets_check(state: GroupsState, key: OffsetsCheck, draft: Draft) -> None:
    watch_offsets(state, draft)
    for group in tuple(state.groups.values()):
        for topic, offsets in tuple(state.offsets.of_group(group.group_id).items()):
            draft.write(*tuple(_expired(state, group, topic, offsets, draft.now_ms)))
        if _is_over(state, group, draft.now_ms):
            draft.write(*removal_of_group(state, group))
            state.groups.pop(group.group_id, None)


def _expired(
    state: GroupsState, group: AnyGroup, topic: str, offsets: TopicOffsets, now_ms: int
) -> Iterator[RemoveOffsetRecord]:
    for record in tuple(offsets.records()):
        if _has_expired(state, group, record, now_ms) or _is_of_deleted_topic(state, record):
            for partition in record.partitions:
                yield RemoveOffsetRecord(group.group_id, topic, partition)


def _has_expired(state: GroupsState, group: AnyGroup, record: OffsetCommitRecord, now_ms: int) -> bool:
    if record.expire_timestamp_ms is not None:
        return record.expire_timestamp_ms <= now_ms
    return group.has_expired(record, now_ms, state.settings.offsets_retention_minutes * _MINUTE_MS)


def _is_of_deleted_topic(state: GroupsState, record: OffsetCommitRecord) -> bool:
    """The topic went while nobody was there to hear of it: the broker stopped between the two."""
    return bool(state.topics.by_name) and record.topic_id != NO_TOPIC_ID and state.topics.by_id(record.topic_id) is None


def _is_over(state: GroupsState, group: AnyGroup, now_ms: int) -> bool:
    if state.offsets.of_group(group.group_id) or not group.may_be_forgotten():
        state.empty_since_ms.pop(group.group_id, None)
        return False
    since_ms = state.empty_since_ms.setdefault(group.group_id, now_ms)
    if now_ms - since_ms < state.settings.offsets_retention_minutes * _MINUTE_MS:
        return False
    del state.empty_since_ms[group.group_id]
    return True
