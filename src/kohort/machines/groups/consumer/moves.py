"""A member's steps towards its target, written down.

Next hop: answers.py and telling.py, which let the member know.
"""

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import Member, current_assignment_record
from kohort.machines.groups.consumer.reconciliation import Owned, Position, reconcile
from kohort.machines.groups.consumer.recording import REVOCATION
from kohort.machines.groups.consumer.timers import stop_watching_revocation, watch_revocation
from kohort.machines.groups.draft import Draft
from kohort.model.records.groups import MemberState


def follow_target(
    group: ConsumerGroup, member: Member, owned: Owned | None, draft: Draft, *, has_new_subscription: bool = False
) -> bool:
    """The member takes the step that what it owns allows. Whether its assignment is another by that."""
    before = member.position
    after = reconcile(before, group.goal_of(member), owned, has_new_subscription)
    if after is before:
        return False
    move(group, member, after, draft)
    return after.assigned != before.assigned


def move(group: ConsumerGroup, member: Member, position: Position, draft: Draft) -> None:
    draft.write(current_assignment_record(group.group_id, member.member_id, position))
    watch_step(group, member, draft)


def watch_step(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    """Only who owes us the word that it gave something up has a time to do so."""
    if member.position.state is MemberState.UNREVOKED_PARTITIONS:
        watch_revocation(group, member, draft)
        if group.recorder.is_recording:
            group.recorder.begin_waiting(member.member_id, REVOCATION, draft.now_ms)
    elif member.presence.is_revoking:
        stop_watching_revocation(group, member, draft)
        group.recorder.end_waiting(member.member_id, REVOCATION, draft.now_ms)
