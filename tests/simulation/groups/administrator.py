"""Who looks at groups and changes them from outside: lists and describes, resets and deletes offsets, deletes groups,
removes static members, and sends what no member would send.

Next hop: network.py, by a connection of its own.
"""

from functools import partial
from random import Random
from typing import Any, Protocol

from kohort.model.commands.groups import (
    NO_TIMEOUT_MS,
    AssignedTopic,
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
    DeleteGroup,
    DescribeGroup,
    Heartbeat,
    LeaveGroup,
    LeavingMember,
    ListGroups,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
    TopicCommit,
    TopicOffsetsToDelete,
)
from kohort.model.ids import NO_TOPIC_ID
from tests.simulation.groups.client import Client, Surroundings
from tests.simulation.groups.network import Connection
from tests.simulation.groups.scene import TOPIC_NAMES, GroupScene


class Territory(Surroundings, Protocol):
    """What an administrator can see besides."""

    clients: list[Client]

    def group(self) -> GroupScene:
        """Any of the groups."""


class Administrator:
    def __init__(self, territory: Any, random: Random) -> None:
        self._territory: Territory = territory
        self._random = random
        self._connection: Connection | None = None

    def look(self) -> None:
        """Changes nothing."""
        group_id = self._territory.group().group_id
        looks = (ListGroups(), DescribeGroup(group_id), ConsumerGroupDescribe(group_id), OffsetFetch(group_id, None))
        self._send(self._random.choice(looks))

    def act(self) -> None:
        """Asks only for what does not disturb members: it is refused as long as there are any."""
        group_id = self._territory.group().group_id
        topic = self._random.choice(TOPIC_NAMES)
        partition = self._random.randrange(3)
        self._send(
            self._random.choice(
                (
                    OffsetDelete(group_id, (TopicOffsetsToDelete(topic, (partition, partition + 1)),)),
                    self._reset(group_id, topic, partition),
                    self._reset(group_id, topic, partition),
                    DeleteGroup(group_id),
                )
            )
        )

    def interfere(self) -> None:
        """Removes a member, or pretends to be one."""
        group = self._territory.group()
        self._send(
            self._random.choice(
                (
                    LeaveGroup(group.group_id, (LeavingMember("", self._random.choice(group.instances or ("none",))),)),
                    self._pretence(group.group_id),
                    self._pretence(group.group_id),
                )
            )
        )

    def _pretence(self, group_id: str) -> object:
        member_id = self._random.choice(
            ["nobody", *(client.member_id for client in self._territory.clients if client.group_id == group_id)]
        )
        epoch = self._random.choice((-3, 1, 2, 7, 1_000))
        owned = self._random.choice((None, (), (AssignedTopic(next(iter(self._ids()), NO_TOPIC_ID), (0, 1)),)))
        return self._random.choice(
            (
                ConsumerGroupHeartbeat(group_id, member_id or "nobody", 1_000, topic_partitions=owned),
                ConsumerGroupHeartbeat(group_id, "nobody", epoch, topic_partitions=owned),
                Heartbeat(group_id, "nobody", epoch),
                SyncGroup(group_id, "nobody", epoch),
                self._reset(group_id, TOPIC_NAMES[0], 0)._replace(
                    member_id=member_id, generation_id_or_member_epoch=1_000
                ),
                self._reset(group_id, TOPIC_NAMES[0], 0)._replace(
                    member_id="nobody", generation_id_or_member_epoch=epoch
                ),
            )
        )

    def _ids(self) -> list[Any]:
        return [topic.topic_id for topic in self._territory.topics.values()]

    def _reset(self, group_id: str, topic: str, partition: int) -> OffsetCommit:
        commit = TopicCommit(topic, (partition,), (self._territory.next_offset(),), (-1,))
        return OffsetCommit(group_id, (commit,), retention_time_ms=self._random.choice((NO_TIMEOUT_MS, 4_000)))

    def _send(self, command: Any) -> None:
        if self._connection is None:
            self._connection = self._territory.network.connect("administrator", "", self._on_lost)
        self._territory.trace("administrator sends", command)
        self._connection.send(command, partial(self._hear, command))

    def _on_lost(self) -> None:
        self._connection = None

    def _hear(self, command: Any, answer: Any) -> None:
        self._territory.trace("administrator hears", answer)
        if isinstance(answer, OffsetCommitAnswer):
            self._territory.oracle.answered_commit(command, answer)
        if isinstance(answer, ConsumerGroupDescribed) and not answer.error_code:
            for member in answer.members:
                self._territory.oracle.require(
                    member.member_epoch <= answer.group_epoch, "described ahead of its group:", member
                )
