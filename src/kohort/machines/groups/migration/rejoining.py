"""When a classic member of a group of the consumer protocol has to join again, and how it hears of that.

Where a member of the consumer protocol is told its new assignment, one of the classic protocol can only be told to come
and ask for it: whenever there is another target, when it has to give something up, and when what it waits for is free.
It has its rebalance timeout for that.

Next hop: joining.py, where it comes; waiting.py, if it is there already.
"""

from typing import Final

from kohort.machines.contract import Token
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import Member
from kohort.machines.groups.consumer.timers import watch_rejoin
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.migration.waiting import go_on
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import HeartbeatAnswer
from kohort.model.errors import ErrorCode
from kohort.model.records.groups import MemberState

JOIN: Final = "join"
"""What the flight recorder calls the wait for a member that was told so."""

_REBALANCE_IN_PROGRESS: Final = HeartbeatAnswer(ErrorCode.REBALANCE_IN_PROGRESS)


def has_to_rejoin(group: ConsumerGroup, member: Member) -> bool:
    position = member.position
    if position.epoch < group.target_epoch:
        return True
    match position.state:
        case MemberState.UNREVOKED_PARTITIONS:
            return True
        case MemberState.UNRELEASED_PARTITIONS:
            return not _waits_for_others(group, member)
        case MemberState.STABLE | MemberState.UNKNOWN:
            return False


def _waits_for_others(group: ConsumerGroup, member: Member) -> bool:
    """Whether anything that the member is to have is not free yet."""
    assigned, is_taken = member.position.assigned, group.ownership.is_taken
    return any(
        partition not in assigned.get(topic_id, ()) and is_taken(topic_id, partition)
        for topic_id, partitions in member.target.items()
        for partition in partitions
    )


def tell_to_rejoin(group: ConsumerGroup, member: Member, token: Token, draft: Draft) -> None:
    """The answer to a heartbeat."""
    expect_rejoin(group, member, draft)
    draft.answer(token, _REBALANCE_IN_PROGRESS)


def expect_rejoin(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    watch_rejoin(group, member, draft)
    if group.recorder.is_recording:
        group.recorder.begin_waiting(member.member_id, JOIN, draft.now_ms)


def tell_classic_members(state: GroupsState, group: ConsumerGroup, draft: Draft) -> None:
    """Those who wait in their JoinGroups may have what they wait for; those whose heartbeats are held hear at once if
    they have to join again. What one of those who wait does not want any more may be what another waits for."""
    members = [group.members[member_id] for member_id in group.classic_members]
    has_moved = True
    while has_moved:
        has_moved = False
        for member in members:
            has_moved |= go_on(group, member, draft)
    for member in members:
        held = state.held.of_member(group.group_id, member.member_id)
        if held is not None and has_to_rejoin(group, member):
            state.held.take(held, draft)
            tell_to_rejoin(group, member, held.token, draft)
