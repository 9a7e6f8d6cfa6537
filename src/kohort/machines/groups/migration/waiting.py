"""A classic member waits in its JoinGroup for what it is to have, as long as others have yet to give that up.

Once it was answered, it would hear that something is free only with its next heartbeat, for which most clients take
their time; the partitions would be nobody's until then. Classic clients are used to wait there, for members that are
slow to join. This wait is a short one, and who has to give something up itself does not wait: others wait for that.
Kafka answers at once, and so it is done here if push is turned off.

Next hop: back to joining.py; rejoining.py asks whenever something changed.
"""

from typing import Final

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import Member, WaitingJoin
from kohort.machines.groups.consumer.moves import follow_target
from kohort.machines.groups.consumer.timers import JoinTimer, watch_sync
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.migration.embedded import protocols_of
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import JoinGroupAnswer
from kohort.model.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from kohort.model.errors import ErrorCode
from kohort.model.records.groups import MemberState

LONGEST_WAIT_MS: Final = 3000
"""Whoever has not given up its partitions by then is busy: they may take a while yet."""

SYNC: Final = "sync"
"""What the flight recorder calls the wait for a member that has joined and not asked for its assignment."""


def answer_or_wait(
    state: GroupsState, group: ConsumerGroup, member: Member, waiting: WaitingJoin, draft: Draft
) -> None:
    """The member has taken the step that it could."""
    member.presence.waiting_join = waiting
    classic = member.metadata.classic_member_metadata
    assert classic is not None
    wait_ms = min(LONGEST_WAIT_MS, classic.session_timeout_ms // 3)
    if state.settings.group_push_enable and _has_more_to_come(group, member):
        draft.set_timer(JoinTimer(group.group_id, member.member_id), draft.now_ms + wait_ms)
    else:
        _answer(group, member, waiting, draft)


def _has_more_to_come(group: ConsumerGroup, member: Member) -> bool:
    state = member.position.state
    if state is MemberState.UNREVOKED_PARTITIONS:
        return False
    return state is MemberState.UNRELEASED_PARTITIONS or group.epoch > group.target_epoch


def go_on(group: ConsumerGroup, member: Member, draft: Draft) -> bool:
    """Something changed: a member that waits takes the next step, and is answered if it is there. Whether it moved."""
    waiting = member.presence.waiting_join
    if waiting is None:
        return False
    before = member.position
    follow_target(group, member, waiting.owned, draft)
    if not _has_more_to_come(group, member):
        _answer(group, member, waiting, draft)
    return member.position is not before


def on_join_timer(state: GroupsState, key: JoinTimer, draft: Draft) -> None:
    """The member has to do with what it has."""
    group = state.groups.get(key.group_id)
    member = group.members.get(key.member_id) if isinstance(group, ConsumerGroup) else None
    if isinstance(group, ConsumerGroup) and isinstance(member, Member):
        waiting = member.presence.waiting_join
        if waiting is not None:
            _answer(group, member, waiting, draft)


def _answer(group: ConsumerGroup, member: Member, waiting: WaitingJoin, draft: Draft) -> None:
    _forget(group, member, draft)
    watch_sync(group, member, draft)
    if group.recorder.is_recording:
        group.recorder.begin_waiting(member.member_id, SYNC, draft.now_ms)
    draft.answer(waiting.token, joined(member.member_id, member.position.epoch, protocols_of(member)[0].name))


def joined(member_id: str, epoch: int, protocol_name: str) -> JoinGroupAnswer:
    """The epoch is the generation, and somebody else leads."""
    return JoinGroupAnswer(
        ErrorCode.NONE, epoch, protocol_name, member_id=member_id, protocol_type=CONSUMER_PROTOCOL_TYPE
    )


def end_wait(group: ConsumerGroup, member: Member, code: ErrorCode, draft: Draft) -> None:
    """The member goes, or comes again before it was answered."""
    waiting = take_wait(group, member, draft)
    if waiting is not None:
        draft.answer(waiting.token, JoinGroupAnswer(code, member_id=member.member_id))


def take_wait(group: ConsumerGroup, member: Member, draft: Draft) -> WaitingJoin | None:
    """For who answers it in another way."""
    waiting = member.presence.waiting_join
    if waiting is not None:
        _forget(group, member, draft)
    return waiting


def _forget(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    member.presence.waiting_join = None
    draft.cancel_timer(JoinTimer(group.group_id, member.member_id))
