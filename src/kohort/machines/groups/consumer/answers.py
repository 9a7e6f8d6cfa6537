"""What a member is answered: its epoch, its assignment if that is news to it, and when it is to come again.

Next hop: the draft.
"""

from typing import Final

from kohort.machines.contract import Token
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import Member, assignment_of
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import ConsumerGroupHeartbeatAnswer
from kohort.model.records.groups import MemberState

WAITING_INTERVAL_MS: Final = 300
"""How soon a member comes again that waits for partitions and that no held heartbeat can tell."""
WAITING_OFTENER: Final = 4
"""Where a group is so large that its intervals are longer, that is so many times in one."""


def answer_member(
    state: GroupsState, group: ConsumerGroup, member: Member, token: Token, draft: Draft, *, tells_assignment: bool
) -> None:
    position = member.position
    presence = member.presence
    interval_ms = _interval_ms(state, group, member)
    if interval_ms != presence.told_interval_ms:
        presence.told_interval_ms = interval_ms
        presence.hold_ms = state.push.consumer_hold_ms(presence.origin, interval_ms)
    assignment = assignment_of(position.assigned) if tells_assignment else None
    answer = ConsumerGroupHeartbeatAnswer(0, None, member.member_id, position.epoch, interval_ms, assignment)
    presence.last_answer = None if tells_assignment else answer
    draft.answer(token, answer)


def waits_for_partitions(group: ConsumerGroup, member: Member) -> bool:
    """Whether the member has reason to hope for more than it has."""
    state = member.position.state
    if state is MemberState.UNRELEASED_PARTITIONS:
        return True
    return group.epoch > group.target_epoch and state is MemberState.STABLE and not member.position.assigned


def _interval_ms(state: GroupsState, group: ConsumerGroup, member: Member) -> int:
    least_ms = state.settings_of(group.group_id).heartbeat_interval_ms
    interval_ms = state.push.consumer_interval_ms(len(group.members), least_ms)
    if not waits_for_partitions(group, member):
        return interval_ms
    origin = member.presence.origin
    # A client whose join can be held does not come back early when it was given nothing.
    comes_back_to_be_held = member.position.assigned or not state.push.join_hold_ms(origin)
    if comes_back_to_be_held and state.push.consumer_hold_ms(origin, interval_ms):
        return interval_ms
    return min(interval_ms, max(interval_ms // WAITING_OFTENER, WAITING_INTERVAL_MS))
