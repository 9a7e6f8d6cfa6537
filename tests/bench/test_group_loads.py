"""The loads of groups say what a client would say, and see when a broker did not do what it was asked."""

import socket
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import kio.schema.consumer_group_heartbeat.v1.request as request_schema
import kio.schema.consumer_group_heartbeat.v1.response as answer_schema
import kio.schema.offset_commit.v9.request as commit_schema
import kio.schema.offset_fetch.v9.response as fetched_schema
import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader
from kio.static.primitive import i32, i32Timedelta

from bench.brokers import Subject
from bench.connection import LoadError
from bench.figures import Readings
from bench.group_frames import answer_frame, commit_frame, heartbeat_frame, offset_fetch_frame, read_answer
from bench.group_offsets import CommitPlan
from bench.group_restart import for_group, java_hash, one_for_each_coordinator
from bench.group_simulation import SimulatedGroup, SimulatedMember
from bench.group_swarm import Line
from bench.report import Bar

HEADER_SIZE = 4 + 2 + 2 + 4 + 2 + len("bench") + 1
TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
OTHER_ID = UUID("00112233-4455-6677-8899-aabbccddee00")


@pytest.fixture
def group() -> SimulatedGroup:
    return SimulatedGroup("bench-group", ["orders", "payments"], partition_count=4)


def joined(group: SimulatedGroup, number: int = 0) -> SimulatedMember:
    member = SimulatedMember(group, number)
    member.enter()
    return member


def said(frame: bytes) -> request_schema.ConsumerGroupHeartbeatRequest:
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    entity, size = entity_reader(request_schema.ConsumerGroupHeartbeatRequest)(frame, HEADER_SIZE)
    assert HEADER_SIZE + size == len(frame)
    return entity


def answer(
    member: SimulatedMember,
    epoch: int,
    assigned: dict[UUID, tuple[int, ...]] | None = None,
    error: ErrorCode = ErrorCode.none,
) -> bytes:
    assignment = None
    if assigned is not None:
        topics = tuple(
            answer_schema.TopicPartitions(topic_id=topic_id, partitions=tuple(i32(each) for each in numbers))
            for topic_id, numbers in assigned.items()
        )
        assignment = answer_schema.Assignment(topic_partitions=topics)
    return answer_frame(
        answer_schema.ConsumerGroupHeartbeatResponse(
            throttle_time=i32Timedelta.parse(timedelta(0)),
            error_code=error,
            error_message=None if error is ErrorCode.none else "no",
            member_id=member.member_id if error is ErrorCode.none else None,
            member_epoch=i32(epoch),
            heartbeat_interval=i32Timedelta.parse(timedelta(seconds=5)),
            assignment=assignment,
        )
    )


def test_a_member_joins_with_its_whole_subscription_and_repeats_it_until_it_owns_something(
    group: SimulatedGroup,
) -> None:
    member = joined(group)
    first = said(member.request())
    wants_more = member.answered(answer(member, 7, {}))
    second = said(member.request())

    assert (first.member_epoch, second.member_epoch, wants_more) == (0, 7, False)
    for request in (first, second):
        assert request.group_id == "bench-group"
        assert request.member_id == member.member_id
        assert request.subscribed_topic_names == ("orders", "payments")
        assert request.rebalance_timeout == timedelta(minutes=5)
        assert request.topic_partitions == ()


def test_a_member_tells_what_it_owns_at_once_and_then_nothing_but_its_epoch(group: SimulatedGroup) -> None:
    member = joined(group)
    wants_more = member.answered(answer(member, 7, {TOPIC_ID: (3, 1), OTHER_ID: (0, 200)}))
    told, quiet = said(member.request()), said(member.request())

    assert wants_more
    assert member.interval_s == 5.0
    owned = {found.topic_id: found.partitions for found in told.topic_partitions or ()}
    assert owned == {TOPIC_ID: (1, 3), OTHER_ID: (0, 200)}
    assert told.subscribed_topic_names is quiet.subscribed_topic_names is quiet.topic_partitions is None
    assert told.member_epoch == quiet.member_epoch == 7
    assert told.rebalance_timeout == quiet.rebalance_timeout == timedelta(milliseconds=-1)


def test_the_same_assignment_again_needs_no_word(group: SimulatedGroup) -> None:
    member = joined(group)
    member.answered(answer(member, 7, {TOPIC_ID: (1,)}))

    assert not member.answered(answer(member, 8, {TOPIC_ID: (1,)}))
    assert (member.epoch, group.changes) == (8, 1)


def test_a_quiet_answer_is_known_by_its_bytes_and_a_new_epoch_in_it_is_seen(group: SimulatedGroup) -> None:
    member = joined(group)
    member.answered(answer(member, 7, {TOPIC_ID: (1,)}))

    for epoch in (7, 7, 8, 8):
        assert not member.answered(answer(member, epoch))
        assert member.epoch == epoch


def test_a_partition_that_is_given_while_another_owns_it_ends_the_load(group: SimulatedGroup) -> None:
    first, second = joined(group, 0), joined(group, 1)
    first.answered(answer(first, 7, {TOPIC_ID: (0, 1)}))

    with pytest.raises(LoadError, match="another still owns"):
        second.answered(answer(second, 8, {TOPIC_ID: (1, 2)}))


def test_a_partition_that_was_given_up_may_be_given_to_another(group: SimulatedGroup) -> None:
    first, second = joined(group, 0), joined(group, 1)
    first.answered(answer(first, 7, {TOPIC_ID: (0, 1, 2, 3)}))
    first.answered(answer(first, 7, {TOPIC_ID: (0, 1)}))
    second.answered(answer(second, 8, {TOPIC_ID: (2, 3)}))

    assert group.ownership.is_balanced()


def test_a_refused_heartbeat_and_an_answer_to_somebody_else_end_the_load(group: SimulatedGroup) -> None:
    member, other = joined(group, 0), joined(group, 1)

    with pytest.raises(LoadError, match="error 110"):
        member.answered(answer(member, 0, error=ErrorCode.fenced_member_epoch))
    with pytest.raises(LoadError):
        member.answered(answer(other, 7, {}))


def test_a_leaver_owns_nothing_and_is_gone_only_when_that_is_answered(group: SimulatedGroup) -> None:
    member = joined(group)
    member.answered(answer(member, 7, {TOPIC_ID: (0, 1)}))
    leaving = said(member.leave_request())
    member.answered(answer(member, 7))
    was_gone = member.is_gone
    member.answered(answer(member, -1))

    assert leaving.member_epoch == -1
    assert group.ownership.held_by(0) == set()
    assert (was_gone, member.is_gone) == (False, True)


def test_answers_that_come_in_pieces_are_put_together() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = Line(ours)
        whole = [b"\0\0\0\3abc", b"\0\0\0\1d", b"\0\0\0\5efghi"]
        sent = b"".join(whole)
        found = []
        for first in range(0, len(sent), 4):
            theirs.sendall(sent[first : first + 4])
            found += line.answers()
    assert found == whole


def test_no_answer_with_an_error_is_taken_for_the_one_that_was_expected() -> None:
    fetch = offset_fetch_frame("group", "topic", {0: 7})
    fetched = read_answer(fetch.accepted, fetched_schema.OffsetFetchResponse)
    (found,) = fetched.groups
    (topic,) = found.topics
    (partition,) = topic.partitions

    assert answer_frame(fetched) == fetch.accepted
    for wrong in (
        replace(partition, error_code=ErrorCode.unstable_offset_commit),
        replace(partition, committed_offset=6),
    ):
        changed = replace(found, topics=(replace(topic, partitions=(wrong,)),))
        assert answer_frame(replace(fetched, groups=(changed,))) != fetch.accepted


@pytest.mark.parametrize("group_count", [1, 50])
@pytest.mark.parametrize("committed", [25, 50, 75, 125, 1_025])
def test_the_last_offsets_are_those_that_a_broker_would_have_kept(group_count: int, committed: int) -> None:
    plan = CommitPlan("topic", [f"group-{number:02}" for number in range(group_count)], partitions_each=2)
    kept: dict[tuple[str, int], int] = {}
    for request in range(committed):
        frame = plan.commit(3, request % plan.cycle_length)
        entity, _ = entity_reader(commit_schema.OffsetCommitRequest)(frame.data, HEADER_SIZE)
        for partition in entity.topics[0].partitions:
            kept[entity.group_id, partition.partition_index] = partition.committed_offset

    asked: dict[tuple[str, int], int] = {}
    for fetch in plan.fetches(committed):
        (found,) = read_answer(fetch.accepted, fetched_schema.OffsetFetchResponse).groups
        for partition in found.topics[0].partitions:
            asked[found.group_id, partition.partition_index] = partition.committed_offset
    assert {key: offset for key, offset in asked.items() if key[1] in (6, 7)} == kept
    assert len(asked) == len(kept) * 16


def test_a_cycle_of_commits_goes_to_all_groups_alike() -> None:
    plan = CommitPlan("topic", [f"group-{number:02}" for number in range(50)], partitions_each=1)

    groups: Counter[str] = Counter()
    for request in range(plan.cycle_length):
        entity, _ = entity_reader(commit_schema.OffsetCommitRequest)(plan.commit(0, request).data, HEADER_SIZE)
        groups[entity.group_id] += 1
    assert set(groups.values()) == {plan.cycle_length // 50}
    assert len(plan.cycles()) == 16


def test_a_frame_for_another_group_is_the_one_that_would_have_been_built_for_it() -> None:
    offsets = {partition: 1_000_003 * (partition + 1) for partition in range(100)}

    for build in (commit_frame, offset_fetch_frame):
        template = build("bench-00000", "bench-offsets", offsets)
        assert for_group(template, "bench-09871") == build("bench-09871", "bench-offsets", offsets)


@pytest.mark.parametrize(
    ("text", "number"), [("hello", 99162322), ("group-15838", 392339669), ("polygenelubricants", 0)]
)
def test_the_hash_of_a_group_is_the_one_that_java_makes_without_its_sign(text: str, number: int) -> None:
    assert java_hash(text) == number


def test_one_group_of_each_coordinator_is_found_or_it_is_said_that_there_is_none() -> None:
    groups = [f"bench-{number:05}" for number in range(1_000)]

    assert len(set(one_for_each_coordinator(groups))) == 50
    assert one_for_each_coordinator(["hello", *groups])[0] == "hello"
    with pytest.raises(ValueError, match="1 partitions only"):
        one_for_each_coordinator(["hello"])


def test_a_heartbeat_is_accepted_only_without_an_error() -> None:
    frame = heartbeat_frame("group", 3, "member")

    assert frame.accepted == bytes.fromhex("0000000c 00000000 00 00000000 0000 00".replace(" ", ""))
    assert frame.answer_size == 16


def test_the_medians_of_rounds_are_compared() -> None:
    readings = Readings()
    readings.take("ten members", "s", Subject.KOHORT, 3.0, 1.0, 2.0)
    readings.take("ten members", "s", Subject.KAFKA, 40.0)
    readings.take("ten members", "s", Subject.KAFKA, 10.0, 20.0)

    compared = readings.compare("ten members", "s", Bar.RATIO_AT_MOST, 0.1, "librdkafka")

    assert (compared.kohort, compared.kafka, compared.reached) == (2.0, 20.0, True)
    assert readings.plain() == {"ten members: s": {"kohort": [3.0, 1.0, 2.0], "kafka": [40.0, 10.0, 20.0]}}
    assert readings.compare("ten members", "ms", Bar.RATIO_AT_MOST, 0.1, "librdkafka").reached is None
