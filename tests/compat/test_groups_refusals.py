"""What a coordinator refuses, and with which error: requests that no client would send, or that come too late.

Each case is a request at a group with a live member; whatever it answers, that member must not have noticed.
"""

import struct
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kohort.model.errors import ErrorCode
from tests.compat.brokers import BrokerProcess, advertised_apis
from tests.compat.conftest import MakeTopic
from tests.compat.group_members import CONSUMER_GROUP_HEARTBEAT, group_name
from tests.compat.group_wire import (
    CONSUMER_GROUP_DESCRIBE,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_FOR_NOW_EPOCH,
    LIST_GROUPS,
    OFFSET_DELETE,
    GroupConnection,
    Membership,
)

pytestmark = pytest.mark.usefixtures("consumer_groups")

LARGEST = 2**31 - 1


def cases(**named: object) -> pytest.MarkDecorator:
    """Each case is the request's fields and the error that answers it; its name says what is wrong."""
    names = [name.replace("_", " ") for name in named]
    return pytest.mark.parametrize(("request_fields", "error"), list(named.values()), ids=names)


@pytest.fixture
def wire(broker: BrokerProcess) -> Iterator[GroupConnection]:
    with GroupConnection(broker) as connection:
        yield connection


@pytest.fixture
def topic(make_topic: MakeTopic) -> str:
    return make_topic(2)


@pytest.fixture
def classic(wire: GroupConnection) -> Iterator[Membership]:
    """The one member of a stable classic group, which is as it was when the test is over."""
    member = wire.become_classic_member(group_name())
    yield member
    assert wire.heartbeat(member) == ErrorCode.NONE


@pytest.fixture
def consumer(broker: BrokerProcess, wire: GroupConnection, topic: str) -> Iterator[Membership]:
    """The one member of a stable consumer group, which is as it was when the test is over."""
    _require_consumer_protocol(broker)
    member = wire.become_consumer_member(group_name(), [topic])
    yield member
    answer = wire.consumer_heartbeat(member.group, member.member_id, member.epoch)
    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, member.epoch)


@pytest.fixture
def consumer_protocol(broker: BrokerProcess) -> None:
    _require_consumer_protocol(broker)


def _require_consumer_protocol(broker: BrokerProcess) -> None:
    if CONSUMER_GROUP_HEARTBEAT not in advertised_apis(broker):
        pytest.skip("the broker does not advertise ConsumerGroupHeartbeat")


# The classic protocol.


@cases(
    no_group_id=({"group": ""}, ErrorCode.INVALID_GROUP_ID),
    no_session_at_all=({"session_timeout_ms": 0}, ErrorCode.INVALID_SESSION_TIMEOUT),
    a_negative_session=({"session_timeout_ms": -1}, ErrorCode.INVALID_SESSION_TIMEOUT),
    the_most_negative_session=({"session_timeout_ms": -(2**31)}, ErrorCode.INVALID_SESSION_TIMEOUT),
    a_session_too_short=({"session_timeout_ms": 5999}, ErrorCode.INVALID_SESSION_TIMEOUT),
    a_session_too_long=({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
    the_longest_session=({"session_timeout_ms": LARGEST}, ErrorCode.INVALID_SESSION_TIMEOUT),
    a_member_nobody_knows=({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    no_protocols=({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    no_protocol_type=({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    a_first_join_without_a_member_id=({}, ErrorCode.MEMBER_ID_REQUIRED),
)
def test_a_join_of_a_new_group_is_refused(
    wire: GroupConnection, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    answer = wire.join(**{"group": group_name(), **request_fields})
    assert ErrorCode(answer.error_code) is error
    assert answer.generation_id == -1
    assert (answer.leader, answer.members) == ("", ())


@cases(
    a_member_nobody_knows=({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    another_protocol_type=({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    a_protocol_the_others_lack=({"protocols": [("sticky", b"")]}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    no_protocols=({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    an_instance_with_a_member_nobody_knows=(
        {"member_id": "nobody", "instance_id": "i"},
        ErrorCode.UNKNOWN_MEMBER_ID,
    ),
)
def test_a_join_of_a_stable_group_is_refused(
    wire: GroupConnection, classic: Membership, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    assert ErrorCode(wire.join(classic.group, **request_fields).error_code) is error


def test_a_member_of_one_group_is_nobody_in_another(wire: GroupConnection, classic: Membership) -> None:
    other = wire.become_classic_member(group_name())
    stranger = other._replace(group=classic.group)
    assert ErrorCode(wire.join(classic.group, other.member_id).error_code) is ErrorCode.UNKNOWN_MEMBER_ID
    assert ErrorCode(wire.sync(stranger).error_code) is ErrorCode.UNKNOWN_MEMBER_ID
    assert wire.heartbeat(stranger) is ErrorCode.UNKNOWN_MEMBER_ID
    assert wire.leave(stranger) == (ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID])
    assert wire.commit(stranger, "no topic") is not ErrorCode.NONE


@cases(
    no_group_id=({"group": ""}, ErrorCode.INVALID_GROUP_ID),
    an_unknown_group=({"group": "no such group"}, ErrorCode.UNKNOWN_MEMBER_ID),
    an_unknown_member=({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    no_member=({"member_id": ""}, ErrorCode.UNKNOWN_MEMBER_ID),
    an_older_generation=({"epoch": 0}, ErrorCode.ILLEGAL_GENERATION),
    no_generation=({"epoch": -1}, ErrorCode.ILLEGAL_GENERATION),
    a_newer_generation=({"epoch": LARGEST}, ErrorCode.ILLEGAL_GENERATION),
    an_instance_nobody_has=({"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
)
def test_a_heartbeat_and_a_sync_are_refused(
    wire: GroupConnection, classic: Membership, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    wrong = classic._replace(**request_fields)
    assert wire.heartbeat(wrong) is error
    assert ErrorCode(wire.sync(wrong).error_code) is error


@cases(
    another_protocol_type=({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    another_protocol=({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
)
def test_a_sync_for_another_protocol_is_refused(
    wire: GroupConnection, classic: Membership, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    assert ErrorCode(wire.sync(classic, **request_fields).error_code) is error


@cases(
    no_group_id=({"group": ""}, (ErrorCode.INVALID_GROUP_ID, [])),
    an_unknown_group=({"group": "no such group"}, (ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID])),
    an_unknown_member=({"member_id": "nobody"}, (ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID])),
    an_instance_nobody_has=({"instance_id": "i"}, (ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID])),
    an_instance_alone=({"member_id": "", "instance_id": "i"}, (ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID])),
)
def test_leaving_is_refused(
    wire: GroupConnection, classic: Membership, request_fields: dict[str, Any], error: object
) -> None:
    assert wire.leave(classic._replace(**request_fields)) == error


def test_who_was_replaced_under_its_instance_id_is_fenced(wire: GroupConnection, topic: str) -> None:
    old = wire.become_classic_member(group_name(), instance_id="i")
    joined = wire.join(old.group, instance_id="i")
    new = old._replace(member_id=joined.member_id, epoch=joined.generation_id)

    assert new.member_id != old.member_id
    assert new.epoch == old.epoch
    assert joined.skip_assignment
    assert wire.heartbeat(old) is ErrorCode.FENCED_INSTANCE_ID
    assert ErrorCode(wire.sync(old).error_code) is ErrorCode.FENCED_INSTANCE_ID
    assert ErrorCode(wire.join(old.group, old.member_id, instance_id="i").error_code) is ErrorCode.FENCED_INSTANCE_ID
    assert wire.commit(old, topic) is ErrorCode.FENCED_INSTANCE_ID
    assert wire.leave(old) == (ErrorCode.NONE, [ErrorCode.FENCED_INSTANCE_ID])
    assert wire.sync(new).assignment == b"all"
    assert wire.heartbeat(new) is ErrorCode.NONE


@cases(
    an_unknown_member=({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    nobody_at_all=({"member_id": "", "epoch": -1}, ErrorCode.UNKNOWN_MEMBER_ID),
    an_older_generation=({"epoch": 0}, ErrorCode.ILLEGAL_GENERATION),
    no_generation=({"epoch": -1}, ErrorCode.ILLEGAL_GENERATION),
    a_newer_generation=({"epoch": LARGEST}, ErrorCode.ILLEGAL_GENERATION),
    an_instance_nobody_has=({"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    a_generation_of_an_unknown_group=({"group": "no such group"}, ErrorCode.GROUP_ID_NOT_FOUND),
)
def test_a_commit_to_a_classic_group_is_refused(
    wire: GroupConnection, topic: str, classic: Membership, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    assert wire.commit(classic, topic, 5) is ErrorCode.NONE
    assert wire.commit(classic._replace(**request_fields), topic, 9) is error
    assert wire.fetch_offset(Membership(classic.group, "", -1), topic) == (ErrorCode.NONE, 5)


def test_a_zombie_of_a_classic_group_commits_nothing(wire: GroupConnection, topic: str) -> None:
    zombie = wire.become_classic_member(group_name())
    assert wire.commit(zombie, topic, 5) is ErrorCode.NONE
    assert wire.leave(zombie) == (ErrorCode.NONE, [ErrorCode.NONE])
    assert wire.commit(zombie, topic, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    heir = wire.become_classic_member(zombie.group)
    assert wire.commit(zombie, topic, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    assert wire.commit(heir._replace(epoch=zombie.epoch), topic, 9) is ErrorCode.ILLEGAL_GENERATION
    assert heir.epoch > zombie.epoch
    assert wire.fetch_offset(Membership(heir.group, "", -1), topic) == (ErrorCode.NONE, 5)


def test_partitions_are_refused_one_by_one(wire: GroupConnection, topic: str, classic: Membership) -> None:
    assert wire.commit(classic, "no-such-topic") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert wire.commit(classic, topic, partition=2) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert wire.commit(classic, topic, partition=-1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert wire.commit(classic, str(uuid.uuid4()), version=10) is ErrorCode.UNKNOWN_TOPIC_ID
    assert wire.commit(classic, topic, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert wire.commit(classic, topic, metadata="ü" * 4096) is ErrorCode.NONE
    assert wire.commit(classic, str(wire.topic_id(topic)), 3, version=10) is ErrorCode.NONE
    assert wire.fetch_offset(Membership(classic.group, "", -1), topic) == (ErrorCode.NONE, 3)


def test_a_count_of_protocols_beyond_the_frame_ends_the_connection_only(
    broker: BrokerProcess, wire: GroupConnection, classic: Membership
) -> None:
    names = b"".join(struct.pack(">h", len(text)) + text for text in (classic.group.encode(), b"", b"consumer"))
    group, member_and_type = names[: 2 + len(classic.group)], names[2 + len(classic.group) :]
    body = group + struct.pack(">ii", 10_000, 10_000) + member_and_type + struct.pack(">i", LARGEST)
    frame = struct.pack(">hhih", 11, 4, 1, -1) + body
    with GroupConnection(broker) as bomber:
        bomber._socket.sendall(struct.pack(">i", len(frame)) + frame)
        assert bomber._answers.read(4) == b""


# The consumer protocol.

JOINING = {"rebalance_timeout_ms": 10_000, "topics": ["orders"], "owned": []}


@pytest.mark.usefixtures("consumer_protocol")
@cases(
    no_group_id=({"group": ""}, ErrorCode.INVALID_REQUEST),
    no_member_id=({"member_id": ""}, ErrorCode.INVALID_REQUEST),
    no_instance_id=({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
    no_rack_id=({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
    no_rebalance_timeout=({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
    no_subscription=({"topics": None}, ErrorCode.INVALID_REQUEST),
    nothing_said_of_what_is_owned=({"owned": None}, ErrorCode.INVALID_REQUEST),
    something_owned_already=({"owned": [(UUID(int=1), [0])]}, ErrorCode.INVALID_REQUEST),
    an_epoch_below_all=({"epoch": -3}, ErrorCode.INVALID_REQUEST),
    leaving_for_now_without_an_instance=({"epoch": LEAVE_FOR_NOW_EPOCH}, ErrorCode.INVALID_REQUEST),
    an_assignor_nobody_has=({"assignor": "none"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
    a_malformed_pattern=({"topics": None, "regex": "a(b"}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    a_pattern_that_looks_behind=({"topics": None, "regex": "(?<=a)b"}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    a_pattern_that_refers_back=({"topics": None, "regex": r"(a)\1"}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    leaving_a_group_that_is_not=({"epoch": LEAVE_EPOCH}, ErrorCode.GROUP_ID_NOT_FOUND),
    an_epoch_of_a_group_that_is_not=({"epoch": 5}, ErrorCode.GROUP_ID_NOT_FOUND),
)
def test_a_first_consumer_heartbeat_is_refused(
    wire: GroupConnection, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    group = group_name()
    asked = {"group": group, "member_id": "m", "epoch": JOIN_EPOCH, **JOINING, **request_fields}
    answer = wire.consumer_heartbeat(**asked)
    assert ErrorCode(answer.error_code) is error
    assert answer.assignment is None
    (described,) = wire.ask(CONSUMER_GROUP_DESCRIBE, 1, group_ids=[group], include_authorized_operations=False).groups
    assert ErrorCode(described.error_code) is ErrorCode.GROUP_ID_NOT_FOUND


@cases(
    an_unknown_member=({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    an_epoch_to_come=({"epoch": LARGEST}, ErrorCode.FENCED_MEMBER_EPOCH),
    an_epoch_long_gone=({"epoch": 1}, ErrorCode.FENCED_MEMBER_EPOCH),
    leaving_of_an_unknown_member=({"member_id": "nobody", "epoch": LEAVE_EPOCH}, ErrorCode.UNKNOWN_MEMBER_ID),
    leaving_for_now_without_an_instance=({"epoch": LEAVE_FOR_NOW_EPOCH}, ErrorCode.INVALID_REQUEST),
    an_instance_nobody_has=({"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    leaving_of_an_instance_nobody_has=({"instance_id": "i", "epoch": LEAVE_EPOCH}, ErrorCode.UNKNOWN_MEMBER_ID),
    an_assignor_nobody_has=({"assignor": "none"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
    a_malformed_pattern=({"regex": "[a"}, ErrorCode.INVALID_REGULAR_EXPRESSION),
)
def test_a_later_consumer_heartbeat_is_refused(
    wire: GroupConnection, consumer: Membership, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    known = {"group": consumer.group, "member_id": consumer.member_id, "epoch": consumer.epoch}
    assert ErrorCode(wire.consumer_heartbeat(**{**known, **request_fields}).error_code) is error


def test_a_fenced_member_is_told_which_epochs_differ(wire: GroupConnection, consumer: Membership) -> None:
    answer = wire.consumer_heartbeat(consumer.group, consumer.member_id, 77)
    assert ErrorCode(answer.error_code) is ErrorCode.FENCED_MEMBER_EPOCH
    assert "77" in answer.error_message
    assert str(consumer.epoch) in answer.error_message


def test_a_consumer_member_of_one_group_is_nobody_in_another(
    wire: GroupConnection, topic: str, consumer: Membership
) -> None:
    other = wire.become_consumer_member(group_name(), [topic])
    answer = wire.consumer_heartbeat(consumer.group, other.member_id, other.epoch)
    assert ErrorCode(answer.error_code) is ErrorCode.UNKNOWN_MEMBER_ID
    assert wire.commit(other._replace(group=consumer.group), topic) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.usefixtures("consumer_protocol")
def test_an_instance_belongs_to_one_member_until_it_leaves_for_now(wire: GroupConnection, topic: str) -> None:
    old = wire.become_consumer_member(group_name(), [topic], instance_id="i")
    asked = {**JOINING, "topics": [topic], "instance_id": "i"}

    refused = wire.consumer_heartbeat(old.group, "new", JOIN_EPOCH, **asked)
    assert ErrorCode(refused.error_code) is ErrorCode.UNRELEASED_INSTANCE_ID
    left = wire.consumer_heartbeat(old.group, old.member_id, LEAVE_FOR_NOW_EPOCH, instance_id="i")
    assert (left.error_code, left.member_epoch) == (ErrorCode.NONE, LEAVE_FOR_NOW_EPOCH)
    joined = wire.consumer_heartbeat(old.group, "new", JOIN_EPOCH, **asked)
    assert (joined.error_code, joined.member_epoch) == (ErrorCode.NONE, old.epoch)
    assert joined.assignment is not None
    assert [(each.topic_id, each.partitions) for each in joined.assignment.topic_partitions] == [
        (wire.topic_id(topic), (0, 1))
    ]
    fenced = wire.consumer_heartbeat(old.group, old.member_id, old.epoch, instance_id="i")
    assert ErrorCode(fenced.error_code) is ErrorCode.FENCED_INSTANCE_ID


@cases(
    an_unknown_member=({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    nobody_at_all=({"member_id": "", "epoch": -1}, ErrorCode.UNKNOWN_MEMBER_ID),
    an_epoch_long_gone=({"epoch": 1}, ErrorCode.STALE_MEMBER_EPOCH),
    an_epoch_to_come=({"epoch": LARGEST}, ErrorCode.STALE_MEMBER_EPOCH),
    an_epoch_of_an_unknown_group=({"group": "no such group"}, ErrorCode.GROUP_ID_NOT_FOUND),
)
def test_a_commit_to_a_consumer_group_is_refused(
    wire: GroupConnection, topic: str, consumer: Membership, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    assert wire.commit(consumer, topic, 5) is ErrorCode.NONE
    assert wire.commit(consumer._replace(**request_fields), topic, 9) is error
    assert wire.fetch_offset(Membership(consumer.group, "", -1), topic) == (ErrorCode.NONE, 5)


def test_an_old_version_of_commit_does_not_know_of_epochs(
    wire: GroupConnection, topic: str, consumer: Membership
) -> None:
    assert wire.commit(consumer, topic, version=8) is ErrorCode.UNSUPPORTED_VERSION


@cases(
    an_unknown_member=({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    an_epoch_long_gone=({"epoch": 1}, ErrorCode.STALE_MEMBER_EPOCH),
    an_epoch_to_come=({"epoch": LARGEST}, ErrorCode.STALE_MEMBER_EPOCH),
)
def test_a_fetch_of_offsets_is_refused(
    wire: GroupConnection, topic: str, consumer: Membership, request_fields: dict[str, Any], error: ErrorCode
) -> None:
    refused, _ = wire.fetch_offset(consumer._replace(**request_fields), topic)
    assert refused is error
    assert wire.fetch_offset(consumer, topic) == (ErrorCode.NONE, -1)


@pytest.mark.usefixtures("consumer_protocol")
def test_a_zombie_of_a_consumer_group_commits_nothing(wire: GroupConnection, topic: str) -> None:
    zombie = wire.become_consumer_member(group_name(), [topic])
    assert wire.commit(zombie, topic, 5) is ErrorCode.NONE
    wire.consumer_heartbeat(zombie.group, zombie.member_id, LEAVE_EPOCH)
    assert wire.commit(zombie, topic, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    wire.become_consumer_member(zombie.group, [topic])
    assert wire.commit(zombie, topic, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    assert wire.fetch_offset(Membership(zombie.group, "", -1), topic) == (ErrorCode.NONE, 5)


def test_a_consumer_group_takes_no_classic_member_of_another_kind(wire: GroupConnection, consumer: Membership) -> None:
    connector = wire.join(consumer.group, protocol_type="connect", protocols=[("x", b"")])
    assert ErrorCode(connector.error_code) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    asked = {"protocols": [("range", b"not a subscription")]}
    worker = wire.join(consumer.group, wire.join(consumer.group, **asked).member_id, **asked)
    # Kafka has no word for it: it fails, and says UNKNOWN_SERVER_ERROR.
    assert ErrorCode(worker.error_code) in (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.UNKNOWN_SERVER_ERROR)


@pytest.mark.usefixtures("consumer_protocol")
def test_a_classic_group_of_another_kind_takes_no_consumer_member(wire: GroupConnection) -> None:
    group = group_name()
    asked = {"protocol_type": "connect", "protocols": [("x", b"")]}
    member_id = wire.join(group, **asked).member_id
    joined = wire.join(group, member_id, **asked)
    assert joined.error_code == ErrorCode.NONE
    answer = wire.consumer_heartbeat(group, "m", JOIN_EPOCH, **JOINING)
    assert ErrorCode(answer.error_code) is ErrorCode.GROUP_ID_NOT_FOUND


# Administration.


def test_groups_that_are_not_there_are_described_as_dead(wire: GroupConnection) -> None:
    asked = {"groups": ["no such group"], "include_authorized_operations": False}
    (told,) = wire.ask(DESCRIBE_GROUPS, 5, **asked).groups
    assert (told.error_code, told.group_state) == (ErrorCode.NONE, "Dead")
    (told,) = wire.ask(DESCRIBE_GROUPS, 6, **asked).groups
    assert (told.error_code, told.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")


def test_each_describe_knows_its_own_kind_of_groups(
    wire: GroupConnection, classic: Membership, consumer: Membership
) -> None:
    asked = {"group_ids": [classic.group, "", "no such group"], "include_authorized_operations": False}
    told = wire.ask(CONSUMER_GROUP_DESCRIBE, 1, **asked).groups
    assert {each.group_id: ErrorCode(each.error_code) for each in told} == {
        classic.group: ErrorCode.GROUP_ID_NOT_FOUND,
        "": ErrorCode.INVALID_GROUP_ID,
        "no such group": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    (told,) = wire.ask(DESCRIBE_GROUPS, 6, groups=[consumer.group], include_authorized_operations=False).groups
    assert (told.error_code, told.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")


def test_groups_with_members_are_not_deleted(wire: GroupConnection, classic: Membership, consumer: Membership) -> None:
    names = [classic.group, consumer.group, "no such group", ""]
    told = wire.ask(DELETE_GROUPS, 2, groups_names=names).results
    assert {each.group_id: ErrorCode(each.error_code) for each in told} == {
        classic.group: ErrorCode.NON_EMPTY_GROUP,
        consumer.group: ErrorCode.NON_EMPTY_GROUP,
        "no such group": ErrorCode.GROUP_ID_NOT_FOUND,
        "": ErrorCode.GROUP_ID_NOT_FOUND,
    }


def test_offsets_of_subscribed_topics_are_not_deleted(
    wire: GroupConnection, topic: str, make_topic: MakeTopic, consumer: Membership
) -> None:
    other = make_topic(1)
    assert wire.commit(consumer, topic, 5) is ErrorCode.NONE
    assert wire.commit(consumer, other, 5) is ErrorCode.NONE

    assert _delete_offset(wire, consumer.group, topic) == (ErrorCode.NONE, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
    assert _delete_offset(wire, consumer.group, other) == (ErrorCode.NONE, ErrorCode.NONE)
    assert _delete_offset(wire, "no such group", topic) == (ErrorCode.GROUP_ID_NOT_FOUND, None)
    assert _delete_offset(wire, "", topic) == (ErrorCode.INVALID_GROUP_ID, None)
    assert wire.fetch_offset(consumer, topic) == (ErrorCode.NONE, 5)
    assert wire.fetch_offset(consumer, other) == (ErrorCode.NONE, -1)


def _delete_offset(wire: GroupConnection, group: str, topic: str) -> tuple[ErrorCode, ErrorCode | None]:
    wanted = SimpleNamespace(name=topic, partitions=[SimpleNamespace(partition_index=0)])
    answer = wire.ask(OFFSET_DELETE, 0, group_id=group, topics=[wanted])
    partitions = [ErrorCode(each.error_code) for topics in answer.topics for each in topics.partitions]
    return ErrorCode(answer.error_code), partitions[0] if partitions else None


def test_filters_of_states_and_types_are_read_without_regard_to_case(
    wire: GroupConnection, classic: Membership, consumer: Membership
) -> None:
    def listed(states: list[str], types: list[str]) -> set[str]:
        answer = wire.ask(LIST_GROUPS, 5, states_filter=states, types_filter=types)
        assert answer.error_code == ErrorCode.NONE
        return {each.group_id for each in answer.groups} & {classic.group, consumer.group}

    assert listed([], []) == {classic.group, consumer.group}
    assert listed(["sTABLE"], []) == {classic.group, consumer.group}
    assert listed(["Empty"], []) == set()
    assert listed(["no such state"], []) == set()
    assert listed([], ["CLASSIC"]) == {classic.group}
    assert listed(["Stable"], ["Consumer"]) == {consumer.group}
    assert listed([], ["no such type"]) == set()


def test_a_coordinator_of_nothing_known_is_refused(wire: GroupConnection) -> None:
    answer = wire.ask(FIND_COORDINATOR, 4, key_type=7, coordinator_keys=["x"])
    assert {ErrorCode(each.error_code) for each in answer.coordinators} == {ErrorCode.INVALID_REQUEST}
