"""Whose heartbeat this is, and whether it may still speak for that member.

A member that is behind by exactly one step, and owns nothing that it should not, has lost our last answer: it goes on.
Any other epoch than the current one is fenced, but for 0: whoever starts over may always do that.

It never changes anything. Next hop: back to heartbeat.py and leaving.py.
"""

from typing import NamedTuple

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import LEFT_FOR_A_WHILE_EPOCH, Member
from kohort.machines.groups.consumer.reconciliation import AssignedPartitions, Owned
from kohort.model.commands.groups import AssignedTopic, ConsumerGroupHeartbeat
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import TopicId
from kohort.model.records.groups import MemberState


class Speaker(NamedTuple):
    """Who sends a heartbeat: a member, somebody new (None), or a static member under another id than before."""

    member: Member | None
    predecessor: Member | None = None


def owned_of(topics: tuple[AssignedTopic, ...] | None) -> Owned | None:
    if topics is None:
        return None
    owned: dict[TopicId, set[int]] = {}
    for topic in topics:
        owned.setdefault(topic.topic_id, set()).update(topic.partitions)
    return owned


def identify(group: ConsumerGroup, member_id: str, command: ConsumerGroupHeartbeat, owned: Owned | None) -> Speaker:
    """ProtocolError if it is nobody of this group, or has been fenced off."""
    epoch = command.member_epoch
    known = group.members.get(member_id)
    if command.instance_id is None:
        if known is None and epoch != 0:
            raise _unknown_member(group, member_id)
    else:
        current = group.static_member(command.instance_id)
        if epoch != 0:
            known = _checked(current, member_id, command.instance_id)
        elif current is not None and current.member_id != member_id:
            if not current.uses_classic_protocol and current.position.epoch != LEFT_FOR_A_WHILE_EPOCH:
                raise ProtocolError(
                    ErrorCode.UNRELEASED_INSTANCE_ID,
                    f"Static member {member_id} with instance id {command.instance_id} cannot join the group because "
                    f"the instance id is owned by {current.member_id} member.",
                )
            return Speaker(None, predecessor=current)
    if known is not None:
        check_epoch(known, epoch, owned)
    return Speaker(known)


def checked_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    """Whose epoch does not matter, as of those who leave."""
    if instance_id is not None:
        return _checked(group.static_member(instance_id), member_id, instance_id)
    return group.known_member(member_id)


def check_epoch(member: Member, epoch: int, owned: Owned | None) -> None:
    position = member.position
    if position.state is MemberState.UNKNOWN and (owned is None or owned):
        raise ProtocolError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
        )
    if epoch == 0 or epoch == position.epoch:
        return
    has_lost_our_answer = epoch == position.previous_epoch and _is_within(owned, position.assigned)
    if epoch > position.epoch or not has_lost_our_answer:
        raise ProtocolError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {'greater' if epoch > position.epoch else 'smaller'} member epoch "
            f"({epoch}) than the one known by the group coordinator ({position.epoch}). "
            "The member must abandon all its partitions and rejoin.",
        )


def _checked(current: Member | None, member_id: str, instance_id: str) -> Member:
    if current is None:
        raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if current.member_id != member_id:
        raise ProtocolError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {current.member_id}.",
        )
    return current


def _unknown_member(group: ConsumerGroup, member_id: str) -> ProtocolError:
    return ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")


def _is_within(owned: Owned | None, assigned: AssignedPartitions) -> bool:
    if owned is None:
        return False
    return all(partitions <= assigned.get(topic_id, {}).keys() for topic_id, partitions in owned.items())
