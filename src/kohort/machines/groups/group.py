"""What a group is to the rest of the machine, whichever protocol its members speak.

Offsets, lists and deletions ask these questions of every group and need not know more of it.

Next hop: classic/group.py and consumer/group.py, the two kinds there are.
"""

from collections.abc import Iterable
from typing import Protocol

from kohort.model.commands.groups import ListedGroup, OffsetCommit, OffsetFetch
from kohort.model.records.groups import GroupsRecord, OffsetCommitRecord


class Group(Protocol):
    @property
    def group_id(self) -> str: ...

    def listed(self) -> ListedGroup:
        """The group as lists show it."""

    def check_offset_commit(self, command: OffsetCommit) -> None:
        """ProtocolError if this member, or who sends without being one, may not commit."""

    def after_offset_commit(self, command: OffsetCommit, now_ms: int) -> None:
        """A commit was let through: it may be a sign of life."""

    def check_offset_fetch(self, command: OffsetFetch) -> None:
        """ProtocolError if this member may not fetch offsets."""

    def check_deletion(self) -> None:
        """ProtocolError if the group may not be deleted, because it has members."""

    def check_offset_deletion(self) -> None:
        """ProtocolError if no offset of the group may be deleted."""

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether the group consumes the topic, so that its offsets must stay."""

    def has_expired(self, offset: OffsetCommitRecord, now_ms: int, retention_ms: int) -> bool:
        """Whether an offset that names no end of its own is past its retention."""

    def may_be_forgotten(self) -> bool:
        """Whether the group itself is nothing any more once its offsets are gone."""

    def removal(self) -> Iterable[GroupsRecord]:
        """The records that end the group. Its offsets and its identity are not its own."""

    def snapshot(self) -> Iterable[GroupsRecord]:
        """The records that the durable part of the group comes back from."""
