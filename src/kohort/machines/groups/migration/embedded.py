"""What classic consumers say inside their protocols, as a group of the consumer protocol needs it, and back again.

A classic member names topics by name, and packs what it subscribes to and what it was assigned into bytes that only
other consumers were meant to read. Here those become topic ids and partitions; topics that are gone are left out.

Next hop: back to upgrade.py, downgrade.py and joining.py.
"""

from collections.abc import Iterable, Mapping

from kohort.machines.groups.assignors.assignor import Partitions
from kohort.machines.groups.consumer.member import Member
from kohort.machines.groups.state import GroupsState
from kohort.machines.groups.topics import Topics
from kohort.model.commands.groups import Origin, Protocol
from kohort.model.consumer_protocol import ConsumerAssignment, OwnedPartitions, Subscription
from kohort.model.ids import TopicId
from kohort.model.records.groups import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataRecord,
)


def metadata_of_classic_member(
    group_id: str,
    member_id: str,
    instance_id: str | None,
    subscription: Subscription,
    timeouts_ms: tuple[int, int],
    protocols: Iterable[Protocol],
    client: Origin,
) -> ConsumerGroupMemberMetadataRecord:
    """What is written of a classic member in a group of the consumer protocol; timeouts are session and rebalance."""
    session_timeout_ms, rebalance_timeout_ms = timeouts_ms
    supported = tuple(ClassicProtocol(protocol.name, protocol.metadata) for protocol in protocols)
    return ConsumerGroupMemberMetadataRecord(
        group_id,
        member_id,
        instance_id,
        subscription.rack_id or None,
        client.client_id,
        client.client_host,
        tuple(sorted(set(subscription.topics))),
        "",
        rebalance_timeout_ms,
        None,
        ClassicMemberMetadata(session_timeout_ms, supported),
    )


def partitions_by_id(owned: OwnedPartitions, topics: Topics) -> Partitions:
    """Those that exist."""
    found: dict[TopicId, tuple[int, ...]] = {}
    for name, indexes in owned.items():
        topic = topics.by_name.get(name)
        if topic is not None:
            existing = tuple(sorted({index for index in indexes if 0 <= index < topic.partitions}))
            if existing:
                found[topic.topic_id] = existing
    return found


def protocols_of(member: Member) -> tuple[ClassicProtocol, ...]:
    """Of a member that speaks the classic protocol: it has one at least."""
    classic = member.metadata.classic_member_metadata
    assert classic is not None, f"{member.member_id} does not speak the classic protocol"
    return classic.supported_protocols


def embedded_assignment(
    state: GroupsState, subscription_data: bytes, partitions: Mapping[TopicId, Iterable[int]]
) -> bytes:
    """Partitions in the version that the member subscribed with."""
    subscription = state.consumer_protocol.decode_subscription(subscription_data)
    version = 0 if subscription is None else subscription.version
    by_name: dict[str, tuple[int, ...]] = {}
    for topic_id, indexes in partitions.items():
        topic = state.topics.by_id(topic_id)
        if topic is not None:
            by_name[topic.name] = tuple(indexes)
    return state.consumer_protocol.encode_assignment(version, ConsumerAssignment(by_name))
