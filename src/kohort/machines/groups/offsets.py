"""OffsetCommit, OffsetFetch and OffsetDelete: which offsets a group may be given, and what it is told of them.

A commit is checked as Kafka does it (GROUPS.md 6.3): what names no partition there is, is refused by itself; then the
group is asked whether this member may commit at all; then each metadata must not be too long. All that is left of a
topic becomes one record.

Next hop: classic/group.py and consumer/group.py know who may commit; committed.py keeps what was written.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from kohort.machines.contract import Token
from kohort.machines.groups.committed import TopicOffsets
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import (
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    PartitionCommitted,
    PartitionOffsetFetched,
    TopicCommit,
    TopicCommitted,
    TopicOffsetsFetched,
    TopicOffsetsQuery,
    TopicOffsetsToDelete,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import NO_TOPIC_ID, TopicId
from kohort.model.records.groups import OffsetCommitRecord, RemoveOffsetRecord
from kohort.model.topics import Topic

_REMEMBERED_ANSWERS: Final = 4096
_FEW_PARTITIONS: Final = 100
"""The answer to a commit of no more of them is remembered."""

Codes = tuple[ErrorCode, ...]
"""What becomes of each partition of a topic, in the order of the request."""


# OffsetCommit


def handle_offset_commit(state: GroupsState, command: OffsetCommit, token: Token, draft: Draft) -> None:
    """Nearly all commits are taken whole, and go the short way."""
    records = _whole_commit(state, command, draft.now_ms)
    if records is None:
        _commit_in_part(state, command, token, draft)
        return
    _check_commit(state, command)
    _write_commit(state, command, records, draft)
    draft.answer(token, _all_committed(command.topics))


def _whole_commit(state: GroupsState, command: OffsetCommit, now_ms: int) -> list[OffsetCommitRecord] | None:
    """The records of a commit whose partitions all exist and of which nothing else is to be looked at more closely."""
    records = []
    expire_ms = None if command.retention_time_ms < 0 else now_ms + command.retention_time_ms
    for name, indexes, offsets, leader_epochs, metadata, topic_id in command.topics:
        topic = state.topics.by_name.get(name) if name else state.topics.by_id(topic_id)
        if topic is None or metadata or not indexes or max(indexes) >= topic.partitions or min(indexes) < 0:
            return None
        if len(indexes) > 1 and len(set(indexes)) < len(indexes):
            return None
        guard = _guard(topic, expire_ms)
        records.append(
            OffsetCommitRecord(
                command.group_id, topic.name, indexes, offsets, leader_epochs, (), now_ms, expire_ms, guard
            )
        )
    return records


def _guard(topic: Topic, expire_ms: int | None) -> TopicId:
    """A record with an end of its own is of a version that has no place for the topic's id."""
    return topic.topic_id if expire_ms is None else NO_TOPIC_ID


def _write_commit(state: GroupsState, command: OffsetCommit, records: list[OffsetCommitRecord], draft: Draft) -> None:
    if records:
        state.introduce(command.group_id, draft)
        draft.write(*records)
        state.groups[command.group_id].after_offset_commit(command, draft.now_ms)


def _commit_in_part(state: GroupsState, command: OffsetCommit, token: Token, draft: Draft) -> None:
    topics = [_find(state, each.name, each.topic_id) for each in command.topics]
    existing = [_which_exist(topic, commit) for topic, commit in zip(topics, command.topics, strict=True)]
    if any(ErrorCode.NONE in codes for codes in existing):
        try:
            _check_commit(state, command)
        except ProtocolError as refusal:
            _answer_commit(command, [_refused(codes, refusal.code) for codes in existing], token, draft)
            return
    longest = state.settings.offset_metadata_max_bytes
    outcomes = [_which_fit(codes, commit, longest) for codes, commit in zip(existing, command.topics, strict=True)]
    records = [
        _record(command, topic, commit, codes, draft.now_ms)
        for topic, commit, codes in zip(topics, command.topics, outcomes, strict=True)
        if topic is not None and ErrorCode.NONE in codes
    ]
    _write_commit(state, command, records, draft)
    _answer_commit(command, outcomes, token, draft)


def _find(state: GroupsState, name: str, topic_id: TopicId) -> Topic | None:
    return state.topics.by_name.get(name) if name else state.topics.by_id(topic_id)


def _which_exist(topic: Topic | None, commit: TopicCommit) -> Codes:
    indexes = commit.partition_indexes
    if topic is None:
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if commit.name else ErrorCode.UNKNOWN_TOPIC_ID
        return (unknown,) * len(indexes)
    return tuple(
        ErrorCode.NONE if 0 <= index < topic.partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for index in indexes
    )


def _check_commit(state: GroupsState, command: OffsetCommit) -> None:
    group = state.groups.get(command.group_id)
    if group is not None:
        group.check_offset_commit(command)
    elif command.generation_id_or_member_epoch >= 0:
        # Who is no member may make a group that has offsets only; a member of a group that is gone may not.
        code = ErrorCode.GROUP_ID_NOT_FOUND if command.knows_member_epochs else ErrorCode.ILLEGAL_GENERATION
        raise ProtocolError(code, f"There is no group {command.group_id}.")


def _refused(codes: Codes, code: ErrorCode) -> Codes:
    return tuple(code if each is ErrorCode.NONE else each for each in codes)


def _which_fit(codes: Codes, commit: TopicCommit, longest: int) -> Codes:
    metadata = commit.committed_metadata
    if not any(metadata) or max(len(each or "") for each in metadata) <= longest:
        return codes
    return tuple(
        ErrorCode.OFFSET_METADATA_TOO_LARGE if code is ErrorCode.NONE and len(each or "") > longest else code
        for code, each in zip(codes, metadata, strict=True)
    )


def _record(command: OffsetCommit, topic: Topic, commit: TopicCommit, codes: Codes, now_ms: int) -> OffsetCommitRecord:
    """The commits to a topic that nothing is wrong with; of several to one partition, the last."""
    indexes, offsets, leader_epochs = commit.partition_indexes, commit.committed_offsets, commit.committed_leader_epochs
    metadata = tuple([each or "" for each in commit.committed_metadata]) if any(commit.committed_metadata) else ()
    pairs = zip(indexes, codes, strict=True)
    places = {index: place for place, (index, code) in enumerate(pairs) if code is ErrorCode.NONE}.values()
    indexes = tuple([indexes[place] for place in places])
    offsets = tuple([offsets[place] for place in places])
    leader_epochs = tuple([leader_epochs[place] for place in places])
    metadata = tuple([metadata[place] for place in places]) if any(metadata) else ()
    expire_ms = None if command.retention_time_ms < 0 else now_ms + command.retention_time_ms
    guard = _guard(topic, expire_ms)
    return OffsetCommitRecord(
        command.group_id, topic.name, indexes, offsets, leader_epochs, metadata, now_ms, expire_ms, guard
    )


def _answer_commit(command: OffsetCommit, outcomes: list[Codes], token: Token, draft: Draft) -> None:
    topics = [
        TopicCommitted(each.name, tuple(map(PartitionCommitted, each.partition_indexes, codes)), each.topic_id)
        for each, codes in zip(command.topics, outcomes, strict=True)
    ]
    draft.answer(token, OffsetCommitAnswer(tuple(topics)))


def _all_committed(commits: tuple[TopicCommit, ...]) -> OffsetCommitAnswer:
    """Members commit the same partitions again and again, and are given the very same answer."""
    topics = tuple([(each.name, each.partition_indexes, each.topic_id) for each in commits])
    is_small = sum([len(indexes) for _, indexes, _ in topics]) <= _FEW_PARTITIONS
    return _remembered_answer(topics) if is_small else _answer_of(topics)


def _answer_of(topics: tuple[tuple[str, tuple[int, ...], TopicId], ...]) -> OffsetCommitAnswer:
    return OffsetCommitAnswer(
        tuple(
            TopicCommitted(name, tuple(PartitionCommitted(index, ErrorCode.NONE) for index in indexes), topic_id)
            for name, indexes, topic_id in topics
        )
    )


_remembered_answer: Final = lru_cache(_REMEMBERED_ANSWERS)(_answer_of)


# OffsetFetch


def answer_offset_fetch(state: GroupsState, command: OffsetFetch, now_ms: int) -> OffsetFetchAnswer:
    """Of a group that is not there, no partition has an offset. As long as nothing changed, the very same answer."""
    group = state.groups.get(command.group_id)
    if group is not None:
        group.check_offset_fetch(command)
    offsets = state.offsets.kept_of(command.group_id)
    asked_of, answer = offsets.answers.get(command.topics, _NEVER_ASKED)
    if asked_of is state.topics and answer is not None:
        return answer
    answer = OffsetFetchAnswer(command.group_id, _fetched_topics(state, command, offsets.topics))
    state.offsets.remember(command.group_id, command.topics, state.topics, answer)
    return answer


_NEVER_ASKED: Final = (None, None)


def _fetched_topics(
    state: GroupsState, command: OffsetFetch, offsets: Mapping[str, TopicOffsets]
) -> tuple[TopicOffsetsFetched, ...]:
    if command.topics is None:
        return tuple(_all_of(state, name, each) for name, each in offsets.items())
    return tuple(_some_of(state, query, offsets) for query in command.topics)


def _all_of(state: GroupsState, name: str, offsets: TopicOffsets) -> TopicOffsetsFetched:
    topic = state.topics.by_name.get(name)
    topic_id = NO_TOPIC_ID if topic is None else topic.topic_id
    partitions = tuple(_fetched(offsets, partition, NO_TOPIC_ID) for partition in offsets.partitions())
    return TopicOffsetsFetched(name, partitions, topic_id)


def _some_of(state: GroupsState, query: TopicOffsetsQuery, offsets: Mapping[str, TopicOffsets]) -> TopicOffsetsFetched:
    topic = _find(state, query.name, query.topic_id)
    if topic is None and not query.name:
        unknown = tuple(
            PartitionOffsetFetched(partition, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
            for partition in query.partition_indexes
        )
        return TopicOffsetsFetched("", unknown, query.topic_id)
    name, topic_id = (query.name, NO_TOPIC_ID) if topic is None else (topic.name, topic.topic_id)
    committed = offsets.get(name)
    partitions = tuple([_fetched(committed, partition, topic_id) for partition in query.partition_indexes])
    return TopicOffsetsFetched(query.name, partitions, query.topic_id)


def _fetched(offsets: TopicOffsets | None, partition: int, topic_id: TopicId) -> PartitionOffsetFetched:
    """What was committed to a namesake of the topic, deleted since, does not count."""
    committed = None if offsets is None else offsets.get(partition)
    if committed is None or (committed.topic_id != topic_id and NO_TOPIC_ID not in (committed.topic_id, topic_id)):
        return PartitionOffsetFetched(partition)
    return PartitionOffsetFetched(
        partition, committed.offset, committed.metadata, ErrorCode.NONE, committed.leader_epoch
    )


# OffsetDelete


def handle_offset_delete(state: GroupsState, command: OffsetDelete, token: Token, draft: Draft) -> None:
    existing = [_which_may_be_deleted(state, each) for each in command.topics]
    group = state.groups.get(command.group_id)
    if any(ErrorCode.NONE in codes for codes in existing):
        if not command.group_id:
            raise ProtocolError(ErrorCode.INVALID_GROUP_ID)
        if group is None:
            raise ProtocolError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no group {command.group_id}.")
        group.check_offset_deletion()
    topics: list[TopicCommitted] = []
    removals: list[RemoveOffsetRecord] = []
    offsets = state.offsets.of_group(command.group_id)
    for each, codes in zip(command.topics, existing, strict=True):
        if group is not None and group.is_subscribed_to(each.name):
            codes = _refused(codes, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
        committed = offsets.get(each.name)
        removals += [
            RemoveOffsetRecord(command.group_id, each.name, index)
            for index, code in zip(each.partition_indexes, codes, strict=True)
            if code is ErrorCode.NONE and committed is not None and committed.get(index) is not None
        ]
        topics.append(TopicCommitted(each.name, tuple(map(PartitionCommitted, each.partition_indexes, codes))))
    draft.write(*removals)
    draft.answer(token, OffsetDeleteAnswer(ErrorCode.NONE, tuple(topics)))


def _which_may_be_deleted(state: GroupsState, topic: TopicOffsetsToDelete) -> Codes:
    """Kafka asks only whether there is such a topic."""
    is_known = topic.name in state.topics.by_name
    code = ErrorCode.NONE if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return (code,) * len(topic.partition_indexes)
