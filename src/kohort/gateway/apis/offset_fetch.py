"""OffsetFetch: how far groups have read.

Versions: 2 null topics ask for all, and the group as a whole can have an error; 5 committed_leader_epoch; 6 flexible;
7 require_stable; 8 many groups; 9 members of the consumer protocol say who they are; 10 topics by id.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import (
    OffsetFetch,
    OffsetFetchAnswer,
    PartitionOffsetFetched,
    TopicOffsetsFetched,
    TopicOffsetsQuery,
)
from kohort.model.errors import ErrorCode, Refused
from kohort.model.ids import NO_TOPIC_ID

_GROUP_ERROR_SINCE = 2
_REQUIRE_STABLE_SINCE = 7
_MANY_GROUPS_SINCE = 8
_MEMBER_SINCE = 9
_BY_ID_SINCE = 10


class GroupsMessage(NamedTuple):
    groups: tuple[OffsetFetchAnswer, ...]
    throttle_time_ms: int = 0


def handle_offset_fetch(request: Request, call: Call) -> None:
    version = call.version
    if version < _MANY_GROUPS_SINCE:
        require_stable = version >= _REQUIRE_STABLE_SINCE and request.require_stable
        command = OffsetFetch(request.group_id, _topics(request, version), require_stable)
        call.send(command, call.answer if version >= _GROUP_ERROR_SINCE else partial(_answer_each, request, call))
        return
    require_stable = request.require_stable
    commands = [_command(group, version, require_stable) for group in request.groups]
    if len(commands) == 1:
        call.send(commands[0], partial(_answer_one, call))
    else:
        call.send_each(commands, partial(_answer_many, request, call))


def _command(group: Request, version: int, require_stable: bool) -> OffsetFetch:
    if version < _MEMBER_SINCE:
        return OffsetFetch(group.group_id, _topics(group, version), require_stable)
    return OffsetFetch(group.group_id, _topics(group, version), require_stable, group.member_id, group.member_epoch)


def _topics(asked: Request, version: int) -> tuple[TopicOffsetsQuery, ...] | None:
    topics = asked.topics
    if topics is None:
        return None
    if version < _BY_ID_SINCE:
        return tuple([TopicOffsetsQuery(topic.name, topic.partition_indexes) for topic in topics])
    return tuple([TopicOffsetsQuery("", topic.partition_indexes, topic.topic_id or NO_TOPIC_ID) for topic in topics])


def _answer_one(call: Call, answer: OffsetFetchAnswer) -> None:
    call.answer(GroupsMessage((answer,)))


def _answer_many(request: Request, call: Call, answers: tuple[OffsetFetchAnswer | Refused, ...]) -> None:
    groups = tuple(
        _refused_group(group.group_id, answer) if isinstance(answer, Refused) else answer
        for group, answer in zip(request.groups, answers, strict=True)
    )
    call.answer(GroupsMessage(groups))


def _answer_each(request: Request, call: Call, answer: OffsetFetchAnswer) -> None:
    """Version 1 has no error of the group: each partition says it."""
    if answer.error_code:
        answer = OffsetFetchAnswer(answer.group_id, _refused_topics(request, answer.error_code))
    call.answer(answer)


def refuse_offset_fetch(request: Request, refused: Refused, call: Call) -> Message:
    if call.version >= _MANY_GROUPS_SINCE:
        return GroupsMessage(tuple(_refused_group(group.group_id, refused) for group in request.groups))
    if call.version >= _GROUP_ERROR_SINCE:
        return _refused_group(request.group_id, refused)
    return OffsetFetchAnswer(request.group_id, _refused_topics(request, _told(refused)))


def _refused_group(group_id: str, refused: Refused) -> OffsetFetchAnswer:
    return OffsetFetchAnswer(group_id, (), _told(refused))


def _refused_topics(request: Request, error_code: int) -> tuple[TopicOffsetsFetched, ...]:
    return tuple(
        TopicOffsetsFetched(
            topic.name,
            tuple(PartitionOffsetFetched(index, error_code=error_code) for index in topic.partition_indexes),
        )
        for topic in request.topics
    )


def _told(refused: Refused) -> ErrorCode:
    """Older consumers do not expect to hear here that there is no coordinator, but that it is another."""
    if refused.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return ErrorCode.NOT_COORDINATOR
    return refused.error_code


OFFSET_FETCH = Api(9, "OffsetFetch", 1, 10, handle_offset_fetch, refuse_offset_fetch)
