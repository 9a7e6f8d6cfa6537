"""How a classic group gets from one generation to the next: it waits for all to join, then for what the leader assigns.

The first rebalance of an empty group lasts the initial delay at least, so that members that start together are assigned
together; the delay is prolonged as long as members keep coming. Any other is over as soon as everybody has joined, and
leaves behind whoever has not within the longest rebalance timeout of its members. Static members are not left behind:
what they have stays theirs until their sessions end.

Next hop: sync.py, where the leader hands in the assignment.
"""

from kohort.machines.groups.classic.group import ClassicGroup, State
from kohort.machines.groups.classic.holding import tell_held
from kohort.machines.groups.classic.presence import record_trigger, remove_member
from kohort.machines.groups.classic.timers import InitialDelayTimer, JoinPhaseTimer, SyncPhaseTimer, watch
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import JoinGroupAnswer, SyncGroupAnswer
from kohort.model.errors import ErrorCode


def rebalance(state: GroupsState, group: ClassicGroup, why: str, draft: Draft) -> None:
    """The members must agree anew. If they are about to anyway, this may be what was missing for it."""
    record_trigger(group, why, draft)
    if group.state is State.PREPARING_REBALANCE:
        complete_join_phase_if_all_joined(state, group, draft)
    else:
        _begin_join_phase(state, group, draft)


def _begin_join_phase(state: GroupsState, group: ClassicGroup, draft: Draft) -> None:
    is_first = group.state is State.EMPTY
    refuse_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, draft)
    if group.pending_syncs:
        group.pending_syncs.clear()
        draft.cancel_timer(SyncPhaseTimer(group.group_id))
    group.state = State.PREPARING_REBALANCE
    group.is_first_rebalance = is_first
    group.has_grown = False
    for member in group.members.values():
        tell_held(state, group, member, ErrorCode.REBALANCE_IN_PROGRESS, draft)
        if member.join_token is None:
            group.recorder.begin_waiting(member.member_id, "join", draft.now_ms)
    if is_first:
        delay_ms = state.settings.group_initial_rebalance_delay_ms
        remaining_ms = max(group.rebalance_timeout_ms() - delay_ms, 0)
        draft.set_timer(InitialDelayTimer(group.group_id, remaining_ms), draft.now_ms + delay_ms)
    elif group.have_all_joined():
        _complete_join_phase(state, group, draft)
    else:
        _await_join_phase(group, draft)


def refuse_syncs(group: ClassicGroup, code: ErrorCode, draft: Draft) -> None:
    """Whoever waits for an assignment gets none."""
    for member in group.members.values():
        if member.sync_token is not None:
            draft.answer(member.sync_token, SyncGroupAnswer(code))
            member.sync_token = None
            watch(group.group_id, member, member.session_timeout_ms, draft)


def _await_join_phase(group: ClassicGroup, draft: Draft) -> None:
    draft.set_timer(JoinPhaseTimer(group.group_id), draft.now_ms + group.rebalance_timeout_ms())


def complete_join_phase_if_all_joined(state: GroupsState, group: ClassicGroup, draft: Draft) -> None:
    """Not during the initial delay: more may come."""
    if group.state is State.PREPARING_REBALANCE and not group.is_first_rebalance and group.have_all_joined():
        _complete_join_phase(state, group, draft)


def _complete_join_phase(state: GroupsState, group: ClassicGroup, draft: Draft) -> None:
    draft.cancel_timer(JoinPhaseTimer(group.group_id))
    for member in tuple(group.members.values()):
        if member.join_token is None and member.is_dynamic:
            remove_member(state, group, member, f"member {member.member_id} did not join again in time", draft)
    if group.members and not group.elect_leader():
        _await_join_phase(group, draft)  # Only static members, and none of them is here.
        return
    group.generation_id += 1
    group.older_epochs.clear()
    group.is_first_rebalance = False
    group.protocol_name = group.selected_protocol()
    if group.members:
        _begin_sync_phase(group, draft)
    else:
        write_generation(state, group, {}, draft)


def _begin_sync_phase(group: ClassicGroup, draft: Draft) -> None:
    """Everybody who has joined learns of the generation, and the leader who is in it."""
    group.state = State.COMPLETING_REBALANCE
    joined_members = group.joined_members()
    leader_id = group.leader_id or ""
    for member in group.members.values():
        group.recorder.end_waiting(member.member_id, "join", draft.now_ms)
        token = group.take_join_token(member)
        if token is None:
            continue
        answer = JoinGroupAnswer(
            ErrorCode.NONE,
            group.generation_id,
            group.protocol_name,
            leader_id,
            member.member_id,
            joined_members if member.member_id == leader_id else (),
            group.protocol_type,
        )
        draft.answer(token, answer)
        member.is_new = False
        group.pending_syncs[member.member_id] = None
        watch(group.group_id, member, member.session_timeout_ms, draft)
    group.recorder.begin_waiting(leader_id, "sync", draft.now_ms)
    draft.set_timer(SyncPhaseTimer(group.group_id), draft.now_ms + group.rebalance_timeout_ms())


def write_generation(state: GroupsState, group: ClassicGroup, assignments: dict[str, bytes], draft: Draft) -> None:
    """The generation is whole: from here on the group is stable, or empty, and a restart brings it back so."""
    state.introduce(group.group_id, draft)
    draft.write(group.record(assignments, draft.now_ms))
    finish_recording(state, group, draft)


def finish_recording(state: GroupsState, group: ClassicGroup, draft: Draft) -> None:
    """If a rebalance was under way, it is over and told."""
    if group.recorder.is_recording:
        identity, ownership = state.identities[group.group_id], group.ownership()
        event = group.recorder.finish(
            group.group_id, identity, "classic", group.generation_id, len(group.members), ownership, draft.now_ms
        )
        draft.tell(event)


# Timers


def on_initial_delay_over(state: GroupsState, timer: InitialDelayTimer, draft: Draft) -> None:
    group = state.groups.get(timer.group_id)
    if not isinstance(group, ClassicGroup) or not group.is_first_rebalance:
        return
    if group.has_grown and timer.remaining_ms:
        group.has_grown = False
        delay_ms = state.settings.group_initial_rebalance_delay_ms
        remaining_ms = max(timer.remaining_ms - delay_ms, 0)
        at_ms = draft.now_ms + min(delay_ms, timer.remaining_ms)
        draft.set_timer(InitialDelayTimer(group.group_id, remaining_ms), at_ms)
    else:
        _complete_join_phase(state, group, draft)


def on_join_phase_over(state: GroupsState, timer: JoinPhaseTimer, draft: Draft) -> None:
    group = state.groups.get(timer.group_id)
    if isinstance(group, ClassicGroup) and group.state is State.PREPARING_REBALANCE and not group.is_first_rebalance:
        _complete_join_phase(state, group, draft)


def on_sync_phase_over(state: GroupsState, timer: SyncPhaseTimer, draft: Draft) -> None:
    group = state.groups.get(timer.group_id)
    if not isinstance(group, ClassicGroup) or not group.pending_syncs:
        return
    late = [group.members[member_id] for member_id in group.pending_syncs]
    for member in late:
        remove_member(state, group, member, _did_not_sync(member.member_id), draft)
    rebalance(state, group, _did_not_sync(late[0].member_id), draft)


def _did_not_sync(member_id: str) -> str:
    return f"member {member_id} did not ask for its assignment in time"
