"""A static member comes back under another member id, as after a restart of its process: it takes its old place.

A stable group need not rebalance for that, as long as its protocol would be the same one. A leader that came back must
then not assign again: it is told so, or, if it is too old to understand that, told that somebody else leads.

Next hop: rebalance.py, if the group has to agree anew.
"""

from kohort.machines.contract import Token
from kohort.machines.groups.classic.group import ClassicGroup, State
from kohort.machines.groups.classic.member import Member, member_of_join, mint_member_id
from kohort.machines.groups.classic.presence import hear_of, part_with
from kohort.machines.groups.classic.rebalance import complete_join_phase_if_all_joined, rebalance
from kohort.machines.groups.classic.timers import watch
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import JoinGroup, JoinGroupAnswer
from kohort.model.errors import ErrorCode


def replace_member(
    state: GroupsState, group: ClassicGroup, old: Member, command: JoinGroup, token: Token, draft: Draft
) -> None:
    previous_leader_id = group.leader_id or ""
    member = member_of_join(command, mint_member_id(command, draft.moment))
    part_with(state, group, old, ErrorCode.FENCED_INSTANCE_ID, draft)
    group.replace(old, member)
    hear_of(state, group, member, command.origin, draft.now_ms)
    watch(group.group_id, member, member.session_timeout_ms, draft)
    if group.state is State.STABLE and group.selected_protocol() == group.protocol_name:
        _write_replaced(state, group, draft)
        draft.answer(token, _answer(group, member, previous_leader_id, command.supports_skip_assignment))
        return
    group.wait_for_others(member, token)
    group.recorder.left(old.member_id)
    group.recorder.joined(member.member_id)
    if group.state is State.PREPARING_REBALANCE:
        complete_join_phase_if_all_joined(state, group, draft)
    else:
        why = f"static member {command.group_instance_id} came back as {member.member_id}"
        rebalance(state, group, why, draft)


def _write_replaced(state: GroupsState, group: ClassicGroup, draft: Draft) -> None:
    """The generation is the same, but for one member's name."""
    state.introduce(group.group_id, draft)
    assignments = {member.member_id: member.assignment for member in group.members.values()}
    draft.write(group.record(assignments, group.state_since_ms))


def _answer(
    group: ClassicGroup, member: Member, previous_leader_id: str, supports_skip_assignment: bool
) -> JoinGroupAnswer:
    skips = supports_skip_assignment and group.leader_id == member.member_id
    return JoinGroupAnswer(
        ErrorCode.NONE,
        group.generation_id,
        group.protocol_name,
        (group.leader_id or "") if supports_skip_assignment else previous_leader_id,
        member.member_id,
        group.joined_members() if skips else (),
        group.protocol_type,
        skips,
    )
