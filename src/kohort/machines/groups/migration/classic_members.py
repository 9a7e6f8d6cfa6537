"""Classic members of a group that follows the consumer protocol, between one JoinGroup and the next: they ask for their
assignment, are heard from, leave, and are dropped if they do not do in time what they were told to.

Next hop: rejoining.py for what a heartbeat has to tell, consumer/leaving.py for those who go.
"""

from kohort.machines.contract import Token
from kohort.machines.groups.classic.holding import ALL_IS_WELL
from kohort.machines.groups.consumer.fencing import checked_member
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.leaving import MEMBER_LEFT, expire_member, remove_members
from kohort.machines.groups.consumer.member import Member
from kohort.machines.groups.consumer.presence import hear_of
from kohort.machines.groups.consumer.telling import tell_expectant
from kohort.machines.groups.consumer.timers import RejoinTimer, SyncTimer, stop_watching_sync
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.held import HeldHeartbeat
from kohort.machines.groups.hold_endings import hurry
from kohort.machines.groups.migration.embedded import embedded_assignment, protocols_of
from kohort.machines.groups.migration.rejoining import expect_rejoin, has_to_rejoin, tell_to_rejoin
from kohort.machines.groups.migration.waiting import SYNC
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import (
    Heartbeat,
    LeaveGroup,
    LeaveGroupAnswer,
    LeavingMember,
    LeftMember,
    SyncGroup,
    SyncGroupAnswer,
)
from kohort.model.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import MemberState

DID_NOT_JOIN = "a classic member did not join again in time"
DID_NOT_SYNC = "a classic member did not ask for its assignment in time"


def sync(state: GroupsState, group: ConsumerGroup, command: SyncGroup, token: Token, draft: Draft) -> None:
    member = _speaker(group, command)
    _check_protocol(member, command)
    position = member.position
    if position.epoch < group.target_epoch and position.state is not MemberState.UNREVOKED_PARTITIONS:
        # One that has to give something up has its way to go first; it is told of what is new after that.
        expect_rejoin(group, member, draft)
        draft.answer(token, SyncGroupAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
        return
    hear_of(state, group, member, command.origin, draft)
    stop_watching_sync(group, member, draft)
    group.recorder.end_waiting(member.member_id, SYNC, draft.now_ms)
    assignment = embedded_assignment(state, protocols_of(member)[0].metadata, position.assigned)
    draft.answer(token, SyncGroupAnswer(ErrorCode.NONE, assignment, command.protocol_type, command.protocol_name))


def _speaker(group: ConsumerGroup, command: SyncGroup | Heartbeat) -> Member:
    member = checked_member(group, command.member_id, command.group_instance_id)
    if not member.uses_classic_protocol:
        raise ProtocolError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol."
        )
    if command.generation_id != member.position.epoch:
        raise ProtocolError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {command.generation_id} is not equal to the member epoch "
            f"{member.position.epoch} of member {member.member_id}.",
        )
    return member


def _check_protocol(member: Member, command: SyncGroup) -> None:
    for sent, told in (
        (command.protocol_type, CONSUMER_PROTOCOL_TYPE),
        (command.protocol_name, protocols_of(member)[0].name),
    ):
        if sent is not None and sent != told:
            raise ProtocolError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"{sent} was sent, but member {member.member_id} was told {told}.",
            )


def heartbeat(state: GroupsState, group: ConsumerGroup, command: Heartbeat, token: Token, draft: Draft) -> None:
    member = _speaker(group, command)
    older = state.held.of_member(group.group_id, member.member_id)
    if older is not None:
        hurry(state, older, draft)  # It can only have come over a connection that nobody reads any more.
    hear_of(state, group, member, command.origin, draft)
    if has_to_rejoin(group, member):
        tell_to_rejoin(group, member, token, draft)
    elif not _hold_if_possible(state, group, member, token, draft):
        draft.answer(token, ALL_IS_WELL)


def _hold_if_possible(state: GroupsState, group: ConsumerGroup, member: Member, token: Token, draft: Draft) -> bool:
    classic, origin = member.metadata.classic_member_metadata, member.presence.origin
    assert classic is not None
    is_static = member.metadata.instance_id is not None
    hold_ms = state.push.classic_hold_ms(origin, classic.session_timeout_ms, is_static)
    if hold_ms <= 0:
        return False
    until_ms = draft.now_ms + hold_ms
    state.held.hold(HeldHeartbeat(token, group.group_id, member.member_id, origin, draft.now_ms, until_ms), draft)
    return True


# Those who go


def leave(state: GroupsState, group: ConsumerGroup, command: LeaveGroup, token: Token, draft: Draft) -> None:
    """An administrator may remove members of either protocol so. All who leave together are one change."""
    gone: dict[str, Member] = {}
    outcomes = []
    for leaving in command.members:
        code = ErrorCode.NONE
        try:
            member = _leaving_member(group, leaving)
            gone[member.member_id] = member
        except ProtocolError as refusal:
            code = refusal.code
        outcomes.append(LeftMember(leaving.member_id, leaving.group_instance_id, code))
    if gone:
        remove_members(state, group, gone.values(), MEMBER_LEFT, draft)
    draft.answer(token, LeaveGroupAnswer(ErrorCode.NONE, tuple(outcomes)))
    tell_expectant(state, group, draft)


def _leaving_member(group: ConsumerGroup, leaving: LeavingMember) -> Member:
    if leaving.member_id or leaving.group_instance_id is None:
        return checked_member(group, leaving.member_id, leaving.group_instance_id)
    member = group.static_member(leaving.group_instance_id)
    if member is None:
        raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {leaving.group_instance_id} is unknown.")
    return member


def on_rejoin_timer(state: GroupsState, key: RejoinTimer, draft: Draft) -> None:
    group, member = _member_of_timer(state, key)
    if group is not None and member is not None and member.presence.is_to_join:
        member.presence.is_to_join = False
        expire_member(state, group, member, DID_NOT_JOIN, draft)


def on_sync_timer(state: GroupsState, key: SyncTimer, draft: Draft) -> None:
    group, member = _member_of_timer(state, key)
    if group is not None and member is not None and member.presence.is_to_sync:
        member.presence.is_to_sync = False
        expire_member(state, group, member, DID_NOT_SYNC, draft)


def _member_of_timer(state: GroupsState, key: RejoinTimer | SyncTimer) -> tuple[ConsumerGroup | None, Member | None]:
    """None if it is gone by now."""
    group = state.groups.get(key.group_id)
    if not isinstance(group, ConsumerGroup):
        return None, None
    return group, group.members.get(key.member_id)
