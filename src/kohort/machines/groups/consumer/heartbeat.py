"""ConsumerGroupHeartbeat, where a member of the consumer protocol says all it ever says: that it comes, is there, wants
other topics, owns or gave up partitions, and leaves.

Almost all heartbeats say only that the member is there, and there is nothing to answer but that: they are seen through
first. For any other: is it sound (validation.py), whose is it (fencing.py), what does it say of itself that is new
(subscribing.py), which step can it take towards its target (moves.py), and what is it answered (answers.py), now or
when there is something to say (telling.py).

Next hop: the files above; leaving.py for those who go.
"""

from typing import Final

from kohort.machines.catalog.fresh_ids import as_text, fresh_ids
from kohort.machines.contract import Token
from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.consumer.answers import answer_member
from kohort.machines.groups.consumer.fencing import identify, owned_of
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.leaving import leave, replace_static_member
from kohort.machines.groups.consumer.member import LEAVE_EPOCH, LEFT_FOR_A_WHILE_EPOCH, Member
from kohort.machines.groups.consumer.moves import follow_target
from kohort.machines.groups.consumer.presence import hear_of
from kohort.machines.groups.consumer.reconciliation import Owned
from kohort.machines.groups.consumer.subscribing import new_expression, said_of_itself, subscribe
from kohort.machines.groups.consumer.telling import (
    hold,
    hold_join_if_possible,
    may_be_held,
    tell_expectant,
)
from kohort.machines.groups.consumer.validation import check_heartbeat
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.hold_endings import hurry
from kohort.machines.groups.migration.upgrade import upgrade, upgraded
from kohort.machines.groups.migration.waiting import end_wait
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import NO_TIMEOUT_MS, ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import MemberState
from kohort.model.settings import BrokerSettings

PROTOCOL: Final = "consumer"
_SAYS_NOTHING: Final = (None, NO_TIMEOUT_MS, None, None, None, None)
"""The fields from rack_id to topic_partitions of a heartbeat that only says that its member is there."""


def handle_consumer_group_heartbeat(
    state: GroupsState, command: ConsumerGroupHeartbeat, token: Token, draft: Draft
) -> None:
    check_protocol_is_enabled(state.settings)
    group = state.groups.get(command.group_id)
    if type(group) is ConsumerGroup:
        member = group.members.get(command.member_id)
        if member is not None and _says_nothing_new(group, member, command):
            _keep_alive(state, group, member, draft.now_ms)
            _answer_or_hold_again(state, group, member, token, draft)
            return
    check_heartbeat(command, state.settings)
    if command.member_epoch in (LEAVE_EPOCH, LEFT_FOR_A_WHILE_EPOCH):
        leave(state, command, token, draft)
    else:
        _attend(state, command, token, draft)


def check_protocol_is_enabled(settings: BrokerSettings) -> None:
    if PROTOCOL not in settings.group_coordinator_rebalance_protocols:
        raise ProtocolError(ErrorCode.UNSUPPORTED_VERSION, "The version of API is not supported.")


# Members that are just there


def answer_consumer_group_heartbeat(
    state: GroupsState, command: ConsumerGroupHeartbeat, now_ms: int
) -> ConsumerGroupHeartbeatAnswer | None:
    """To a member that says nothing new and whose answer may not wait: what it was answered before, at once, until
    there is another epoch."""
    group = state.groups.get(command.group_id)
    if type(group) is not ConsumerGroup:
        return None
    member = group.members.get(command.member_id)
    if member is None or member.presence.hold_ms or not _says_nothing_new(group, member, command):
        return None
    answer = member.presence.last_answer
    if answer is None or answer.member_epoch != member.position.epoch:
        return None
    check_protocol_is_enabled(state.settings)
    _keep_alive(state, group, member, now_ms)
    return answer


def _says_nothing_new(group: ConsumerGroup, member: Member, command: ConsumerGroupHeartbeat) -> bool:
    """Whether a member that has all it is to have says only that it is there, as nearly always."""
    position = member.position
    return (
        command.member_epoch == position.epoch == group.target_epoch
        and position.state is MemberState.STABLE
        and command[4:10] == _SAYS_NOTHING
        and command.origin is member.presence.origin
        and (command.instance_id is None or command.instance_id == member.metadata.instance_id)
        and member.metadata.classic_member_metadata is None
    )


def _keep_alive(state: GroupsState, group: ConsumerGroup, member: Member, now_ms: int) -> None:
    presence = member.presence
    presence.heard_at_ms = now_ms
    presence.expires_at_ms = now_ms + state.settings_of(group.group_id).session_timeout_ms


def _answer_or_hold_again(state: GroupsState, group: ConsumerGroup, member: Member, token: Token, draft: Draft) -> None:
    if member.presence.hold_ms:
        _answer_abandoned(state, group, member, draft)
        hold(state, group, member, token, draft, is_full=False)
    else:
        answer_member(state, group, member, token, draft, tells_assignment=False)


def _answer_abandoned(state: GroupsState, group: ConsumerGroup, member: Member, draft: Draft) -> None:
    """A member that sends while a heartbeat of its is held has given that one up: its connection broke."""
    held = state.held.of_member(group.group_id, member.member_id)
    if held is not None:
        hurry(state, held, draft)


# All others


def _attend(state: GroupsState, command: ConsumerGroupHeartbeat, token: Token, draft: Draft) -> None:
    group = _group_to_attend(state, command)
    member_id = command.member_id or as_text(next(fresh_ids(draft.moment)))
    _check_size(state, group, member_id)
    owned = owned_of(command.topic_partitions)
    member, predecessor = identify(group, member_id, command, owned)
    known = member or predecessor
    metadata = said_of_itself(group.group_id, member_id, None if known is None else known.metadata, command)
    resolved = new_expression(state, group, metadata, draft.now_ms)
    # From here on nothing is refused any more.
    if member is not None:
        _answer_abandoned(state, group, member, draft)
        end_wait(group, member, ErrorCode.REBALANCE_IN_PROGRESS, draft)
    group = _begin_group(state, group, draft)
    if predecessor is not None:
        replace_static_member(state, group, group.members[predecessor.member_id], member_id, draft)
    may_wait = command.member_epoch == 0 and state.push.join_hold_ms(command.origin) > 0
    has_new_subscription = subscribe(state, group, metadata, resolved, draft, may_wait=may_wait)
    member = group.members[member_id]
    hear_of(state, group, member, command.origin, draft)
    has_news = follow_target(group, member, owned, draft, has_new_subscription=has_new_subscription)
    _answer_or_hold(state, group, member, command, owned, token, draft, has_news=has_news)
    tell_expectant(state, group, draft)


def _answer_or_hold(
    state: GroupsState,
    group: ConsumerGroup,
    member: Member,
    command: ConsumerGroupHeartbeat,
    owned: Owned | None,
    token: Token,
    draft: Draft,
    *,
    has_news: bool,
) -> None:
    """Only a heartbeat that changed nothing, of a member that knows where it stands, is held."""
    is_full, joins = _is_full(command), command.member_epoch == 0
    if joins and hold_join_if_possible(state, group, member, token, draft):
        return
    knows_all = command.member_epoch == member.position.epoch and _owns_all(member, owned)
    if knows_all and not joins and not draft.records and may_be_held(member):
        hold(state, group, member, token, draft, is_full=is_full)
    else:
        # What a member was told before may never have reached it. librdkafka then only says again what it owns.
        has_missed = member.position.state is MemberState.UNREVOKED_PARTITIONS or not _owns_all(member, owned)
        tells_assignment = has_news or is_full or joins or has_missed
        answer_member(state, group, member, token, draft, tells_assignment=tells_assignment)


def _is_full(command: ConsumerGroupHeartbeat) -> bool:
    """A member that says all there is about it, as after an error, is told all."""
    says_subscription = command.subscribed_topic_names is not None or command.subscribed_topic_regex is not None
    says_timeout = command.rebalance_timeout_ms != NO_TIMEOUT_MS
    return says_timeout and says_subscription and command.topic_partitions is not None


def _owns_all(member: Member, owned: Owned | None) -> bool:
    """Whether the member has taken up what it was given, as far as it says."""
    if owned is None:
        return True
    assigned = member.position.assigned
    return owned.keys() == assigned.keys() and all(
        owned[topic_id] == epochs.keys() for topic_id, epochs in assigned.items()
    )


def _group_to_attend(state: GroupsState, command: ConsumerGroupHeartbeat) -> ConsumerGroup:
    """The group; for a member that comes first, one that nobody knows yet."""
    group = state.groups.get(command.group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if command.member_epoch != 0:
        raise _nothing_to_attend(command, group)
    return ConsumerGroup(command.group_id, state.topics) if group is None else upgraded(state, group)


def _nothing_to_attend(command: ConsumerGroupHeartbeat, group: ClassicGroup | None) -> ProtocolError:
    """A consumer that was thrown out of a group that has left its protocol since may come again, which brings the group
    back. Kafka tells it that there is no such group, for which most clients end for good."""
    if group is None:
        return ProtocolError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {command.group_id} not found.")
    if group.members and group.is_consumers:
        return ProtocolError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {command.member_id} is not a member of group {command.group_id}, which is a classic one by now.",
        )
    return ProtocolError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {command.group_id} is not a consumer group.")


def _begin_group(state: GroupsState, group: ConsumerGroup, draft: Draft) -> ConsumerGroup:
    """A group that nobody knows yet takes the place of a classic one, if there is such."""
    group_id = group.group_id
    current = state.groups.get(group_id)
    if current is group:
        return group
    state.introduce(group_id, draft)
    if isinstance(current, ClassicGroup):
        return upgrade(state, current, group, draft)
    return state.made_consumer_group(group_id)


def _check_size(state: GroupsState, group: ConsumerGroup, member_id: str) -> None:
    max_size = state.settings.group_consumer_max_size
    if len(group.members) >= max_size and member_id not in group.members:
        raise ProtocolError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {max_size} members.",
        )
