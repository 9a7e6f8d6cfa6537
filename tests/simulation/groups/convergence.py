"""What must be so when nothing happens any more: every group has come to rest, and the rest is the right one.

Each subscribed partition is owned exactly once, by a member that subscribes to it; the shares are as equal as the
assignor promises; the coordinator knows exactly the members that run, and says that the group is stable.

Next hop: run.py, which waits for it.
"""

from collections.abc import Sequence
from re import fullmatch

from kohort.model.commands.groups import ConsumerGroupDescribe, ConsumerGroupDescribed, DescribeGroup, GroupDescribed
from tests.simulation.groups.client import Client
from tests.simulation.groups.consumer_member import ConsumerMember
from tests.simulation.groups.projection import Partition
from tests.simulation.groups.world import World

Owners = dict[Partition, Client]


def unsettled(world: World) -> str | None:
    """What still keeps some group from resting; None if nothing does."""
    if world.coming:
        return "static members are about to come back"
    for group in world.scene.groups:
        reason = _unsettled(world, group.group_id)
        if reason is not None:
            return f"{group.group_id}: {reason}"
    return None


def _unsettled(world: World, group_id: str) -> str | None:
    clients = [client for client in world.clients if client.group_id == group_id]
    for client in clients:
        if client.is_leaving or not client.is_settled():
            return f"{client.character.name} is not settled"
    described = world.oracle.ask(ConsumerGroupDescribe(group_id))
    if described is not None and not described.error_code:
        reason = _unsettled_consumer_group(clients, described)
    else:
        reason = _unsettled_classic_group(clients, world.oracle.ask(DescribeGroup(group_id)))
    if reason is not None:
        return reason
    wanted = {client: _subscribed(world, client) for client in clients}
    owners: Owners = {}
    for client in clients:
        for partition in client.owned:
            if partition in owners:
                return f"{partition} is owned by two"
            if partition not in wanted[client]:
                return f"{client.character.name} owns {partition}, and does not want it"
            owners[partition] = client
    for client in clients:
        for partition in wanted[client]:
            if partition not in owners:
                return f"nobody owns {partition}, that {client.character.name} wants"
    return None


def _unsettled_consumer_group(clients: Sequence[Client], described: ConsumerGroupDescribed) -> str | None:
    state = "Stable" if clients else "Empty"
    if described.group_state != state:
        return f"is {described.group_state}"
    if {member.member_id for member in described.members} != {client.member_id for client in clients}:
        return f"has the members {[member.member_id for member in described.members]}"
    epochs = {member.member_epoch for member in described.members} | {client.epoch for client in clients}
    if epochs - {described.group_epoch} or described.assignment_epoch != described.group_epoch:
        return f"is at epoch {described.group_epoch}, and its members at {sorted(epochs)}"
    return None


def _unsettled_classic_group(clients: Sequence[Client], described: GroupDescribed | None) -> str | None:
    if described is None:
        return "is being loaded"
    if described.group_state not in (("Stable",) if clients else ("Empty", "Dead")):
        return f"is {described.group_state}"
    if {member.member_id for member in described.members} != {client.member_id for client in clients}:
        return f"has the members {[member.member_id for member in described.members]}"
    return None


def _subscribed(world: World, client: Client) -> set[Partition]:
    names, regex = client.character.topics, client.character.regex
    if isinstance(client, ConsumerMember):
        names = client.topics
    return {
        (topic.topic_id, partition)
        for topic in world.topics.values()
        if topic.name in names or (regex is not None and fullmatch(regex, topic.name))
        for partition in range(topic.partitions)
    }


def unbalanced(world: World) -> str | None:
    """Where the coordinator divided partitions less equally than its assignor promises."""
    for group in world.scene.groups:
        described = world.oracle.ask(ConsumerGroupDescribe(group.group_id))
        if not described.error_code and described.members:
            clients = [client for client in world.clients if client.group_id == group.group_id]
            wanted = {client: _subscribed(world, client) for client in clients}
            reasons = [judge(wanted) for judge in (_unequal, _unequal_in_a_topic)]
            # A vote for the other assignor counts from the next target on, so either may have made this one.
            if None not in reasons or (not group.has_votes and reasons[described.assignor_name == "range"] is not None):
                return f"{group.group_id}, {described.assignor_name}: {reasons}"
    return None


def _unequal(wanted: dict[Client, set[Partition]]) -> str | None:
    """uniform: no partition could go to a member that wants it too and has at least two fewer."""
    for donor in wanted:
        for taker in wanted:
            if len(donor.owned) > len(taker.owned) + 1 and donor.owned & wanted[taker]:
                return f"{donor.character.name} has {len(donor.owned)} and {taker.character.name} {len(taker.owned)}"
    return None


def _unequal_in_a_topic(wanted: dict[Client, set[Partition]]) -> str | None:
    """range: of each topic its subscribers have the same number, give or take one."""
    topic_ids = sorted({topic_id for partitions in wanted.values() for topic_id, _ in partitions})
    for topic_id in topic_ids:
        shares = [
            sum(1 for owned in client.owned if owned[0] == topic_id)
            for client, partitions in wanted.items()
            if any(each == topic_id for each, _ in partitions)
        ]
        if max(shares) - min(shares) > 1:
            return f"of {topic_id} members have {shares}"
    return None
