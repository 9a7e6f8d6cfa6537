"""OffsetFetch: how far groups have read.

Versions: 2 null topics ask for all, and the group as a whole can have an error; 5 committed_leader_epoch; 6 flexible;
7 require_stable; 8 many groups; 9 members of the consumer protocol say who they are; 10 topics by id.

The same requests come again and again, and mostly with the same answers: both are remembered in their bytes.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.gateway.recurring import Recurring
from kohort.model.commands.groups import (
    OffsetFetch,
    OffsetFetchAnswer,
    PartitionOffsetFetched,
    TopicOffsetsFetched,
    TopicOffsetsQuery,
)
from kohort.model.errors import ErrorCode, Refused
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire.messages import request_decoder
from kohort.wire.recurring_requests import remembering

OFFSET_FETCH_KEY: Final = 9
_FEW_PARTITIONS: Final = 100
"""An answer about no more of them may be remembered."""
_GROUP_ERROR_SINCE = 2
_REQUIRE_STABLE_SINCE = 7
_MANY_GROUPS_SINCE = 8
_MEMBER_SINCE = 9
_BY_ID_SINCE = 10


class OffsetFetchRequest(NamedTuple):
    """What a request of any version becomes: a command for each group, one only before version 8."""

    commands: tuple[OffsetFetch, ...]


class GroupsMessage(NamedTuple):
    groups: tuple[OffsetFetchAnswer, ...]
    throttle_time_ms: int = 0


def _is_small(message: GroupsMessage) -> bool:
    return sum(len(topic.partitions) for topic in message.groups[0].topics) <= _FEW_PARTITIONS


_MESSAGES_OF_ONE: Final = Recurring[OffsetFetchAnswer, GroupsMessage](
    lambda answer: GroupsMessage((answer,)), _is_small
)


# Reading


def offset_fetch_decoder(version: int) -> Callable[[memoryview, int], OffsetFetchRequest]:
    read = request_decoder(OFFSET_FETCH_KEY, version)
    return remembering(lambda frame, position: _request(read(frame, position), version))


def _request(request: Request, version: int) -> OffsetFetchRequest:
    require_stable = version >= _REQUIRE_STABLE_SINCE and request.require_stable
    if version < _MANY_GROUPS_SINCE:
        return OffsetFetchRequest((OffsetFetch(request.group_id, _topics(request, version), require_stable),))
    return OffsetFetchRequest(tuple(_command(group, version, require_stable) for group in request.groups))


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


# Asking


def handle_offset_fetch(request: OffsetFetchRequest, call: Call) -> None:
    commands, version = request.commands, call.version
    if version < _MANY_GROUPS_SINCE:
        is_told_of_group = version >= _GROUP_ERROR_SINCE
        call.send(commands[0], call.answer if is_told_of_group else partial(_answer_each, request, call))
    elif len(commands) == 1:
        call.send(commands[0], partial(_answer_one, call))
    else:
        call.send_each(commands, partial(_answer_many, request, call))


def _answer_one(call: Call, answer: OffsetFetchAnswer) -> None:
    call.answer(_MESSAGES_OF_ONE.made_of(_as_told(call, answer)))


def _answer_many(request: OffsetFetchRequest, call: Call, answers: tuple[OffsetFetchAnswer | Refused, ...]) -> None:
    groups = tuple(
        _refused_group(command.group_id, answer) if isinstance(answer, Refused) else _as_told(call, answer)
        for command, answer in zip(request.commands, answers, strict=True)
    )
    call.answer(GroupsMessage(groups))


def _as_told(call: Call, answer: OffsetFetchAnswer) -> OffsetFetchAnswer:
    """Where topics are told by their ids, one that has none any more cannot be told."""
    if call.version < _BY_ID_SINCE or all(topic.topic_id.int or not topic.name for topic in answer.topics):
        return answer
    return answer._replace(topics=tuple(topic for topic in answer.topics if topic.topic_id.int))


def _answer_each(request: OffsetFetchRequest, call: Call, answer: OffsetFetchAnswer) -> None:
    """Version 1 has no error of the group: each partition says it."""
    if answer.error_code:
        answer = OffsetFetchAnswer(answer.group_id, _refused_topics(request.commands[0], answer.error_code))
    call.answer(answer)


# Refusing


def refuse_offset_fetch(request: OffsetFetchRequest, refused: Refused, call: Call) -> Message:
    if call.version >= _MANY_GROUPS_SINCE:
        return GroupsMessage(tuple(_refused_group(command.group_id, refused) for command in request.commands))
    (command,) = request.commands
    if call.version >= _GROUP_ERROR_SINCE:
        return _refused_group(command.group_id, refused)
    return OffsetFetchAnswer(command.group_id, _refused_topics(command, _told(refused)))


def _refused_group(group_id: str, refused: Refused) -> OffsetFetchAnswer:
    return OffsetFetchAnswer(group_id, (), _told(refused))


def _refused_topics(command: OffsetFetch, error_code: int) -> tuple[TopicOffsetsFetched, ...]:
    return tuple(
        TopicOffsetsFetched(
            topic.name,
            tuple(PartitionOffsetFetched(index, error_code=error_code) for index in topic.partition_indexes),
        )
        for topic in command.topics or ()
    )


def _told(refused: Refused) -> ErrorCode:
    """Older consumers do not expect to hear here that there is no coordinator, but that it is another."""
    if refused.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        return ErrorCode.NOT_COORDINATOR
    return refused.error_code


OFFSET_FETCH = Api(
    OFFSET_FETCH_KEY,
    "OffsetFetch",
    1,
    10,
    handle_offset_fetch,
    refuse_offset_fetch,
    pipelined=True,
    decoder=offset_fetch_decoder,
    answers_recur=True,
)
