"""Members that go: by their own word, for good or (static) for a while, because they are silent, or because another
takes their place.

Next hop: target.py, where those who stay get what the others had; migration/downgrade.py, if nobody of them speaks the
consumer protocol.
"""

from collections.abc import Iterable
from dataclasses import replace

from kohort.machines.contract import Token
from kohort.machines.groups.classic.rebalance import rebalance
from kohort.machines.groups.consumer.fencing import checked_member
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import LEFT_FOR_A_WHILE_EPOCH, NEVER_MS, Member, topic_partitions
from kohort.machines.groups.consumer.moves import move
from kohort.machines.groups.consumer.presence import forget
from kohort.machines.groups.consumer.reconciliation import AssignedPartitions, Position
from kohort.machines.groups.consumer.recording import record_trigger
from kohort.machines.groups.consumer.subscribing import drop_unused_expressions
from kohort.machines.groups.consumer.target import bump_epoch
from kohort.machines.groups.consumer.telling import tell_expectant
from kohort.machines.groups.consumer.timers import ConsumerSessionTimer, RevocationTimer, watch
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.migration.downgrade import DOWNGRADED, downgrade, is_to_downgrade
from kohort.machines.groups.migration.waiting import end_wait
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer, HeartbeatAnswer
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import MemberState, TargetAssignmentMemberRecord

MEMBER_LEFT = "a member left"
SESSION_EXPIRED = "a member was silent for too long"
REVOCATION_OVERDUE = "a member did not give up its partitions in time"


def leave(state: GroupsState, command: ConsumerGroupHeartbeat, token: Token, draft: Draft) -> None:
    group = _group_to_leave(state, command.group_id)
    member = checked_member(group, command.member_id, command.instance_id)
    if command.member_epoch == LEFT_FOR_A_WHILE_EPOCH:
        _leave_for_a_while(state, group, member, draft)
    else:
        remove_members(state, group, (member,), MEMBER_LEFT, draft)
    draft.answer(token, ConsumerGroupHeartbeatAnswer(0, None, command.member_id, command.member_epoch))
    tell_expectant(state, group, draft)


def _group_to_leave(state: GroupsState, group_id: str) -> ConsumerGroup:
    group = state.groups.get(group_id)
    if group is None:
        raise ProtocolError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        raise ProtocolError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def _leave_for_a_while(state: GroupsState, group: ConsumerGroup, member: Member, draft: Draft) -> None:
    """It keeps what it has, and has given up what it was to. Its session goes on from when it was last heard."""
    _answer_held(state, group, member, ErrorCode.FENCED_MEMBER_EPOCH, draft)
    position = member.position
    assigned: AssignedPartitions = {
        topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in position.assigned.items()
    }
    away = Position(LEFT_FOR_A_WHILE_EPOCH, position.epoch, MemberState.STABLE, assigned)
    move(group, member, away, draft)


def remove_members(state: GroupsState, group: ConsumerGroup, members: Iterable[Member], why: str, draft: Draft) -> None:
    """Who calls has to see to it that those who stay are told. If all of them speak the classic protocol, they go on as
    a classic group, which is another one."""
    record_trigger(group, why, draft)
    for member in members:
        _answer_held(state, group, member, ErrorCode.UNKNOWN_MEMBER_ID, draft)
        forget(state, group, member, draft)
        draft.write(*group.member_removal(member.member_id))
        group.recorder.left(member.member_id)
    if is_to_downgrade(state, group):
        rebalance(state, downgrade(state, group, draft), DOWNGRADED, draft)
        return
    drop_unused_expressions(group, draft)
    bump_epoch(state, group, why, draft)


def replace_static_member(
    state: GroupsState, group: ConsumerGroup, predecessor: Member, member_id: str, draft: Draft
) -> None:
    """The static member came back under another id: it has what it had, and nobody else is concerned."""
    _answer_held(state, group, predecessor, ErrorCode.FENCED_INSTANCE_ID, draft)
    forget(state, group, predecessor, draft)
    was_settled = predecessor.member_id not in group.unsettled
    position = predecessor.position
    draft.write(
        *group.member_removal(predecessor.member_id),
        replace(predecessor.metadata, member_id=member_id),
        TargetAssignmentMemberRecord(group.group_id, member_id, topic_partitions(predecessor.target)),
    )
    move(group, group.members[member_id], position._replace(epoch=0, previous_epoch=0), draft)
    if not was_settled:
        group.unsettled[member_id] = None


def on_session_timer(state: GroupsState, key: ConsumerSessionTimer, draft: Draft) -> None:
    found = _member_of_timer(state, key)
    if found is None:
        return
    group, member = found
    expires_at_ms, member.presence.timer_at_ms = member.presence.expires_at_ms, NEVER_MS
    if expires_at_ms > draft.now_ms:
        watch(group, member, expires_at_ms, draft)
    else:
        expire_member(state, group, member, SESSION_EXPIRED, draft)


def on_revocation_timer(state: GroupsState, key: RevocationTimer, draft: Draft) -> None:
    found = _member_of_timer(state, key)
    if found is not None and found[1].presence.is_revoking:
        expire_member(state, *found, REVOCATION_OVERDUE, draft)


def expire_member(state: GroupsState, group: ConsumerGroup, member: Member, why: str, draft: Draft) -> None:
    remove_members(state, group, (member,), why, draft)
    tell_expectant(state, group, draft)


def _member_of_timer(
    state: GroupsState, key: ConsumerSessionTimer | RevocationTimer
) -> tuple[ConsumerGroup, Member] | None:
    """None if it is gone by now."""
    group = state.groups.get(key.group_id)
    member = group.members.get(key.member_id) if isinstance(group, ConsumerGroup) else None
    return None if member is None or not isinstance(group, ConsumerGroup) else (group, member)


def _answer_held(state: GroupsState, group: ConsumerGroup, member: Member, code: ErrorCode, draft: Draft) -> None:
    end_wait(group, member, code, draft)
    held = state.held.of_member(group.group_id, member.member_id)
    if held is not None:
        state.held.take(held, draft)
        if member.uses_classic_protocol:
            draft.answer(held.token, HeartbeatAnswer(code))
        else:
            message = f"Member {member.member_id} is not a member of group {group.group_id} any more."
            draft.answer(held.token, ConsumerGroupHeartbeatAnswer(code, message))
