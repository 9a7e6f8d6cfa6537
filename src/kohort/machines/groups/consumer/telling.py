"""Heartbeats that are held because there is nothing to say: which may be, and what ends that.

A member may be told something only by an answer to a heartbeat, so with every held one it can be told once, and its
epoch moves by one step at most. Whom a decision concerns is what group.expectant says. Of them, those who have to give
something up are told first, since others wait for that; those for whom only the epoch would be another are not told.
A member that owes us the word that it gave something up is never held: its client would keep that word back.

Next hop: moves.py, answers.py, and held.py, which keeps them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kohort.machines.contract import Token
from kohort.machines.groups.consumer.answers import answer_member, waits_for_partitions
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import Member
from kohort.machines.groups.consumer.moves import follow_target, move
from kohort.machines.groups.consumer.reconciliation import Owned, Position, reconcile
from kohort.machines.groups.consumer.recording import finish_recording
from kohort.machines.groups.consumer.target import assign
from kohort.machines.groups.consumer.timers import TargetTimer
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.held import Completion, HeldHeartbeat
from kohort.machines.groups.migration.rejoining import tell_classic_members
from kohort.machines.groups.state import GroupsState
from kohort.model.records.groups import MemberState

NOTHING_OWNED: Owned = {}


def may_be_held(member: Member) -> bool:
    """Whether the client bears to wait for an answer that has nothing to say, and nobody waits for the client."""
    return member.presence.hold_ms > 0 and member.position.state is not MemberState.UNREVOKED_PARTITIONS


def hold(
    state: GroupsState, group: ConsumerGroup, member: Member, token: Token, draft: Draft, *, is_full: bool
) -> None:
    """The answer waits until there is something to say, or until the client bears no more."""
    presence = member.presence
    until_ms = draft.now_ms + presence.hold_ms
    held = HeldHeartbeat(token, group.group_id, member.member_id, presence.origin, draft.now_ms, until_ms, is_full)
    state.held.hold(held, draft)


def hold_join_if_possible(state: GroupsState, group: ConsumerGroup, member: Member, token: Token, draft: Draft) -> bool:
    """Holds the answer to a member that joined and for which nothing is free yet, if its client would not come back
    before its next interval."""
    origin = member.presence.origin
    hold_ms = state.push.join_hold_ms(origin)
    if hold_ms <= 0 or member.position.assigned or not waits_for_partitions(group, member):
        return False
    until_ms = draft.now_ms + hold_ms
    held = HeldHeartbeat(
        token, group.group_id, member.member_id, origin, draft.now_ms, until_ms, is_full=True, is_join=True
    )
    state.held.hold(held, draft)
    group.held_joins[member.member_id] = None
    return True


def on_target_timer(state: GroupsState, key: TargetTimer, draft: Draft) -> None:
    """The changes of a while are gathered: the group has another target, and whom it concerns is told."""
    group = state.groups.get(key.group_id)
    if isinstance(group, ConsumerGroup) and group.assign_at_ms is not None:
        assign(state, group, draft)
        tell_expectant(state, group, draft)


class _News(NamedTuple):
    member: Member
    held: HeldHeartbeat
    position: Position


def tell_expectant(state: GroupsState, group: ConsumerGroup, draft: Draft) -> None:
    """The last step of every decision that may have changed what others have to hear."""
    if group.classic_members:
        tell_classic_members(state, group, draft)
    if group.expectant:
        news = list(_news(state, group))
        group.expectant.clear()
        for member, held, position in sorted(news, key=_gains_only):
            if position is not member.position:
                move(group, member, position, draft)
            state.held.take(held, draft)
            answer_member(state, group, member, held.token, draft, tells_assignment=True)
    finish_recording(state, group, draft)


def _news(state: GroupsState, group: ConsumerGroup) -> Iterator[_News]:
    for member_id in group.expectant:
        member = group.members[member_id]
        held = state.held.of_member(group.group_id, member_id)
        if held is None or member.uses_classic_protocol:
            continue
        before = member.position
        after = reconcile(before, group.goal_of(member), NOTHING_OWNED if held.is_join else None)
        waits_in_vain = held.is_join and after.state is MemberState.STABLE and group.epoch == group.target_epoch
        if after.assigned != before.assigned or waits_in_vain:
            yield _News(member, held, after)


def _gains_only(news: _News) -> bool:
    return news.position.state is not MemberState.UNREVOKED_PARTITIONS


def end_hold(state: GroupsState, group: ConsumerGroup, held: HeldHeartbeat, draft: Draft) -> None:
    """Its time is up: it is answered as if it came now."""
    member = group.members[held.member_id]
    state.held.take(held, draft, Completion.TIME_UP)
    has_news = follow_target(group, member, NOTHING_OWNED if held.is_join else None, draft)
    answer_member(state, group, member, held.token, draft, tells_assignment=has_news or held.is_full)
    tell_expectant(state, group, draft)


def answer_hurried(state: GroupsState, group: ConsumerGroup, held: HeldHeartbeat, draft: Draft) -> None:
    """Another request waits behind it, which may carry the member's epoch: so nothing is moved, however much there is
    to tell."""
    state.held.take(held, draft, Completion.HURRIED)
    answer_member(state, group, group.members[held.member_id], held.token, draft, tells_assignment=held.is_full)
