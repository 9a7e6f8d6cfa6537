"""A classic group: its members, its generation, and where it is between two of them.

Theory. Only a generation that is whole is written: its members and what the leader assigned to them. `written` is that
record, and all that a restart brings back. Whatever happens on the way to the next generation (who has joined, who has
synced, who waits) is volatile: after a crash the members of the last whole generation go on, and the others join again.

    Empty ──first join──▶ PreparingRebalance ──all joined──▶ CompletingRebalance ──leader's sync──▶ Stable
      ▲                      │        ▲                              │                                │
      └────nobody is left────┘        └─────────── join, leave, expiry ─────────────────┴─────────────┘

This file keeps the counts and answers questions; it decides nothing. Next hop: join.py, sync.py, leave.py, heartbeat.py
and rebalance.py, which move the state.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Final

from kohort.machines.contract import Token
from kohort.machines.groups.classic.member import Member, member_of_record
from kohort.machines.groups.recorder import Ownership, Recorder
from kohort.model.commands.groups import (
    DescribedMember,
    GroupDescribed,
    JoinedMember,
    ListedGroup,
    OffsetCommit,
    OffsetFetch,
    Protocol,
)
from kohort.model.consumer_protocol import CONSUMER_PROTOCOL_TYPE, ConsumerProtocol
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import (
    GroupMetadataMember,
    GroupMetadataRecord,
    GroupsRecord,
    OffsetCommitRecord,
    RemoveGroupMetadataRecord,
)


class State(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


class ClassicGroup:
    def __init__(self, group_id: str, consumer_protocol: ConsumerProtocol) -> None:
        self.group_id: Final = group_id
        self._consumer_protocol: Final = consumer_protocol
        self.written: GroupMetadataRecord | None = None
        self._subscribed_topics: frozenset[str] | None = None
        """Of the written generation; None if its members did not say so in a way that can be read."""
        self.state = State.EMPTY
        self.state_since_ms = -1
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self._static_members: dict[str, str] = {}
        """Instance id to member id."""
        self._support: Counter[str] = Counter()
        """How many members can follow a protocol, by its name."""
        self.joining = 0
        """How many members wait for the end of the join phase."""
        self.pending_joins: dict[str, int] = {}
        """Member ids that were given out and nobody has come back with yet, and the connection that each went to."""
        self.pending_syncs: dict[str, None] = {}
        """Members of this generation that have not asked for their assignment yet."""
        self.older_epochs: Final[dict[str, int]] = {}
        """What members take for the generation who were behind when the group left the consumer protocol. They are let
        go on with it until the next one, or they would give up everything. In Kafka they do."""
        self.is_first_rebalance = False
        """The join phase began in an empty group, so it lasts at least the initial delay."""
        self.has_grown = False
        """A member came since the initial delay was last begun."""
        self.recorder: Final = Recorder()

    # What is durable

    def apply(self, record: GroupMetadataRecord) -> None:
        """The group is as this record says; what live members wait for, and all they said, stays. A member that the
        record has otherwise is one that an older record brought: this one was read from the log behind it."""
        self.written = record
        self._subscribed_topics = self._topics_of(record)
        self.generation_id = record.generation
        self.protocol_type = record.protocol_type or None
        self.protocol_name = record.protocol
        self.leader_id = record.leader
        self.state = State.STABLE if record.members else State.EMPTY
        self.state_since_ms = record.current_state_timestamp_ms
        members: dict[str, Member] = {}
        for recorded in record.members:
            member = self.members.get(recorded.member_id)
            if member is None or not member.is_recorded_as(recorded, record.protocol):
                member = member_of_record(recorded, record.protocol)
            member.assignment = recorded.assignment
            members[member.member_id] = member
        self.members = members
        self._static_members = {
            member.group_instance_id: member_id
            for member_id, member in members.items()
            if member.group_instance_id is not None
        }
        self._support = Counter(name for member in members.values() for name in _names(member.protocols))

    def record(self, assignments: Mapping[str, bytes], since_ms: int) -> GroupMetadataRecord:
        """This generation, if the leader assigned so."""
        return GroupMetadataRecord(
            self.group_id,
            self.protocol_type or "",
            self.generation_id,
            self.protocol_name,
            self.leader_id,
            since_ms,
            tuple(
                GroupMetadataMember(
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata_for(self.protocol_name),
                    assignments.get(member.member_id, b""),
                )
                for member in self.members.values()
            ),
        )

    def snapshot(self) -> Iterable[GroupsRecord]:
        return () if self.written is None else (self.written,)

    def removal(self) -> Iterable[GroupsRecord]:
        return () if self.written is None else (RemoveGroupMetadataRecord(self.group_id),)

    def _topics_of(self, record: GroupMetadataRecord) -> frozenset[str] | None:
        if record.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        topics: set[str] = set()
        for member in record.members:
            subscription = self._consumer_protocol.decode_subscription(member.subscription)
            if subscription is None:
                return None
            topics.update(subscription.topics)
        return frozenset(topics)

    def ownership(self) -> Ownership:
        """Who has which partition in the written generation, as far as its assignments can be read."""
        written = self.written
        if written is None or written.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return {}
        owners: dict[tuple[str, int], str] = {}
        for member in written.members:
            assignment = self._consumer_protocol.decode_assignment(member.assignment)
            if assignment is not None:
                for topic, partitions in assignment.partitions.items():
                    owners.update(((topic, partition), member.member_id) for partition in partitions)
        return owners

    # Members

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self._static_members[member.group_instance_id] = member.member_id
        self._support.update(_names(member.protocols))
        self.pending_joins.pop(member.member_id, None)

    def remove(self, member: Member) -> None:
        """Without the answers it waits for: they must have been given."""
        self.take_join_token(member)
        member.sync_token = None
        del self.members[member.member_id]
        if member.group_instance_id is not None:
            self._static_members.pop(member.group_instance_id, None)
        self._support.subtract(_names(member.protocols))
        self.pending_syncs.pop(member.member_id, None)
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)

    def replace(self, old: Member, new: Member) -> None:
        """A static member came back under another id: it takes the old one's place in everything."""
        was_leader = self.leader_id == old.member_id
        new.assignment = old.assignment
        self.remove(old)
        self.add(new, self.protocol_type or "")
        if was_leader:
            self.leader_id = new.member_id

    def change_protocols(self, member: Member, protocols: tuple[Protocol, ...]) -> None:
        self._support.subtract(_names(member.protocols))
        self._support.update(_names(protocols))
        member.protocols = protocols

    def static_member(self, instance_id: str) -> Member | None:
        member_id = self._static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def checked_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member that this is; ProtocolError if it is none, or if its instance has another id by now."""
        if instance_id is not None:
            current_id = self._static_members.get(instance_id)
            if current_id is None:
                raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {self.group_id} has no member {instance_id}.")
            if current_id != member_id:
                raise ProtocolError(
                    ErrorCode.FENCED_INSTANCE_ID,
                    f"The instance {instance_id} of group {self.group_id} has another member id than {member_id}.",
                )
        member = self.members.get(member_id)
        if member is None:
            raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {self.group_id} has no member {member_id}.")
        return member

    def check_generation(self, member: Member, generation_id: int) -> None:
        if generation_id != self.generation_id and generation_id != self.older_epochs.get(member.member_id):
            raise ProtocolError(
                ErrorCode.ILLEGAL_GENERATION,
                f"The generation {generation_id} was sent, but that of group {self.group_id} is {self.generation_id}.",
            )

    # The join phase

    def wait_for_others(self, member: Member, token: Token) -> Token | None:
        """The member's JoinGroup waits. What comes back is an older one of its that must be answered."""
        before = self.take_join_token(member)
        member.join_token = token
        self.joining += 1
        return before

    def take_join_token(self, member: Member) -> Token | None:
        token = member.join_token
        if token is not None:
            member.join_token = None
            self.joining -= 1
        return token

    def have_all_joined(self) -> bool:
        return self.joining == len(self.members) and not self.pending_joins

    def rebalance_timeout_ms(self) -> int:
        """The longest that a member asked for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports(self, protocol_type: str, protocols: Collection[Protocol]) -> bool:
        """Whether somebody who can follow these protocols may be a member."""
        if self.state is State.EMPTY:
            return bool(protocol_type and protocols)
        size = len(self.members)
        return protocol_type == self.protocol_type and any(self._support[each.name] == size for each in protocols)

    def selected_protocol(self) -> str | None:
        """Of the protocols that all can follow, the one that most members prefer; among equals, the first by name."""
        size = len(self.members)
        votes: Counter[str] = Counter()
        for member in self.members.values():
            choice = next((each.name for each in member.protocols if self._support[each.name] == size), None)
            if choice is not None:
                votes[choice] += 1
        return min(votes, key=lambda name: (-votes[name], name), default=None)

    def elect_leader(self) -> bool:
        """A leader that has joined: the old one if it has, else anyone. False if nobody has joined."""
        leader = None if self.leader_id is None else self.members.get(self.leader_id)
        if leader is not None and leader.join_token is not None:
            return True
        joined = next((member for member in self.members.values() if member.join_token is not None), None)
        if joined is None:
            return False
        self.leader_id = joined.member_id
        return True

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """The members as the leader needs them to assign."""
        return tuple(
            JoinedMember(member.member_id, member.metadata_for(self.protocol_name), member.group_instance_id)
            for member in self.members.values()
        )

    # What the rest of the machine asks (machines/groups/group.py)

    @property
    def is_consumers(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def is_nothing(self) -> bool:
        """Whether nothing at all is known of the group."""
        return self.written is None and not self.members and not self.pending_joins

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.protocol_type or "", self.state.value, "classic")

    def described(self) -> GroupDescribed:
        """Only a whole generation has a protocol to show; what members were assigned last is theirs until the next."""
        is_stable = self.state is State.STABLE
        members = tuple(
            DescribedMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.metadata_for(self.protocol_name) if is_stable else b"",
                member.assignment,
            )
            for member in self.members.values()
        )
        protocol_data = self.protocol_name or "" if is_stable else ""
        return GroupDescribed(0, self.group_id, self.state.value, self.protocol_type or "", protocol_data, members)

    def check_offset_commit(self, command: OffsetCommit) -> None:
        """An empty group lets anyone commit who claims no generation; otherwise it takes a member of this one."""
        is_empty = self.state is State.EMPTY
        generation_id = command.generation_id_or_member_epoch
        if generation_id < 0 and is_empty:
            return
        if generation_id >= 0 or command.member_id or command.group_instance_id is not None:
            member = self.checked_member(command.member_id, command.group_instance_id)
            self.check_generation(member, generation_id)
        elif not is_empty:
            raise ProtocolError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Group {self.group_id} has members, and only they may commit."
            )
        if self.state is State.COMPLETING_REBALANCE:
            raise ProtocolError(ErrorCode.REBALANCE_IN_PROGRESS)

    def after_offset_commit(self, command: OffsetCommit, now_ms: int) -> None:
        member = self.members.get(command.member_id)
        if member is not None:
            member.expires_at_ms = max(member.expires_at_ms, now_ms + member.session_timeout_ms)

    def check_offset_fetch(self, command: OffsetFetch) -> None:
        """Anyone may."""

    def check_deletion(self) -> None:
        if self.state is not State.EMPTY:
            raise ProtocolError(ErrorCode.NON_EMPTY_GROUP)

    def check_offset_deletion(self) -> None:
        if self.state is not State.EMPTY and not self.is_consumers:
            raise ProtocolError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        if self.state is State.EMPTY:
            return False
        return self.is_consumers if self._subscribed_topics is None else topic in self._subscribed_topics

    def has_expired(self, offset: OffsetCommitRecord, now_ms: int, retention_ms: int) -> bool:
        begin_ms = offset.commit_timestamp_ms
        if self.protocol_type is not None:
            if self.state is State.EMPTY:
                begin_ms = self.state_since_ms if self.state_since_ms >= 0 else begin_ms
            elif self.state is not State.STABLE or self._subscribed_topics is None:
                return False
        return now_ms - begin_ms >= retention_ms

    def may_be_forgotten(self) -> bool:
        return self.state is State.EMPTY and not self.pending_joins


def _names(protocols: Iterable[Protocol]) -> tuple[str, ...]:
    """A protocol that is named twice counts once."""
    return tuple(dict.fromkeys(protocol.name for protocol in protocols))
