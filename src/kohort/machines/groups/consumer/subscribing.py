"""What members say of themselves, written down; and the group's next epoch, if that changes what somebody may have.

The same steps are taken for a member of the consumer protocol and, in migration/, for one of the classic protocol.

Next hop: regular_expressions.py for what an expression stands for, target.py for the epoch.
"""

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.regular_expressions import resolve_expression
from kohort.machines.groups.consumer.target import bump_epoch
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import NO_TIMEOUT_MS, ConsumerGroupHeartbeat
from kohort.model.records.groups import (
    ConsumerGroupMemberMetadataRecord,
    RegularExpressionRecord,
    RemoveRegularExpressionRecord,
)

MEMBER_JOINED = "a member joined"
SUBSCRIPTION_CHANGED = "a member subscribed to other topics"


def said_of_itself(
    group_id: str, member_id: str, before: ConsumerGroupMemberMetadataRecord | None, command: ConsumerGroupHeartbeat
) -> ConsumerGroupMemberMetadataRecord:
    """What is known of the member with this heartbeat: what it left out is as it was."""
    names, regex = command.subscribed_topic_names, command.subscribed_topic_regex
    instance_id, rack_id = command.instance_id, command.rack_id
    timeout_ms, assignor = command.rebalance_timeout_ms, command.server_assignor
    if names is not None:
        names = tuple(sorted(set(names)))
    if before is not None:
        names = before.subscribed_topic_names if names is None else names
        regex = before.subscribed_topic_regex if regex is None else regex
        instance_id = before.instance_id if instance_id is None else instance_id
        rack_id = before.rack_id if rack_id is None else rack_id
        timeout_ms = before.rebalance_timeout_ms if timeout_ms == NO_TIMEOUT_MS else timeout_ms
        assignor = before.server_assignor if assignor is None else assignor
    client_id, client_host = command.origin.client_id, command.origin.client_host
    return ConsumerGroupMemberMetadataRecord(
        group_id,
        member_id,
        instance_id,
        rack_id,
        client_id,
        client_host,
        names or (),
        regex or "",
        timeout_ms,
        assignor,
    )


def new_expression(
    state: GroupsState, group: ConsumerGroup, metadata: ConsumerGroupMemberMetadataRecord, now_ms: int
) -> RegularExpressionRecord | None:
    """What the member's regular expression stands for, if nobody in the group has used it before. ProtocolError if it
    is none."""
    expression = metadata.subscribed_topic_regex
    if not expression or expression in group.subscriptions.expressions:
        return None
    return resolve_expression(group.group_id, expression, state.topics, now_ms)


def subscribe(
    state: GroupsState,
    group: ConsumerGroup,
    metadata: ConsumerGroupMemberMetadataRecord,
    resolved: RegularExpressionRecord | None,
    draft: Draft,
    *,
    may_wait: bool = False,
) -> bool:
    """Writes down what is new of a member, who may be new as a whole. Whether what it subscribes to is new."""
    known = group.members.get(metadata.member_id)
    before = None if known is None else known.metadata
    if metadata != before:
        draft.write(metadata)
    names = () if before is None else before.subscribed_topic_names
    expression = "" if before is None else before.subscribed_topic_regex or ""
    has_new_expression = (metadata.subscribed_topic_regex or "") != expression
    if has_new_expression:
        drop_unused_expressions(group, draft)
    if resolved is not None:
        draft.write(resolved)
    if metadata.subscribed_topic_names == names and not has_new_expression:
        return False
    if known is None:
        group.recorder.joined(metadata.member_id)
    why = MEMBER_JOINED if known is None else SUBSCRIPTION_CHANGED
    bump_epoch(state, group, why, draft, may_wait=may_wait)
    return True


def drop_unused_expressions(group: ConsumerGroup, draft: Draft) -> None:
    """Those that no member has any more."""
    subscriptions = group.subscriptions
    for expression in tuple(subscriptions.expressions):
        if not subscriptions.subscribers_of_expression(expression):
            draft.write(RemoveRegularExpressionRecord(group.group_id, expression))
