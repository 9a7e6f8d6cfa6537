"""What a coordinator may do: held after every decision, from its records and answers and from what members were told.

It knows nothing of the workload. It looks on in three places: at the machine (watched_machine.py), at the log, and at
what each simulated member believes to own.

    ownership     no partition is assigned or pending at two members; no member that still counts owns what it was not
                  given, or what another one owns
    epochs        of groups, targets, members and generations never fall, in a group's life and in what anyone is told
    replay        what the log says, replayed into another machine, is what the machine knows
    tokens        each is answered once at most; at the end of a simulation none is left
    commits       an acknowledged commit is durable, each recorded one was asked for, and only deletion, expiry and
                  the end of a topic take one away; a fetch answers what was committed last
    errors        only those that the protocol allows at that moment (allowed_errors.py)
    removals      nobody is thrown out before a time of his has run out

Next hop: removals.py and claims.py, its parts.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from kohort.machines.contract import Decision, Machine, Moment, Token
from kohort.model.commands.groups import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    DeleteGroup,
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    JoinGroupAnswer,
    ListGroups,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetFetch,
    OffsetFetchAnswer,
    SyncGroup,
    TopicsChanged,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import DEFAULT_ORG, NO_TOPIC_ID
from kohort.model.records.groups import (
    ConsumerGroupMetadataRecord,
    CurrentMemberAssignmentRecord,
    GroupIdentityRecord,
    GroupMetadataRecord,
    GroupsRecord,
    RemoveConsumerGroupMemberMetadataRecord,
    RemoveGroupIdentityRecord,
    RemoveGroupMetadataRecord,
    RemoveOffsetRecord,
    TargetAssignmentMetadataRecord,
)
from kohort.model.settings import BrokerSettings
from kohort.wire import group_records
from kohort.wire.record_batch import Batch
from tests.simulation.disk import Trace
from tests.simulation.groups.allowed_errors import EVER, allowed_at_once, codes_of, topic_of
from tests.simulation.groups.claims import Claims
from tests.simulation.groups.clock import Clock
from tests.simulation.groups.projection import Offset, Partition, Plain, Projection, plain
from tests.simulation.groups.removals import Removals, removed_members
from tests.simulation.groups.watched_machine import NOBODY, Asked, Cause, Due, Hurried, Loaded, WatchedMachine

LEFT_FOR_A_WHILE = -2
CHANGES_OWNERSHIP = (
    CurrentMemberAssignmentRecord,
    GroupMetadataRecord,
    RemoveConsumerGroupMemberMetadataRecord,
    RemoveGroupMetadataRecord,
)
MAY_WAIT = (JoinGroup, SyncGroup, Heartbeat, ConsumerGroupHeartbeat)


class Violation(AssertionError):
    """The coordinator broke a promise."""


class Oracle:
    def __init__(self, clock: Clock, settings: BrokerSettings, trace: Trace) -> None:
        self._clock = clock
        self._settings = settings
        self._trace = trace
        self.violations: list[str] = []
        self.live = Projection()
        """What the machine has decided."""
        self.durable = Projection()
        """What would be left of it after a crash."""
        self.claims = Claims(self.require)
        self.removals = Removals(settings, clock)
        self.group_epoch_changes = 0
        """How often a group was given another epoch or generation: each begins a rebalance."""
        self._machine: Machine[Any, GroupsRecord] | None = None
        self._shadow: Machine[Any, GroupsRecord] | None = None
        self._topics: dict[str, Any] = {}
        self._outstanding: dict[Token, Any] = {}
        self._commits: set[int] = set()
        """The offsets of durable commits: each is used once."""
        self._is_in_snapshot = False
        self._decided: tuple[GroupsRecord, ...] = ()

    def require(self, holds: bool, *what: object) -> None:
        """Notes what does not hold; whoever runs the simulation ends it then."""
        if not holds:
            self.violations.append(" ".join(map(str, what)))

    # At the machine

    def began_life(self, machine: WatchedMachine) -> None:
        self._machine = machine.machine
        self.live = self.durable.copy()
        self._outstanding.clear()
        self.removals.began_life(self.live)
        snapshot = list(machine.snapshot())
        offsets = [record for record in plain(snapshot) if isinstance(record, Offset)]
        self._require_same("the loaded offsets", offsets, self.live.offsets())
        positions = [record for record in snapshot if isinstance(record, CurrentMemberAssignmentRecord)]
        self._require_same("the loaded positions", positions, self.live.positions())
        self._shadow = machine.another()
        for record in snapshot:
            self._shadow.replay(record)
        for record in snapshot:
            self._shadow.replay(record)
        self._require_same("a snapshot replayed twice", self._shadow.snapshot(), snapshot)
        loaded, replayed = (self._ask(each, ListGroups()) for each in (self._machine, self._shadow))
        self._require_same("the list of groups", loaded.groups, replayed.groups)

    def failed(self, cause: object, failure: Exception) -> None:
        self.require(False, f"the machine failed with {failure!r} {_where(failure)} on", cause)

    def refused(self, asked: Asked, refusal: ProtocolError) -> None:
        self._trace("refused", asked.command, "with", refusal.code.name)
        self._check_codes(asked.command, [refusal.code], at_once=True)

    def answered(self, command: Any, answer: Any) -> None:
        self._trace("answered", command, "with", answer)
        self._heed(command, (answer,))
        self._check_answer(command, answer, at_once=True)

    def decided(self, cause: Cause, decision: Decision[GroupsRecord], moment: Moment) -> None:
        if self._trace is not None and (decision.records or decision.replies):
            self._trace("decided", cause, *decision.records, *decision.replies)
        if isinstance(cause, Asked):
            self._heed(cause.command, [reply.answer for reply in decision.replies if reply.token == cause.token])
        self._check_replies(cause, decision)
        self._decided = decision.records
        if not decision.records:
            return
        self.require(not isinstance(cause, Hurried), "a hurried answer changes", decision.records)
        self.removals.check(cause, decision.records, self.live, self.require)
        for record in plain(decision.records):
            self._check_record(record, cause)
            self.live.apply(record)
        self.removals.follow(decision.records, self.live)
        for group_id, member_id in removed_members(decision.records):
            self.claims.removed(group_id, member_id)
        self._check_ownership(decision.records)

    def _heed(self, command: Any, answers: Iterable[Any]) -> None:
        """What is to be known of a command before its decision is judged."""
        if isinstance(command, TopicsChanged):
            self._topics = dict(command.topics)
        accepted = (0, ErrorCode.REBALANCE_IN_PROGRESS) if isinstance(command, Heartbeat) else (0,)
        if all(getattr(answer, "error_code", 0) in accepted for answer in answers):
            self.removals.heard(command)

    def _check_replies(self, cause: Cause, decision: Decision[GroupsRecord]) -> None:
        if isinstance(cause, Asked):
            self._outstanding[cause.token] = cause.command
        for token, answer in ((reply.token, reply.answer) for reply in decision.replies):
            command = self._outstanding.pop(token, None)
            if command is None:
                self.require(token == 0, "answered what nobody asked, or twice:", token, answer)
                continue
            if answer is not None:
                self._check_answer(command, answer, at_once=isinstance(cause, Asked) and cause.token == token)
        if isinstance(cause, Asked) and cause.token in self._outstanding:
            self.require(isinstance(cause.command, MAY_WAIT), "was not answered at once:", cause.command)

    def _check_answer(self, command: Any, answer: Any, at_once: bool) -> None:
        self._check_codes(command, codes_of(answer), at_once)
        if isinstance(answer, JoinGroupAnswer | ConsumerGroupHeartbeatAnswer):
            self.removals.joined(command, answer.member_id)
        if isinstance(command, OffsetFetch) and isinstance(answer, OffsetFetchAnswer):
            self._check_fetched(command, answer)

    def _check_codes(self, command: Any, codes: Iterable[int], at_once: bool) -> None:
        group = self.live.group(getattr(command, "group_id", ""))
        allowed = EVER[type(command)]
        if at_once:
            allowed = allowed_at_once(command, group, self._topics, self._settings)
        for code in codes:
            self.require(
                code in allowed, ErrorCode(code).name, "is not among", sorted(allowed), "for", command, "in", group
            )

    def _check_fetched(self, command: OffsetFetch, answer: OffsetFetchAnswer) -> None:
        offsets = self.live.group(command.group_id).offsets
        for topic in answer.topics if not answer.error_code else ():
            current = topic_of(topic, self._topics)
            name = topic.name or (current.name if current else "")
            for fetched in topic.partitions:
                record = offsets.get((name, fetched.partition_index))
                if record is None:
                    expected = {-1}
                elif current is not None and record.topic_id in (NO_TOPIC_ID, current.topic_id):
                    expected = {record.offset}
                else:
                    expected = {record.offset, -1}
                is_right = fetched.committed_offset in expected or fetched.error_code != 0
                self.require(is_right, "fetched", topic.name, fetched, "where", expected, "is due")

    # Records

    def _check_record(self, record: Plain, cause: Cause) -> None:
        match record:
            case ConsumerGroupMetadataRecord():
                self._check_epoch(record.group_id, record.epoch)
            case GroupMetadataRecord():
                self._check_epoch(record.group_id, record.generation)
            case TargetAssignmentMetadataRecord():
                group = self.live.group(record.group_id)
                lies_between = group.target_epoch <= record.assignment_epoch <= group.epoch
                self.require(lies_between, "target epoch", record, "where it was", group.target_epoch, group.epoch)
            case CurrentMemberAssignmentRecord():
                self._check_member_epoch(record)
            case GroupIdentityRecord():
                known = self.live.group(record.group_id).identity
                self.require(known in (None, record.identity), "another identity than", known, record)
            case RemoveGroupIdentityRecord():
                self.claims.forget_epochs(record.group_id)
            case Offset():
                self._check_commit(record, cause)
            case RemoveOffsetRecord():
                self._check_offset_removal(record, cause)
            case _:
                pass

    def _check_epoch(self, group_id: str, epoch: int) -> None:
        group = self.live.group(group_id)
        self.require(epoch >= group.highest_epoch, "the epoch of", group_id, "falls from", group.highest_epoch, epoch)
        if epoch != group.highest_epoch:
            self.group_epoch_changes += 1

    def _check_member_epoch(self, record: CurrentMemberAssignmentRecord) -> None:
        group = self.live.group(record.group_id)
        member = group.members.get(record.member_id)
        epoch = record.member_epoch
        before = 0 if member is None else member.epoch
        falls = epoch < before and epoch != LEFT_FOR_A_WHILE
        self.require(not falls, "a member's epoch falls from", before, record)
        self.require(epoch <= group.epoch, "a member is ahead of its group, at", group.epoch, record)

    def _check_commit(self, record: Offset, cause: Cause) -> None:
        command = cause.command if isinstance(cause, Asked) else None
        was_asked_for = isinstance(command, OffsetCommit) and any(
            (topic.name in ("", record.topic) and topic.topic_id in (NO_TOPIC_ID, record.topic_id))
            and (command.group_id, partition, offset) == (record.group_id, record.partition, record.offset)
            for topic in command.topics
            for partition, offset in zip(topic.partition_indexes, topic.committed_offsets)
        )
        self.require(was_asked_for, "nobody committed", record, "but", cause)

    def _check_offset_removal(self, record: RemoveOffsetRecord, cause: Cause) -> None:
        offset = self.live.group(record.group_id).offsets.get((record.topic, record.partition))
        match cause:
            case Asked(DeleteGroup() | OffsetDelete() as command):
                is_right = command.group_id == record.group_id
            case Asked(TopicsChanged() as command):
                is_right = any(topic.name == record.topic for topic in command.removed)
            case Due() | Loaded() if offset is not None:
                is_right = self._has_expired(offset) or self._is_of_a_deleted_topic(offset)
            case _:
                is_right = False
        self.require(is_right, "an offset is forgotten:", record, "because of", cause, "when it was", offset)

    def _has_expired(self, offset: Offset) -> bool:
        """At the earliest: retention counts from the commit, or from when a classic group became empty."""
        if offset.expire_timestamp_ms is not None:
            return offset.expire_timestamp_ms <= self._clock.now_ms
        since_ms = offset.commit_timestamp_ms
        classic = self.live.group(offset.group_id).classic
        if classic is not None and not classic.members:
            since_ms = min(since_ms, classic.current_state_timestamp_ms)
        retention_ms = self._settings.offsets_retention_minutes * 60_000
        return self._clock.now_ms - since_ms >= retention_ms

    def _is_of_a_deleted_topic(self, offset: Offset) -> bool:
        return offset.topic_id not in self._topic_ids()

    def _topic_ids(self) -> set[UUID]:
        return {topic.topic_id for topic in self._topics.values()}

    def _check_ownership(self, records: Iterable[GroupsRecord]) -> None:
        """Within the machine: each partition at one member. And no member's belief is left without its ground."""
        touched = dict.fromkeys(record.group_id for record in records if isinstance(record, CHANGES_OWNERSHIP))
        for group_id in touched:
            owners: dict[Partition, str] = {}
            group = self.live.group(group_id)
            for member_id, member in group.members.items():
                for partition in member.assigned | member.pending:
                    other = owners.setdefault(partition, member_id)
                    self.require(other == member_id, group_id, "gives", partition, "to", other, "and to", member_id)
            self.claims.check(group_id, group, self._topic_ids())

    # At the log

    def appended(self, batches: Iterable[Batch]) -> tuple[GroupsRecord, ...]:
        """The records of an append, as its bytes say. None of a snapshot: those are nothing new."""
        records: list[GroupsRecord] = []
        is_snapshot = False
        for batch in batches:
            if batch.header.is_control:
                is_snapshot = True
            else:
                records += group_records.decode_batch(batch)
        if self._machine is None or self._shadow is None:
            return ()
        if is_snapshot:
            self._require_same("a written snapshot", records, self._machine.snapshot())
            return ()
        wrote_all = list(plain(records)) == list(plain(self._decided))
        self.require(wrote_all, "wrote", records, "where", self._decided, "was decided")
        for record in records:
            self._shadow.replay(record)
        self._require_same("the replayed log", self._shadow.snapshot(), self._machine.snapshot())
        for group_id in {record.group_id for record in records if isinstance(record, GroupMetadataRecord)}:
            self._require_same_description(group_id)
        return tuple(records)

    def became_durable(self, records: Iterable[GroupsRecord]) -> None:
        for record in plain(records):
            self.durable.apply(record)
            if isinstance(record, Offset):
                self._commits.add(record.offset)

    def _require_same_description(self, group_id: str) -> None:
        """What a classic group's members said is more than its snapshot repeats."""
        live, replayed = (self._ask(machine, DescribeGroup(group_id)) for machine in (self._machine, self._shadow))
        is_whole = live.group_state in ("Stable", "Empty")
        self.require(not is_whole or live == replayed, "described", live, "and replayed", replayed)

    def _require_same(self, what: str, one: Iterable[Any], other: Iterable[Any]) -> None:
        ones, others = set(plain(one)), set(plain(other))
        if ones != others:
            self.require(False, what, "is not the same: only there", ones - others, "only here", others - ones)

    # At the members

    def answered_commit(self, command: OffsetCommit, answer: OffsetCommitAnswer) -> None:
        """What is acknowledged is durable."""
        for topic, committed in zip(command.topics, answer.topics):
            for offset, outcome in zip(topic.committed_offsets, committed.partitions):
                is_durable = offset in self._commits
                self.require(outcome.error_code != 0 or is_durable, "acknowledged and lost:", offset, "of", command)

    def check_claims(self, group_id: str) -> None:
        """A member has just come to own more."""
        self.claims.check(group_id, self.live.group(group_id), self._topic_ids())

    def ask(self, command: object) -> Any:
        """What the machine says of itself; None before there is one."""
        return None if self._machine is None else self._ask(self._machine, command)

    def _ask(self, machine: Any, command: object) -> Any:
        decision = machine.handle(DEFAULT_ORG, command, NOBODY, Moment(self._clock.now_ms, b"oracle"))
        self.require(not decision.records, "a question changes", decision.records)
        return decision.replies[0].answer

    def unanswered(self) -> list[Any]:
        """Commands that still wait for an answer."""
        return list(self._outstanding.values())


def _where(failure: Exception) -> str:
    """The innermost line of what failed."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
