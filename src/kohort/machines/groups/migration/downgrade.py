"""A group of the consumer protocol becomes a classic one, because the last member that spoke it is gone.

The generation is the epoch of the group, and each member's target becomes what it is assigned. That may be out of date,
or not yet be what the member has: unless it is known not to be, whoever calls makes the members agree anew.

Next hop: classic/rebalance.py.
"""

from typing import Final, NamedTuple

from kohort.machines.groups.assignors.assignor import Partitions
from kohort.machines.groups.classic import member as classic
from kohort.machines.groups.classic import presence as classic_presence
from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.classic.timers import watch
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import Member, WaitingJoin
from kohort.machines.groups.consumer.ownership import Owners
from kohort.machines.groups.consumer.recording import record_trigger
from kohort.machines.groups.consumer.timers import TargetTimer, stop_watching
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.migration.embedded import embedded_assignment, protocols_of
from kohort.machines.groups.migration.waiting import take_wait
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import Origin, Protocol
from kohort.model.consumer_protocol import CONSUMER_PROTOCOL_TYPE

DOWNGRADED: Final = "downgraded"
_POLICIES_THAT_DOWNGRADE: Final = ("bidirectional", "downgrade")


def is_to_downgrade(state: GroupsState, group: ConsumerGroup, replaced: Member | None = None) -> bool:
    """Whether all members speak the classic protocol, or would if one were replaced by one that does, and the group may
    follow them."""
    size = len(group.members)
    speaking_classic = len(group.classic_members)
    if replaced is not None and not replaced.uses_classic_protocol:
        speaking_classic += 1
    settings = state.settings
    return (
        0 < size == speaking_classic
        and settings.group_consumer_migration_policy in _POLICIES_THAT_DOWNGRADE
        and size <= settings.group_max_size
    )


def downgrade(state: GroupsState, before: ConsumerGroup, draft: Draft, leader_id: str | None = None) -> ClassicGroup:
    """All members speak the classic protocol. The group is stable afterwards, and a rebalance of it is recorded. Nobody
    leads it: whoever calls either makes the members agree anew, or tells the leader that it is one."""
    record_trigger(before, DOWNGRADED, draft)
    owners = _owners(state, before)
    remaining = [_remaining(before, member, draft) for member in before.members.values()]
    _dismiss(before, draft)
    draft.write(*before.removal())
    group = state.made_classic_group(before.group_id)
    group.generation_id = before.epoch
    for each in remaining:
        group.add(each.member, CONSUMER_PROTOCOL_TYPE)
        if each.epoch != before.epoch:
            group.older_epochs[each.member.member_id] = each.epoch
    group.leader_id = leader_id
    group.protocol_name = group.selected_protocol()
    assignments = {
        each.member.member_id: embedded_assignment(state, each.member.metadata_for(group.protocol_name), each.target)
        for each in remaining
    }
    draft.write(group.record(assignments, draft.now_ms))
    for member, _, _, origin, waiting in remaining:
        classic_presence.hear_of(state, group, member, origin, draft.now_ms)
        watch(group.group_id, member, member.session_timeout_ms, draft)
        if waiting is not None:
            group.wait_for_others(member, waiting.token)
    group.recorder.trigger(DOWNGRADED, group.generation_id, owners, draft.now_ms)
    group.recorder.take_over(before.recorder, draft.now_ms)
    return group


class _Remaining(NamedTuple):
    """A member of the classic group, and what else the group before knew of it."""

    member: classic.Member
    epoch: int
    target: Partitions
    origin: Origin
    waiting: WaitingJoin | None
    """It has joined already, and waits on."""


def _remaining(group: ConsumerGroup, member: Member, draft: Draft) -> _Remaining:
    metadata = member.metadata
    assert metadata.classic_member_metadata is not None, f"{member.member_id} does not speak the classic protocol"
    as_classic = classic.Member(
        member.member_id,
        metadata.instance_id,
        metadata.client_id,
        metadata.client_host,
        metadata.rebalance_timeout_ms,
        metadata.classic_member_metadata.session_timeout_ms,
        tuple(Protocol(protocol.name, protocol.metadata) for protocol in protocols_of(member)),
    )
    waiting = take_wait(group, member, draft)
    epoch = member.position.epoch if waiting is None else waiting.epoch
    return _Remaining(as_classic, epoch, member.target, member.presence.origin, waiting)


def _owners(state: GroupsState, group: ConsumerGroup) -> Owners:
    """Who had each partition before the rebalance that is under way."""
    owners: Owners = {}
    for member in group.members.values():
        for partitions in (member.position.assigned, member.position.pending):
            for topic_id, indexes in partitions.items():
                name = state.topics.name_of(topic_id)
                owners.update(((name, index), member.member_id) for index in indexes)
    before, after = group.ownership.changes(state.topics.name_of)
    return {at: owner for at, owner in owners.items() if at not in after} | before


def _dismiss(group: ConsumerGroup, draft: Draft) -> None:
    for member in group.members.values():
        stop_watching(group, member, draft)
    if group.assign_at_ms is not None:
        group.assign_at_ms = None
        draft.cancel_timer(TargetTimer(group.group_id))
