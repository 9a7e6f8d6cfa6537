"""How a member gets from what it has to what it is to have, without two members ever having the same partition.

Theory. Let A be what the member is assigned, T its target as far as it still subscribes to it. It keeps A ∩ T. What is
in A but not in T it must give up first: until it says that it no longer owns them it stays at its old epoch
(UNREVOKED_PARTITIONS), so that it may still commit what it read from them. Then it moves to the epoch of the target and
is given what is in T but not in A, except for what another member has not let go of yet (UNRELEASED_PARTITIONS, until
it has got everything; then STABLE). A partition stands in `assigned` or `pending` of at most one member at any time.

Each assigned partition carries the epoch at which it was assigned, so that a commit with an older epoch than the
member's is still good for partitions that it had then (KIP-1251).

It never writes anything: who asks makes a record of the answer. Next hop: back to heartbeat.py or held.py.
"""

from collections.abc import Callable, Mapping, Set
from typing import NamedTuple

from kohort.machines.groups.assignors.assignor import Partitions
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import TopicId
from kohort.model.records.groups import MemberState

AssignedPartitions = Mapping[TopicId, Mapping[int, int]]
"""By topic and partition, the epoch at which it was assigned. Partitions are in ascending order; no topic is empty."""

Owned = Mapping[TopicId, Set[int]]
"""What a member says that it owns."""


class Position(NamedTuple):
    """Where a member stands."""

    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: AssignedPartitions = {}
    pending: AssignedPartitions = {}
    """What it was told to give up, and has not yet said that it did."""


NOT_YET_JOINED = Position()


class Goal(NamedTuple):
    """Where a member is to get."""

    target: Partitions
    epoch: int
    subscribed: Set[TopicId]
    is_taken: Callable[[TopicId, int], bool]
    """Whether a partition is assigned to anybody or pending revocation."""


def reconcile(position: Position, goal: Goal, owned: Owned | None, has_new_subscription: bool = False) -> Position:
    """The member's next position; the same object if there is nothing to do. owned None: it did not say."""
    match position.state:
        case MemberState.STABLE:
            if position.epoch != goal.epoch:
                after = _next(position, goal, owned)
            elif has_new_subscription:
                after = _without_unsubscribed(position, goal, owned)
            else:
                return position
        case MemberState.UNREVOKED_PARTITIONS:
            if not _may_own(position.pending, owned):
                after = _next(position, goal, owned)
            elif has_new_subscription:
                after = _without_unsubscribed(position, goal, owned)
            else:
                return position
        case MemberState.UNRELEASED_PARTITIONS:
            after = _next(position, goal, owned)
        case MemberState.UNKNOWN:
            if owned is None or owned:
                raise ProtocolError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The member is in a state that this coordinator does not know; it must give up its partitions.",
                )
            after = _next(position, goal, owned)
    return position if after._replace(previous_epoch=position.previous_epoch) == position else after


def _next(position: Position, goal: Goal, owned: Owned | None) -> Position:
    kept: dict[TopicId, dict[int, int]] = {}
    revoked: dict[TopicId, dict[int, int]] = {}
    gained: dict[TopicId, list[int]] = {}
    is_unreleased = False
    for topic_id in dict.fromkeys((*goal.target, *position.assigned)):
        wanted = goal.target.get(topic_id, ()) if topic_id in goal.subscribed else ()
        epochs = position.assigned.get(topic_id, {})
        keep = {partition: epochs[partition] for partition in wanted if partition in epochs}
        if keep:
            kept[topic_id] = keep
        if len(keep) < len(epochs):
            revoked[topic_id] = {partition: epoch for partition, epoch in epochs.items() if partition not in keep}
        own_pending = position.pending.get(topic_id, {})
        for partition in wanted:
            if partition not in keep:
                if partition in own_pending or not goal.is_taken(topic_id, partition):
                    gained.setdefault(topic_id, []).append(partition)
                else:
                    is_unreleased = True
    if revoked and _may_own(revoked, owned):
        return Position(position.epoch, position.epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    for topic_id, partitions in gained.items():
        together = kept.get(topic_id, {}) | dict.fromkeys(partitions, goal.epoch)
        kept[topic_id] = dict(sorted(together.items()))
    state = MemberState.UNRELEASED_PARTITIONS if is_unreleased else MemberState.STABLE
    return Position(goal.epoch, position.epoch, state, kept, {})


def _without_unsubscribed(position: Position, goal: Goal, owned: Owned | None) -> Position:
    """Takes away at once what the member no longer subscribes to; the next target is still to come."""
    kept = {topic_id: epochs for topic_id, epochs in position.assigned.items() if topic_id in goal.subscribed}
    if len(kept) == len(position.assigned):
        return position
    dropped = {topic_id: epochs for topic_id, epochs in position.assigned.items() if topic_id not in kept}
    if not _may_own(dropped, owned):
        return position._replace(previous_epoch=position.epoch, assigned=kept)
    pending = dict(position.pending)
    for topic_id, epochs in dropped.items():
        pending[topic_id] = dict(sorted((dict(pending.get(topic_id, {})) | dict(epochs)).items()))
    return Position(position.epoch, position.epoch, MemberState.UNREVOKED_PARTITIONS, kept, pending)


def _may_own(partitions: AssignedPartitions, owned: Owned | None) -> bool:
    """Whether the member may still have one of these."""
    if owned is None:
        return True
    return any(not owned.get(topic_id, frozenset()).isdisjoint(epochs) for topic_id, epochs in partitions.items())
