"""Members of classic groups that no client stands behind: they join together, and then only send heartbeats.

Joining goes in waves over all groups, so that a thousand members join within one delay of the broker's. The leader
gives everybody an empty assignment: who owns what is not the point here. Next hop: group_swarm.py, or pumping.py.
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from struct import Struct
from typing import Any, Final

import kio.schema.join_group.v9.request as join_group
import kio.schema.join_group.v9.response as join_group_answer
import kio.schema.leave_group.v5.request as leave_group
import kio.schema.leave_group.v5.response as leave_group_answer
import kio.schema.sync_group.v5.request as sync_group
import kio.schema.sync_group.v5.response as sync_group_answer
from kio.schema.errors import ErrorCode
from kio.schema.types import GroupId
from kio.static.primitive import i32Timedelta

from bench.connection import LoadError
from bench.frames import request_frame
from bench.group_calls import UNKNOWN, exchange, open_connection, receive
from bench.group_frames import heartbeat_frame, read_answer
from bench.group_watch import CLASSIC_INTERVAL_S

_SESSION_TIMEOUT: Final = i32Timedelta.parse(timedelta(seconds=45))
_REBALANCE_TIMEOUT: Final = i32Timedelta.parse(timedelta(seconds=300))
_PROTOCOL_TYPE: Final = "consumer"
_ASSIGNOR: Final = "range"
_SUBSCRIPTION: Final = Struct(">hih5si").pack(0, 1, 5, b"bench", -1)
_NO_PARTITIONS: Final = Struct(">hii").pack(0, 0, -1)


class ClassicMember:
    """A member of a stable group, and the connection that it joined on."""

    def __init__(self, group: str, generation: int, member_id: str, connected: socket.socket) -> None:
        self.group = group
        self.member_id = member_id
        self.connected = connected
        self.interval_s = CLASSIC_INTERVAL_S
        self.heartbeat = heartbeat_frame(group, generation, member_id)

    def request(self) -> bytes:
        return self.heartbeat.data

    def answered(self, answer: bytes) -> bool:
        if answer != self.heartbeat.accepted:
            raise LoadError(f"the heartbeat of {self.member_id} was refused: {answer.hex()}")
        return False


@dataclass(slots=True)
class _Joining:
    """A member on its way into its group."""

    group: str
    connected: socket.socket
    member_id: str = ""
    answer: Any = None


def join_classic(port: int, groups: Sequence[str], members_each: int, software: str) -> list[ClassicMember]:
    """So many members in each of these groups, every one on a connection of its own that says it is this software."""
    joining = [_Joining(group, open_connection(port, software)) for group in groups for _ in range(members_each)]
    for expected in (ErrorCode.member_id_required, ErrorCode.none):
        for member in joining:
            member.connected.sendall(request_frame(_join_request(member)))
        for member in joining:
            member.answer = read_answer(receive(member.connected), join_group_answer.JoinGroupResponse)
            member.member_id = member.answer.member_id
            _expect(member.answer.error_code, expected, f"joining {member.group}")
    for member in joining:
        if member.answer.leader == member.member_id and len(member.answer.members) != members_each:
            raise LoadError(f"{member.group} has {len(member.answer.members)} members and not {members_each}")
        member.connected.sendall(request_frame(_sync_request(member)))
    for member in joining:
        synced = read_answer(receive(member.connected), sync_group_answer.SyncGroupResponse)
        _expect(synced.error_code, ErrorCode.none, f"syncing {member.group}")
    return [
        ClassicMember(member.group, member.answer.generation_id, member.member_id, member.connected)
        for member in joining
    ]


def leave_classic(port: int, members: Sequence[ClassicMember]) -> None:
    """All leave at once, with one request for each group; on another connection, theirs may wait for heartbeats."""
    by_group: dict[str, list[ClassicMember]] = {}
    for member in members:
        by_group.setdefault(member.group, []).append(member)
    with open_connection(port, UNKNOWN) as connected:
        for group, leaving in by_group.items():
            identities = tuple(leave_group.MemberIdentity(member_id=member.member_id) for member in leaving)
            frame = request_frame(leave_group.LeaveGroupRequest(group_id=GroupId(group), members=identities))
            left = read_answer(exchange(connected, frame), leave_group_answer.LeaveGroupResponse)
            for error in (left.error_code, *(member.error_code for member in left.members)):
                _expect(error, ErrorCode.none, f"leaving {group}")
    for member in members:
        member.connected.close()


def _join_request(member: _Joining) -> join_group.JoinGroupRequest:
    protocol = join_group.JoinGroupRequestProtocol(name=_ASSIGNOR, metadata=_SUBSCRIPTION)
    return join_group.JoinGroupRequest(
        group_id=GroupId(member.group),
        session_timeout=_SESSION_TIMEOUT,
        rebalance_timeout=_REBALANCE_TIMEOUT,
        member_id=member.member_id,
        protocol_type=_PROTOCOL_TYPE,
        protocols=(protocol,),
    )


def _sync_request(member: _Joining) -> sync_group.SyncGroupRequest:
    assignments = tuple(
        sync_group.SyncGroupRequestAssignment(member_id=each.member_id, assignment=_NO_PARTITIONS)
        for each in member.answer.members
    )
    return sync_group.SyncGroupRequest(
        group_id=GroupId(member.group),
        generation_id=member.answer.generation_id,
        member_id=member.member_id,
        protocol_type=_PROTOCOL_TYPE,
        protocol_name=_ASSIGNOR,
        assignments=assignments,
    )


def _expect(found: ErrorCode, expected: ErrorCode, doing: str) -> None:
    if found != expected:
        raise LoadError(f"{doing}: {found!r}")
