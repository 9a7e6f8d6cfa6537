"""A connection that speaks of groups in Kafka's own messages, field by field: also what no client would say.

Decides what is said where a test says nothing; what the answers must be is for the tests.
"""

import socket
import struct
import time
from collections.abc import Sequence
from types import SimpleNamespace, TracebackType
from typing import Any, NamedTuple, Self
from uuid import UUID, uuid4

from kohort.model.errors import ErrorCode
from kohort.wire.messages import request_encoder, response_decoder
from tests.compat.brokers import BrokerProcess

METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 3, 8, 9, 10
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 11, 12, 13, 14
DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS, OFFSET_DELETE = 15, 16, 42, 47
CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_FOR_NOW_EPOCH = 0, -1, -2

Protocols = Sequence[tuple[str, bytes]]


def subscription(*topics: str) -> bytes:
    """ConsumerProtocolSubscription, version 0."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


RANGE: Protocols = (("range", subscription("orders")),)


class Membership(NamedTuple):
    """What a member of either protocol is known by."""

    group: str
    member_id: str
    epoch: int
    """Or generation."""
    instance_id: str | None = None


class GroupConnection:
    """Requests go out one after the other; each waits for its answer."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._socket = socket.create_connection(("127.0.0.1", broker.port), 30)
        self._answers = self._socket.makefile("rb")
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._answers.close()
        self._socket.close()

    def fileno(self) -> int:
        """For select: whether an answer has come."""
        return self._socket.fileno()

    def send(self, api_key: int, version: int, **fields: object) -> None:
        self._correlation_id += 1
        encode = request_encoder(api_key, version)
        self._socket.sendall(b"".join(map(bytes, encode(self._correlation_id, "tester", SimpleNamespace(**fields)))))

    def receive(self, api_key: int, version: int) -> Any:
        head = self._answers.read(4)
        assert head, "the broker closed the connection"
        frame = memoryview(self._answers.read(int.from_bytes(head, "big")))
        correlation_id, answer = response_decoder(api_key, version)(frame)
        assert correlation_id == self._correlation_id
        return answer

    def ask(self, api_key: int, version: int, **fields: object) -> Any:
        self.send(api_key, version, **fields)
        return self.receive(api_key, version)

    # The classic protocol.

    def join(
        self,
        group: str,
        member_id: str = "",
        *,
        version: int = 9,
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 10_000,
        instance_id: str | None = None,
        protocol_type: str = "consumer",
        protocols: Protocols = RANGE,
    ) -> Any:
        return self.ask(
            JOIN_GROUP,
            version,
            group_id=group,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[SimpleNamespace(name=name, metadata=metadata) for name, metadata in protocols],
            reason=None,
        )

    def sync(
        self,
        member: Membership,
        *,
        version: int = 5,
        assignments: Sequence[tuple[str, bytes]] = (),
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> Any:
        return self.ask(
            SYNC_GROUP,
            version,
            group_id=member.group,
            generation_id=member.epoch,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[SimpleNamespace(member_id=name, assignment=each) for name, each in assignments],
        )

    def heartbeat(self, member: Membership, *, version: int = 4) -> ErrorCode:
        answer = self.ask(
            HEARTBEAT,
            version,
            group_id=member.group,
            generation_id=member.epoch,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
        )
        return ErrorCode(answer.error_code)

    def leave(self, member: Membership) -> tuple[ErrorCode, list[ErrorCode]]:
        """The error of the whole, and those of the members."""
        identity = SimpleNamespace(member_id=member.member_id, group_instance_id=member.instance_id, reason=None)
        answer = self.ask(LEAVE_GROUP, 5, group_id=member.group, members=[identity])
        return ErrorCode(answer.error_code), [ErrorCode(each.error_code) for each in answer.members]

    def become_classic_member(
        self, group: str, *, instance_id: str | None = None, protocols: Protocols = RANGE
    ) -> Membership:
        """The only member, and so the leader, of a group that is stable then."""
        member_id = "" if instance_id else self.join(group, protocols=protocols).member_id
        joined = self.join(group, member_id, instance_id=instance_id, protocols=protocols)
        assert joined.error_code == ErrorCode.NONE
        member = Membership(group, joined.member_id, joined.generation_id, instance_id)
        assert self.sync(member, assignments=[(member.member_id, b"all")]).assignment == b"all"
        return member

    # The consumer protocol.

    def consumer_heartbeat(
        self,
        group: str,
        member_id: str,
        epoch: int,
        *,
        version: int = 1,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        assignor: str | None = None,
        owned: Sequence[tuple[UUID, Sequence[int]]] | None = None,
    ) -> Any:
        if owned is not None:
            owned = [SimpleNamespace(topic_id=topic, partitions=list(each)) for topic, each in owned]  # type: ignore[misc]
        return self.ask(
            CONSUMER_GROUP_HEARTBEAT,
            version,
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance_id,
            rack_id=rack_id,
            rebalance_timeout_ms=rebalance_timeout_ms,
            subscribed_topic_names=topics,
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=owned,
        )

    def become_consumer_member(self, group: str, topics: Sequence[str], instance_id: str | None = None) -> Membership:
        """The only member, which has what there is to have: Kafka hears of a new topic a moment later."""
        joined = self.consumer_heartbeat(
            group,
            str(uuid4()),
            JOIN_EPOCH,
            instance_id=instance_id,
            rebalance_timeout_ms=10_000,
            topics=topics,
            owned=[],
        )
        assert joined.error_code == ErrorCode.NONE, joined
        while not joined.assignment or not joined.assignment.topic_partitions:
            time.sleep(0.02)
            joined = self.consumer_heartbeat(group, joined.member_id, joined.member_epoch, instance_id=instance_id)
            assert joined.error_code == ErrorCode.NONE, joined
        return Membership(group, joined.member_id, joined.member_epoch, instance_id)

    # Offsets.

    def commit(
        self,
        member: Membership,
        topic: str,
        offset: int = 1,
        *,
        version: int = 9,
        partition: int = 0,
        metadata: str | None = "",
    ) -> ErrorCode:
        """The error of the one partition. The topic is named by its id from version 10 on."""
        wanted = SimpleNamespace(
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=-1,
            committed_metadata=metadata,
        )
        place = {"topic_id": UUID(topic)} if version >= 10 else {"name": topic}
        answer = self.ask(
            OFFSET_COMMIT,
            version,
            group_id=member.group,
            generation_id_or_member_epoch=member.epoch,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            retention_time_ms=-1,
            topics=[SimpleNamespace(partitions=[wanted], **place)],
        )
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def fetch_offset(self, member: Membership, topic: str, *, partition: int = 0) -> tuple[ErrorCode, int | None]:
        """The error of the group, and the partition's offset; -1 if there is none."""
        wanted = SimpleNamespace(
            group_id=member.group,
            member_id=member.member_id or None,
            member_epoch=member.epoch,
            topics=[SimpleNamespace(name=topic, partition_indexes=[partition])],
        )
        (group,) = self.ask(OFFSET_FETCH, 9, groups=[wanted], require_stable=False).groups
        offset = group.topics[0].partitions[0].committed_offset if group.topics else None
        return ErrorCode(group.error_code), offset

    def has_coordinator(self) -> bool:
        """Whether groups are served; Kafka makes the topic of offsets when it is first asked for a coordinator."""
        answer = self.ask(FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["group"])
        error, _ = self.fetch_offset(Membership("group", "", -1), "topic")
        return bool(answer.coordinators[0].error_code == ErrorCode.NONE == error)

    def topic_id(self, topic: str) -> UUID:
        wanted = SimpleNamespace(topic_id=UUID(int=0), name=topic)
        answer = self.ask(
            METADATA,
            12,
            topics=[wanted],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        return UUID(str(answer.topics[0].topic_id))
