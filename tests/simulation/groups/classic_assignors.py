"""How the leader of a classic group divides partitions: eagerly, when everybody has given up everything, or
cooperatively, when a partition goes to its next owner only after the last one has let go.

What members and leader say to each other is what real consumers say, byte for byte: `encode_subscription` is the half
that a broker never writes.
"""

from collections.abc import Mapping

from kohort.model.commands.groups import JoinedMember, SyncAssignment
from kohort.model.consumer_protocol import ConsumerAssignment, Subscription
from kohort.wire import consumer_protocol
from kohort.wire.primitives import Writer

EAGER = "range"
COOPERATIVE = "cooperative-sticky"
ASSIGNMENT_VERSION = 1

NamedPartition = tuple[str, int]


def encode_subscription(subscription: Subscription) -> bytes:
    writer = Writer()
    writer.fixed("h", subscription.version)
    writer.count(len(subscription.topics))
    for topic in subscription.topics:
        writer.string(topic)
    writer.sized_bytes(subscription.user_data)
    if subscription.version >= 1:
        owned = subscription.owned_partitions or {}
        writer.count(len(owned))
        for topic, partitions in owned.items():
            writer.string(topic)
            writer.count(len(partitions))
            writer.fixed(f"{len(partitions)}i", *partitions)
    if subscription.version >= 2:
        writer.fixed("i", subscription.generation_id)
    if subscription.version >= 3:
        writer.string(subscription.rack_id)
    return writer.data()


def assign(protocol: str, members: tuple[JoinedMember, ...], counts: Mapping[str, int]) -> tuple[SyncAssignment, ...]:
    """What the leader sends with its SyncGroup; counts are the partitions of each topic that there is."""
    subscriptions = _subscriptions(members)
    owners = _owners(subscriptions) if protocol == COOPERATIVE else {}
    shares = _divide(subscriptions, owners, counts)
    return tuple(
        SyncAssignment(member_id, _encode_assignment([at for at in share if owners.get(at) in (None, member_id)]))
        for member_id, share in shares.items()
    )


def wanted_topics(members: tuple[JoinedMember, ...]) -> tuple[str, ...]:
    return tuple(sorted({topic for each in _subscriptions(members).values() for topic in each.topics}))


def _subscriptions(members: tuple[JoinedMember, ...]) -> dict[str, Subscription]:
    subscriptions: dict[str, Subscription] = {}
    for member in members:
        subscription = consumer_protocol.decode_subscription(member.metadata)
        assert subscription is not None
        subscriptions[member.member_id] = subscription
    return subscriptions


def _encode_assignment(partitions: list[NamedPartition]) -> bytes:
    by_topic: dict[str, tuple[int, ...]] = {}
    for topic, partition in partitions:
        by_topic[topic] = (*by_topic.get(topic, ()), partition)
    return consumer_protocol.encode_assignment(ASSIGNMENT_VERSION, ConsumerAssignment(by_topic))


def _owners(subscriptions: Mapping[str, Subscription]) -> dict[NamedPartition, str]:
    """Who has each partition: of two who say so, the one that heard it in the later generation."""
    claims: dict[NamedPartition, tuple[int, str]] = {}
    for member_id in sorted(subscriptions):
        subscription = subscriptions[member_id]
        for topic, partitions in (subscription.owned_partitions or {}).items():
            for partition in partitions:
                claim = subscription.generation_id, member_id
                claims[topic, partition] = max(claims.get((topic, partition), claim), claim)
    return {partition: member_id for partition, (_, member_id) in claims.items()}


def _divide(
    subscriptions: Mapping[str, Subscription], owners: Mapping[NamedPartition, str], counts: Mapping[str, int]
) -> dict[str, list[NamedPartition]]:
    """Everyone keeps what it has up to a fair share; the rest goes to whoever has least."""
    shares: dict[str, list[NamedPartition]] = {member_id: [] for member_id in sorted(subscriptions)}
    wanted = sorted({topic for subscription in subscriptions.values() for topic in subscription.topics} & set(counts))
    partitions = [(topic, partition) for topic in wanted for partition in range(counts[topic])]
    fair_share = -(-len(partitions) // max(len(shares), 1))
    left: list[NamedPartition] = []
    for at in partitions:
        owner = owners.get(at)
        if owner is not None and at[0] in subscriptions[owner].topics and len(shares[owner]) < fair_share:
            shares[owner].append(at)
        else:
            left.append(at)
    for at in left:
        takers = [member_id for member_id in shares if at[0] in subscriptions[member_id].topics]
        shares[min(takers, key=lambda member_id: len(shares[member_id]))].append(at)
    return shares
