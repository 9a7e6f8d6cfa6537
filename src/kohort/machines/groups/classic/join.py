"""JoinGroup: a member comes to the group, or comes again because the group rebalances or the member has changed.

A dynamic member that is new is told its id first and comes again with it, so that a client which loses the answer to
its first request leaves nothing behind. A follower of a stable group that says what it said before is answered at once.

Next hop: static_members.py for those who come back under another id; rebalance.py, where members wait for each other.
"""

from typing import Final

from kohort.machines.contract import Token
from kohort.machines.groups.classic.group import ClassicGroup, State
from kohort.machines.groups.classic.member import Member, member_of_join, mint_member_id
from kohort.machines.groups.classic.presence import hear_of, remove_member
from kohort.machines.groups.classic.rebalance import complete_join_phase_if_all_joined, rebalance
from kohort.machines.groups.classic.static_members import replace_member
from kohort.machines.groups.classic.timers import NEW_MEMBER_JOIN_TIMEOUT_MS, SessionTimer, watch
from kohort.machines.groups.connections import NO_CONNECTION
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import JoinGroup, JoinGroupAnswer
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import GroupMetadataRecord
from kohort.model.settings import BrokerSettings

LONGEST_NAME_BYTES: Final = (1 << 15) - 1
"""The longest string that a record can hold."""


def handle_join_group(state: GroupsState, command: JoinGroup, token: Token, draft: Draft) -> None:
    check_request(state.settings, command)
    group = _group_to_join(state, command, draft)
    member = group.members.get(command.member_id)
    if not _has_room(state.settings, group, member):
        _turn_away(state, group, member, token, draft)
        return
    if not group.supports(command.protocol_type, command.protocols):
        raise ProtocolError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Group {group.group_id} has no protocol in common with the member."
        )
    if not command.member_id:
        _join_without_id(state, group, command, token, draft)
    elif command.member_id in group.pending_joins:
        if command.group_instance_id is not None:
            raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID, f"{command.member_id} was given to a dynamic member.")
        _add(state, group, command, command.member_id, token, draft)
    else:
        _join_again(state, group, command, token, draft)


def check_request(settings: BrokerSettings, command: JoinGroup) -> None:
    """What is wrong with it by itself, whatever group it is for."""
    if not command.group_id:
        raise ProtocolError(ErrorCode.INVALID_GROUP_ID)
    shortest_ms, longest_ms = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if not shortest_ms <= command.session_timeout_ms <= longest_ms:
        raise ProtocolError(
            ErrorCode.INVALID_SESSION_TIMEOUT,
            f"The session timeout {command.session_timeout_ms} is not within {shortest_ms} and {longest_ms} ms.",
        )
    protocol_names = [protocol.name for protocol in command.protocols]
    names = (command.group_id, command.group_instance_id or "", command.protocol_type, *protocol_names)
    if any(len(name.encode()) > LONGEST_NAME_BYTES for name in names):
        # Kafka closes the connection: its messages have no strings as long as that.
        raise ProtocolError(ErrorCode.INVALID_REQUEST, f"A name of more than {LONGEST_NAME_BYTES} bytes was sent.")
    if sum(len(name) + len(metadata) for name, metadata in command.protocols) > settings.message_max_bytes:
        # In Kafka such a member keeps its group from ever being stable: each generation fails with this when written.
        raise ProtocolError(ErrorCode.UNKNOWN_SERVER_ERROR, "The protocols of the member are too large to be written.")


def _group_to_join(state: GroupsState, command: JoinGroup, draft: Draft) -> ClassicGroup:
    """The group, made if this is its first member. One that followed the consumer protocol, and is empty (or migration/
    would have been asked), goes on as a classic one."""
    group = state.groups.get(command.group_id)
    if isinstance(group, ClassicGroup):
        return group
    if command.member_id:
        raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {command.group_id} has no member {command.member_id}.")
    if not command.protocol_type or not command.protocols:
        raise ProtocolError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "A member must be able to follow a protocol.")
    if group is not None:
        _become_classic(group, draft)
    return state.made_classic_group(command.group_id)


def _become_classic(group: ConsumerGroup, draft: Draft) -> None:
    """Generations go on where the epochs of the group ended."""
    emptied = GroupMetadataRecord(group.group_id, "", group.epoch, None, None, draft.now_ms, ())
    draft.write(*group.removal(), emptied)


def _has_room(settings: BrokerSettings, group: ClassicGroup, member: Member | None) -> bool:
    """In the join phase those count who have joined already, so that the last ones are those who find no room."""
    match group.state:
        case State.EMPTY:
            return True
        case State.PREPARING_REBALANCE:
            is_counted = member is not None and member.join_token is not None
            return is_counted or group.joining < settings.group_max_size
        case State.COMPLETING_REBALANCE | State.STABLE:
            return member is not None or len(group.members) < settings.group_max_size


def _turn_away(state: GroupsState, group: ClassicGroup, member: Member | None, token: Token, draft: Draft) -> None:
    draft.answer(token, JoinGroupAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED))
    if member is not None:
        remove_member(state, group, member, f"there was no room for member {member.member_id}", draft)
        complete_join_phase_if_all_joined(state, group, draft)


# Those who are new


def _join_without_id(state: GroupsState, group: ClassicGroup, command: JoinGroup, token: Token, draft: Draft) -> None:
    instance_id = command.group_instance_id
    old = None if instance_id is None else group.static_member(instance_id)
    if old is not None:
        replace_member(state, group, old, command, token, draft)
        return
    member_id = mint_member_id(command, draft.moment)
    if instance_id is None and command.requires_known_member_id:
        group.pending_joins[member_id] = command.origin.connection_id
        state.connections.move(group.group_id, member_id, NO_CONNECTION, command.origin.connection_id)
        draft.set_timer(SessionTimer(group.group_id, member_id), draft.now_ms + command.session_timeout_ms)
        draft.answer(token, JoinGroupAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
    else:
        _add(state, group, command, member_id, token, draft)


def _add(
    state: GroupsState, group: ClassicGroup, command: JoinGroup, member_id: str, token: Token, draft: Draft
) -> None:
    member = member_of_join(command, member_id)
    member.is_new = True
    if group.is_first_rebalance:
        group.has_grown = True
    was_pending_on = group.pending_joins.get(member_id, NO_CONNECTION)
    state.connections.move(group.group_id, member_id, was_pending_on, NO_CONNECTION)
    group.add(member, command.protocol_type)
    group.wait_for_others(member, token)
    hear_of(state, group, member, command.origin, draft.now_ms)
    watch(group.group_id, member, NEW_MEMBER_JOIN_TIMEOUT_MS, draft)
    group.recorder.joined(member_id)
    rebalance(state, group, f"member {member_id} joined", draft)


# Those who are known


def _join_again(state: GroupsState, group: ClassicGroup, command: JoinGroup, token: Token, draft: Draft) -> None:
    member = group.checked_member(command.member_id, command.group_instance_id)
    has_changed = member.protocols != command.protocols
    match group.state:
        case State.PREPARING_REBALANCE:
            _wait(state, group, member, command, token, draft)
            complete_join_phase_if_all_joined(state, group, draft)
        case State.STABLE if member.member_id == group.leader_id:
            # So it tells of changes that concern the assignment, but not what it says of itself: of topics, mostly.
            _wait(state, group, member, command, token, draft)
            rebalance(state, group, f"the leader {member.member_id} joined again", draft)
        case State.STABLE | State.COMPLETING_REBALANCE if has_changed:
            _wait(state, group, member, command, token, draft)
            rebalance(state, group, f"member {member.member_id} changed its subscription", draft)
        case State.STABLE | State.COMPLETING_REBALANCE:
            draft.answer(token, current_generation(group, member))
        case State.EMPTY:
            raise AssertionError("an empty group has no member")
    hear_of(state, group, member, command.origin, draft.now_ms)


def _wait(
    state: GroupsState, group: ClassicGroup, member: Member, command: JoinGroup, token: Token, draft: Draft
) -> None:
    """What it says of itself counts from now on. An older request of it can only have come over a connection that
    nobody reads any more."""
    group.change_protocols(member, command.protocols)
    member.rebalance_timeout_ms = command.rebalance_timeout_ms
    member.session_timeout_ms = command.session_timeout_ms
    older = group.wait_for_others(member, token)
    if older is not None:
        draft.answer(older, JoinGroupAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id))
    group.recorder.end_waiting(member.member_id, "join", draft.now_ms)


def current_generation(group: ClassicGroup, member: Member) -> JoinGroupAnswer:
    """Of a leader it must have lost our answer: it is told once more who the members are."""
    return JoinGroupAnswer(
        ErrorCode.NONE,
        group.generation_id,
        group.protocol_name,
        group.leader_id or "",
        member.member_id,
        group.joined_members() if member.member_id == group.leader_id else (),
        group.protocol_type,
    )
