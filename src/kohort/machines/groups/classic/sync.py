"""SyncGroup: the leader hands in what it assigned, which makes the generation whole; every member is given its part.

Next hop: rebalance.py writes the generation.
"""

from typing import Final

from kohort.machines.contract import Token
from kohort.machines.groups.classic.group import ClassicGroup, State
from kohort.machines.groups.classic.member import Member
from kohort.machines.groups.classic.rebalance import rebalance, refuse_syncs, write_generation
from kohort.machines.groups.classic.timers import SyncPhaseTimer, watch
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import SyncGroup, SyncGroupAnswer
from kohort.model.errors import ErrorCode, ProtocolError

MOST_BYTES_OF_A_GENERATION: Final = 16 << 20
"""What is larger than that cannot be written. Kafka's limit is the max.message.bytes of its offsets topic."""


def handle_sync_group(state: GroupsState, command: SyncGroup, token: Token, draft: Draft) -> None:
    if not command.group_id:
        raise ProtocolError(ErrorCode.INVALID_GROUP_ID)
    group = state.groups.get(command.group_id)
    if not isinstance(group, ClassicGroup):
        raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {command.group_id} has no member {command.member_id}.")
    member = group.checked_member(command.member_id, command.group_instance_id)
    group.check_generation(member, command.generation_id)
    _check_protocol(group, command)
    match group.state:
        case State.PREPARING_REBALANCE:
            raise ProtocolError(ErrorCode.REBALANCE_IN_PROGRESS)
        case State.COMPLETING_REBALANCE:
            _wait_for_leader(group, member, token, draft)
            if member.member_id == group.leader_id:
                _take_assignments(state, group, command, draft)
        case State.STABLE:
            _has_synced(group, member, draft)
            draft.answer(token, _assignment(group, member))
        case State.EMPTY:
            raise AssertionError("an empty group has no member")


def _check_protocol(group: ClassicGroup, command: SyncGroup) -> None:
    """Members that speak of another protocol than the chosen one must not be given an assignment of it."""
    for sent, chosen in (
        (command.protocol_type, group.protocol_type),
        (command.protocol_name, group.protocol_name),
    ):
        if sent is not None and sent != chosen:
            raise ProtocolError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"{sent} was sent, but group {group.group_id} has {chosen}."
            )


def _wait_for_leader(group: ClassicGroup, member: Member, token: Token, draft: Draft) -> None:
    """An older request of the member can only have come over a connection that nobody reads any more."""
    if member.sync_token is not None:
        draft.answer(member.sync_token, SyncGroupAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
    member.sync_token = token
    _has_synced(group, member, draft)


def _has_synced(group: ClassicGroup, member: Member, draft: Draft) -> None:
    if member.member_id in group.pending_syncs:
        del group.pending_syncs[member.member_id]
        if not group.pending_syncs:
            draft.cancel_timer(SyncPhaseTimer(group.group_id))


def _take_assignments(state: GroupsState, group: ClassicGroup, command: SyncGroup, draft: Draft) -> None:
    """Members that the leader does not name are assigned nothing."""
    group.recorder.end_waiting(command.member_id, "sync", draft.now_ms)
    assignments = {each.member_id: each.assignment for each in command.assignments}
    if _size(group, assignments) > MOST_BYTES_OF_A_GENERATION:
        refuse_syncs(group, ErrorCode.UNKNOWN_SERVER_ERROR, draft)
        rebalance(state, group, "the leader's assignment was too large to be written", draft)
        return
    write_generation(state, group, assignments, draft)
    for member in group.members.values():
        if member.sync_token is not None:
            draft.answer(member.sync_token, _assignment(group, member))
            member.sync_token = None
            watch(group.group_id, member, member.session_timeout_ms, draft)


def _size(group: ClassicGroup, assignments: dict[str, bytes]) -> int:
    return sum(
        len(member.metadata_for(group.protocol_name)) + len(assignments.get(member.member_id, b""))
        for member in group.members.values()
    )


def _assignment(group: ClassicGroup, member: Member) -> SyncGroupAnswer:
    return SyncGroupAnswer(ErrorCode.NONE, member.assignment, group.protocol_type, group.protocol_name)
