"""Who may be thrown out of a group, and when: no sooner than a time that the member was given has run out.

The oracle's own watch over members of consumer groups: when each was last heard of, when its connection broke, since
when it owes a revocation. It is generous where the coordinator may be, and knows nothing of the coordinator's timers.

Next hop: back to oracle.py.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kohort.model.commands.groups import (
    ConnectionLost,
    ConsumerGroupHeartbeat,
    Heartbeat,
    JoinGroup,
    SyncGroup,
)
from kohort.model.records.groups import (
    CurrentMemberAssignmentRecord,
    GroupMetadataRecord,
    GroupsRecord,
    MemberState,
    RemoveConsumerGroupMemberMetadataRecord,
)
from kohort.model.settings import BrokerSettings
from tests.simulation.groups.clock import Clock
from tests.simulation.groups.network import Require
from tests.simulation.groups.projection import MemberView, Projection
from tests.simulation.groups.watched_machine import Cause, Due

DEFAULT_GRACE_MS = 3000
"""The least that a lost connection is given by default."""

SIGNS_OF_LIFE = (ConsumerGroupHeartbeat, Heartbeat, JoinGroup, SyncGroup)

MemberKey = tuple[str, str]


@dataclass(slots=True)
class _Heard:
    at_ms: int
    connection_id: int = 0
    joined_ms: int = 0


def removed_members(records: Iterable[GroupsRecord]) -> Iterator[MemberKey]:
    """Those of consumer groups that are members no more, of whichever protocol."""
    records = tuple(records)
    classic = [record for record in records if isinstance(record, GroupMetadataRecord)]
    kept = {(group.group_id, member.member_id) for group in classic for member in group.members}
    for record in records:
        if isinstance(record, RemoveConsumerGroupMemberMetadataRecord):
            key = record.group_id, record.member_id
            if key not in kept:
                yield key


class Removals:
    def __init__(self, settings: BrokerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._heard: dict[MemberKey, _Heard] = {}
        self._revoking_since_ms: dict[MemberKey, int] = {}
        self._lost: set[int] = set()
        self._loaded_ms = 0

    def began_life(self, live: Projection) -> None:
        """All times begin anew with a machine that was loaded."""
        self._loaded_ms = self._clock.now_ms
        self._heard.clear()
        self._revoking_since_ms.clear()
        for group_id, group in live.groups.items():
            for member_id, member in group.members.items():
                if member.position is not None and member.position.state is MemberState.UNREVOKED_PARTITIONS:
                    self._revoking_since_ms[group_id, member_id] = self._loaded_ms

    def heard(self, command: Any) -> None:
        if isinstance(command, ConnectionLost):
            self._lost.add(command.connection_id)
        elif isinstance(command, SIGNS_OF_LIFE) and getattr(command, "member_epoch", 0) >= 0:
            key = command.group_id, command.member_id
            heard = self._heard.setdefault(key, _Heard(self._loaded_ms))
            heard.at_ms = self._clock.now_ms
            heard.connection_id = command.origin.connection_id
            if isinstance(command, JoinGroup):
                heard.joined_ms = heard.at_ms

    def joined(self, command: JoinGroup | ConsumerGroupHeartbeat, member_id: str | None) -> None:
        """A member that had no id was given one with the answer."""
        if not command.member_id and member_id:
            self._heard[command.group_id, member_id] = _Heard(self._loaded_ms, command.origin.connection_id)

    def follow(self, records: Iterable[GroupsRecord], live: Projection) -> None:
        for record in records:
            if isinstance(record, CurrentMemberAssignmentRecord):
                key = record.group_id, record.member_id
                if record.state is MemberState.UNREVOKED_PARTITIONS:
                    self._revoking_since_ms.setdefault(key, self._clock.now_ms)
                else:
                    self._revoking_since_ms.pop(key, None)

    def check(self, cause: Cause, records: Iterable[GroupsRecord], live: Projection, require: Require) -> None:
        """A timer that removes members must have a reason for each that is not taken over into a classic group."""
        if not isinstance(cause, Due):
            return
        for key in removed_members(records):
            member = live.group(key[0]).members.get(key[1])
            if member is not None and member.metadata is not None:
                require(self._may_remove(key, member), "thrown out too early:", member, "because of", cause)

    def _may_remove(self, key: MemberKey, member: MemberView) -> bool:
        assert member.metadata is not None
        now_ms = self._clock.now_ms
        heard = self._heard.get(key)
        if heard is None:
            # It was given its id, and nobody knows by which of its requests.
            return True
        silent_ms = now_ms - heard.at_ms
        rebalance_timeout_ms = member.metadata.rebalance_timeout_ms
        classic = member.metadata.classic_member_metadata
        session_timeout_ms = self._settings.group_consumer_session_timeout_ms
        if classic is not None:
            session_timeout_ms = classic.session_timeout_ms
        if silent_ms >= session_timeout_ms:
            return True
        if key in self._revoking_since_ms and now_ms - self._revoking_since_ms[key] >= rebalance_timeout_ms:
            return True
        if classic is not None and now_ms - max(heard.joined_ms, self._loaded_ms) >= rebalance_timeout_ms:
            return True
        return self._lost_its_connection(heard, member) and silent_ms >= self._grace_ms()

    def _lost_its_connection(self, heard: _Heard, member: MemberView) -> bool:
        is_dynamic = member.metadata is not None and member.metadata.instance_id is None
        return is_dynamic and heard.connection_id in self._lost and self._settings.group_lost_connection_grace_ms != 0

    def _grace_ms(self) -> int:
        setting = self._settings.group_lost_connection_grace_ms
        return DEFAULT_GRACE_MS if setting < 0 else setting
