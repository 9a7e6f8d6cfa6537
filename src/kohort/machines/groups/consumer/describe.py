"""ConsumerGroupDescribe: a group of the consumer protocol as an administrator sees it.

Next hop: none; what it tells is read from the group.
"""

from collections.abc import Collection, Mapping

from kohort.machines.contract import Token
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.heartbeat import check_protocol_is_enabled
from kohort.machines.groups.consumer.member import Member
from kohort.machines.groups.consumer.target import assignor_name
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.machines.groups.topics import Topics
from kohort.model.commands.groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    DescribedAssignment,
    DescribedConsumer,
    DescribedTopic,
)
from kohort.model.errors import ErrorCode
from kohort.model.ids import TopicId

CLASSIC_MEMBER = 0
CONSUMER_MEMBER = 1


def handle_consumer_group_describe(
    state: GroupsState, command: ConsumerGroupDescribe, token: Token, draft: Draft
) -> None:
    check_protocol_is_enabled(state.settings)
    group = state.groups.get(command.group_id)
    if isinstance(group, ConsumerGroup):
        draft.answer(token, _described(state, group))
    elif not command.group_id:
        draft.answer(token, ConsumerGroupDescribed(ErrorCode.INVALID_GROUP_ID, command.group_id))
    else:
        why = f"Group {command.group_id} {'not found' if group is None else 'is not a consumer group'}."
        draft.answer(token, ConsumerGroupDescribed(ErrorCode.GROUP_ID_NOT_FOUND, command.group_id, error_message=why))


def _described(state: GroupsState, group: ConsumerGroup) -> ConsumerGroupDescribed:
    return ConsumerGroupDescribed(
        ErrorCode.NONE,
        group.group_id,
        group.state,
        group.epoch,
        group.target_epoch,
        assignor_name(state, group),
        tuple(_described_member(member, state.topics) for member in group.members.values()),
    )


def _described_member(member: Member, topics: Topics) -> DescribedConsumer:
    """What it has to give up counts as assigned, until it says that it did."""
    metadata, position = member.metadata, member.position
    assigned = {
        topic_id: sorted((*position.assigned.get(topic_id, ()), *position.pending.get(topic_id, ())))
        for topic_id in (*position.assigned, *(each for each in position.pending if each not in position.assigned))
    }
    return DescribedConsumer(
        member.member_id,
        metadata.instance_id,
        metadata.rack_id,
        position.epoch,
        metadata.client_id,
        metadata.client_host,
        metadata.subscribed_topic_names,
        metadata.subscribed_topic_regex or "",
        _described_assignment(assigned, topics),
        _described_assignment(member.target, topics),
        CLASSIC_MEMBER if member.uses_classic_protocol else CONSUMER_MEMBER,
    )


def _described_assignment(partitions: Mapping[TopicId, Collection[int]], topics: Topics) -> DescribedAssignment:
    """Without topics that are gone: nobody could say their names."""
    known = ((topics.by_id(topic_id), indexes) for topic_id, indexes in partitions.items())
    return DescribedAssignment(
        tuple(DescribedTopic(topic.topic_id, topic.name, tuple(indexes)) for topic, indexes in known if topic)
    )
