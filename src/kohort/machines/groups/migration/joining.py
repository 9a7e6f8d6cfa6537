"""JoinGroup of a classic member, where the group follows the consumer protocol.

To the member it looks like a generation that somebody else leads: it is told its epoch as the generation, and of no
leader. To the group it is what a heartbeat is that says all there is: what the member subscribes to and what it owns
stand in its protocols, and with that it takes the next step towards its target. A member that gives up everything
before it comes needs one step; a cooperative one may have to come again. What others have yet to give up for it is
waited for.

A static member may come back in the other protocol than it left. If that was the last one of the consumer protocol, the
group becomes a classic one by it.

Next hop: waiting.py, then classic_members.py, where it asks for its assignment; downgrade.py.
"""

from kohort.machines.contract import Token
from kohort.machines.groups.classic.join import check_request, current_generation
from kohort.machines.groups.classic.member import mint_member_id
from kohort.machines.groups.classic.rebalance import finish_recording, rebalance
from kohort.machines.groups.consumer.fencing import check_epoch, checked_member
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.leaving import replace_static_member
from kohort.machines.groups.consumer.member import Member, WaitingJoin
from kohort.machines.groups.consumer.moves import follow_target
from kohort.machines.groups.consumer.presence import hear_of
from kohort.machines.groups.consumer.reconciliation import Owned
from kohort.machines.groups.consumer.recording import record_trigger
from kohort.machines.groups.consumer.subscribing import subscribe
from kohort.machines.groups.consumer.telling import tell_expectant
from kohort.machines.groups.consumer.timers import stop_watching_rejoin, stop_watching_sync
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.hold_endings import hurry
from kohort.machines.groups.migration.downgrade import DOWNGRADED, downgrade, is_to_downgrade
from kohort.machines.groups.migration.embedded import metadata_of_classic_member, partitions_by_id, protocols_of
from kohort.machines.groups.migration.rejoining import JOIN
from kohort.machines.groups.migration.waiting import answer_or_wait, end_wait
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import JoinGroup, JoinGroupAnswer, Protocol
from kohort.model.consumer_protocol import CONSUMER_PROTOCOL_TYPE, Subscription
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import ConsumerGroupMemberMetadataRecord


def join(state: GroupsState, group: ConsumerGroup, command: JoinGroup, token: Token, draft: Draft) -> None:
    check_request(state.settings, command)
    _check_admission(state, group, command)
    if not command.member_id and command.group_instance_id is None and command.requires_known_member_id:
        member_id = mint_member_id(command, draft.moment)
        draft.answer(token, JoinGroupAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
        return
    known, predecessor = _identify(group, command)
    subscription = _subscription(state, command)
    owned = _owned(state, subscription)
    if known is not None:
        check_epoch(known, 0, owned)
    elif predecessor is None and owned:
        raise _removed_since(group, command.member_id)
    # From here on nothing is refused any more.
    member_id = command.member_id or mint_member_id(command, draft.moment)
    metadata = _metadata(command, member_id, subscription)
    if predecessor is not None:
        if is_to_downgrade(state, group, replaced=predecessor):
            _take_place_in_classic_group(state, group, predecessor, metadata, command, token, draft)
            return
        replace_static_member(state, group, predecessor, member_id, draft)
    _take_step(state, group, metadata, command, owned, token, draft)


# Who comes, and whether it may


def _check_admission(state: GroupsState, group: ConsumerGroup, command: JoinGroup) -> None:
    settings = state.settings
    if settings.group_consumer_migration_policy == "disabled":
        raise ProtocolError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Cannot join the consumer group {group.group_id} with the classic protocol because the group migration is "
            "disabled.",
        )
    max_size = settings.group_consumer_max_size
    if len(group.members) >= max_size and command.member_id not in group.members:
        raise ProtocolError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {max_size} members.",
        )
    if command.protocol_type != CONSUMER_PROTOCOL_TYPE or not _is_any_supported(group, command.protocols):
        raise ProtocolError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Member {command.member_id}'s protocols are not supported."
        )


def _is_any_supported(group: ConsumerGroup, protocols: tuple[Protocol, ...]) -> bool:
    """Whether all classic members can follow one of these: should the group become a classic one, it needs that."""
    common = {protocol.name for protocol in protocols}
    for member_id in group.classic_members:
        common.intersection_update(protocol.name for protocol in protocols_of(group.members[member_id]))
    return bool(common)


def _identify(group: ConsumerGroup, command: JoinGroup) -> tuple[Member | None, Member | None]:
    """The member, if it is known, and the one whose place it takes, if it is a static one that came back. A dynamic
    member may come with an id that is not known here: whoever gave it out knew it."""
    instance_id = command.group_instance_id
    if instance_id is None:
        return group.members.get(command.member_id), None
    if command.member_id:
        return checked_member(group, command.member_id, instance_id), None
    return None, group.static_member(instance_id)


def _removed_since(group: ConsumerGroup, member_id: str) -> ProtocolError:
    """Nobody owns anything before the first join: this member was removed, and what it owns may be another's by now.
    Hearing that it is unknown it drops everything at once; welcomed as if it were new, as in Kafka, it would own it
    until it has been through a revocation."""
    return ProtocolError(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} owns partitions, and is not a member of {group.group_id}."
    )


def _subscription(state: GroupsState, command: JoinGroup) -> Subscription:
    """A consumer says the same to each protocol that it can follow."""
    subscription = state.consumer_protocol.decode_subscription(command.protocols[0].metadata)
    if subscription is None:
        raise ProtocolError(ErrorCode.UNKNOWN_SERVER_ERROR, "The embedded consumer protocol is malformed.")
    return subscription


def _owned(state: GroupsState, subscription: Subscription) -> Owned:
    """A member too old to say so owns nothing when it joins."""
    owned = partitions_by_id(subscription.owned_partitions or {}, state.topics)
    return {topic_id: frozenset(indexes) for topic_id, indexes in owned.items()}


def _metadata(command: JoinGroup, member_id: str, subscription: Subscription) -> ConsumerGroupMemberMetadataRecord:
    timeouts_ms = command.session_timeout_ms, command.rebalance_timeout_ms
    return metadata_of_classic_member(
        command.group_id,
        member_id,
        command.group_instance_id,
        subscription,
        timeouts_ms,
        command.protocols,
        command.origin,
    )


# What it is told


def _take_step(
    state: GroupsState,
    group: ConsumerGroup,
    metadata: ConsumerGroupMemberMetadataRecord,
    command: JoinGroup,
    owned: Owned,
    token: Token,
    draft: Draft,
) -> None:
    _answer_abandoned(state, group, metadata.member_id, draft)
    has_new_subscription = subscribe(state, group, metadata, None, draft)
    member = group.members[metadata.member_id]
    hear_of(state, group, member, command.origin, draft)
    stop_watching_rejoin(group, member, draft)
    stop_watching_sync(group, member, draft)  # It need not ask any more for what it joined for the last time.
    group.recorder.end_waiting(member.member_id, JOIN, draft.now_ms)
    waiting = WaitingJoin(token, owned, member.position.epoch)
    follow_target(group, member, owned, draft, has_new_subscription=has_new_subscription)
    answer_or_wait(state, group, member, waiting, draft)
    tell_expectant(state, group, draft)


def _answer_abandoned(state: GroupsState, group: ConsumerGroup, member_id: str, draft: Draft) -> None:
    """Older requests that wait can only have come over a connection that nobody reads any more."""
    held = state.held.of_member(group.group_id, member_id)
    if held is not None:
        hurry(state, held, draft)
    member = group.members.get(member_id)
    if member is not None:
        end_wait(group, member, ErrorCode.REBALANCE_IN_PROGRESS, draft)


def _take_place_in_classic_group(
    state: GroupsState,
    group: ConsumerGroup,
    predecessor: Member,
    metadata: ConsumerGroupMemberMetadataRecord,
    command: JoinGroup,
    token: Token,
    draft: Draft,
) -> None:
    """It leads from now on, since a classic group needs somebody who keeps an eye on the topics. The members agree anew
    only if it cannot be told so, or if the target that they are left with is out of date, or not yet what they have."""
    has_new_subscription = metadata.subscribed_topic_names != predecessor.metadata.subscribed_topic_names or bool(
        predecessor.metadata.subscribed_topic_regex
    )
    must_agree = has_new_subscription or not group.is_settled() or not command.supports_skip_assignment
    record_trigger(group, DOWNGRADED, draft)
    replace_static_member(state, group, predecessor, metadata.member_id, draft)
    draft.write(metadata)
    hear_of(state, group, group.members[metadata.member_id], command.origin, draft)
    leader_id = None if must_agree else metadata.member_id
    downgraded = downgrade(state, group, draft, leader_id)
    member = downgraded.members[metadata.member_id]
    if must_agree:
        downgraded.wait_for_others(member, token)
        rebalance(state, downgraded, DOWNGRADED, draft)
    else:
        finish_recording(state, downgraded, draft)
        draft.answer(token, current_generation(downgraded, member)._replace(skip_assignment=True))
