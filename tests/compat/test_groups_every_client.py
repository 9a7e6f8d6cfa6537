"""What every client of consumer groups can count on, in each protocol it has: who owns what, who goes on where."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic, StartBroker
from tests.compat.group_members import (
    AIOKAFKA,
    EVERY_KIND,
    JAVA,
    KAFKA_PYTHON,
    LIBRDKAFKA,
    Kind,
    RecordStream,
    StartMember,
    all_values,
    every_client,
    every_kind,
    group_name,
    numbers,
    produce_evenly,
    wait_until,
    wait_until_read,
    wait_until_shared,
)
from tests.compat.members.doomed import DoomedMembers
from tests.compat.members.member import Member, Wish

pytestmark = pytest.mark.usefixtures("consumer_groups")

CLOSE_WITHIN_S = 1.0
SHORTEST_SESSION_MS = {"kafka": 6000, "kohort": None}
"""kohort finds a killed member by its connection, however long its session may be."""


@every_kind
def test_a_lone_member_is_given_everything_and_reads_it(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic, values = make_topic(3), numbers(0, 60)
    produce_evenly(broker, topic, 3, values)
    member = start_member(kind, broker, group_name(), [topic])
    wait_until_read([member], 60)
    assert member.owned == {(topic, 0), (topic, 1), (topic, 2)}
    assert all_values(member) == values


@every_kind
def test_members_come_and_go_while_all_is_read_once(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic, group, values = make_topic(6), group_name(), numbers(0, 600)
    produce_evenly(broker, topic, 6, values[:200])
    first = start_member(kind, broker, group, [topic], heartbeat_interval_ms=500)
    wait_until_read([first], 200)
    members = [first] + [start_member(kind, broker, group, [topic], heartbeat_interval_ms=500) for _ in range(2)]
    wait_until_shared(members, 6)
    produce_evenly(broker, topic, 6, values[200:400])
    wait_until_read(members, 400)
    first.close()
    wait_until_shared(members[1:], 6)
    produce_evenly(broker, topic, 6, values[400:])
    wait_until_read(members, 600)
    assert all_values(*members) == values


@every_client
def test_nothing_is_lost_when_members_change_while_records_flow(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic, group = make_topic(4), group_name()

    def start() -> Member:
        return start_member(kind, broker, group, [topic], heartbeat_interval_ms=500)

    members = [start()]
    wait_until_shared(members, 4)
    with RecordStream(broker, topic, 4) as stream:
        for _ in range(2):
            members.append(start())
            wait_until_shared(members, 4)
        members[0].close()
        wait_until_shared(members[1:], 4)
    wait_until(lambda: set(all_values(*members)) == set(stream.values), "every record was read")
    twice = len(all_values(*members)) - len(stream.values)
    assert twice == 0, f"{twice} records were read twice"


@every_kind
def test_a_group_goes_on_where_it_left_off(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic, group = make_topic(2), group_name()
    produce_evenly(broker, topic, 2, numbers(0, 40))
    before = start_member(kind, broker, group, [topic])
    wait_until_read([before], 40)
    before.close()
    produce_evenly(broker, topic, 2, numbers(40, 40))
    after = start_member(kind, broker, group, [topic])
    wait_until_read([after], 40)
    assert all_values(after) == numbers(40, 40)
    assert before.closing_took_s is not None
    assert before.closing_took_s < CLOSE_WITHIN_S


@every_client
def test_a_member_commits_is_told_what_it_committed_and_reads_from_any_offset(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic = make_topic(1)
    produce_evenly(broker, topic, 1, numbers(0, 10))
    member = start_member(kind, broker, group_name(), [topic])
    wait_until_read([member], 10)
    member.commit((topic, 0), 7, "where I was")
    assert member.committed((topic, 0)) == 7
    member.values.clear()
    member.seek((topic, 0), 4)
    wait_until_read([member], 6)
    assert member.values == numbers(4, 6)


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[DoomedMembers]:
    members = DoomedMembers(tmp_path)
    yield members
    members.kill()


@pytest.mark.slow
@pytest.mark.kafka
def test_the_heirs_of_killed_members_go_on_from_their_commits(
    target: str, broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, doomed: DoomedMembers
) -> None:
    topic = make_topic(1)
    produce_evenly(broker, topic, 1, numbers(0, 5))
    session = {"session_timeout_ms": SHORTEST_SESSION_MS[target]}
    groups = {kind: group_name() for kind in (*LIBRDKAFKA[2:], *JAVA[1:], KAFKA_PYTHON[0], *AIOKAFKA)}
    for kind, group in groups.items():
        doomed.start(kind, Wish(broker.bootstrap, group, kind.strategy, (topic,), **session), count=5)
    doomed.wait_until_committed()
    heirs = {kind: start_member(kind, broker, group, [topic], **session) for kind, group in groups.items()}
    doomed.kill()
    produce_evenly(broker, topic, 1, numbers(5, 5))
    for kind, heir in heirs.items():
        wait_until_read([heir], 5)
        assert heir.values == numbers(5, 5), kind


@every_client
def test_a_new_partition_is_given_to_somebody(
    admin: AdminClient, broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic = make_topic(1)
    member = start_member(kind, broker, group_name(), [topic], metadata_age_ms=500)
    wait_until_shared([member], 1)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    wait_until_shared([member], 3)
    produce_evenly(broker, topic, 3, numbers(0, 9))
    wait_until_read([member], 9)


@every_client
def test_a_pattern_finds_topics_that_are_made_later(
    admin: AdminClient, broker: BrokerProcess, start_member: StartMember, kind: Kind
) -> None:
    prefix = f"pattern-{uuid.uuid4().hex[:8]}"

    def make(topic: str) -> None:
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)

    make(f"{prefix}-a")
    make(f"not-{prefix}-a")
    member = start_member(kind, broker, group_name(), pattern=f"{prefix}-.*", metadata_age_ms=500)
    wait_until(lambda: member.owned == {(f"{prefix}-a", 0)}, "the member had the topic that was there")
    make(f"{prefix}-b")
    wait_until(lambda: len(member.owned) == 2, "it had the new one too")
    assert member.owned == {(f"{prefix}-a", 0), (f"{prefix}-b", 0)}


@every_client
def test_a_static_member_that_comes_back_has_what_it_had_and_disturbs_nobody(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic, group = make_topic(4), group_name()
    stays = start_member(kind, broker, group, [topic], instance_id="stays")
    returns = start_member(kind, broker, group, [topic], instance_id="returns")
    wait_until_shared([stays, returns], 4)
    owned, changes = set(returns.owned), stays.changes
    returns.close()
    again = start_member(kind, broker, group, [topic], instance_id="returns")
    wait_until(lambda: again.owned == owned, "it had the same partitions again")
    assert stays.changes == changes
    assert returns.closing_took_s is not None
    assert returns.closing_took_s < CLOSE_WITHIN_S


@pytest.mark.kafka
def test_groups_of_every_kind_live_side_by_side(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember
) -> None:
    topic = make_topic(2)
    produce_evenly(broker, topic, 2, numbers(0, 20))
    members = {kind: start_member(kind, broker, group_name(), [topic]) for kind in EVERY_KIND}
    for kind, member in members.items():
        wait_until(lambda member=member: len(member.values) == 20, f"{kind} read everything")
        assert member.owned == {(topic, 0), (topic, 1)}


@pytest.mark.kafka
@pytest.mark.parametrize(
    "kinds",
    [[LIBRDKAFKA[0], JAVA[0], KAFKA_PYTHON[0]], [LIBRDKAFKA[2], JAVA[1], KAFKA_PYTHON[1]], [LIBRDKAFKA[3], JAVA[2]]],
    ids=["range", "cooperative-sticky", "consumer"],
)
def test_members_of_different_clients_share_a_group(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kinds: list[Kind]
) -> None:
    topic, group = make_topic(6), group_name()
    members = [start_member(kind, broker, group, [topic]) for kind in kinds]
    wait_until_shared(members, 6)
    produce_evenly(broker, topic, 6, numbers(0, 60))
    wait_until_read(members, 60)
    members[0].close()
    wait_until_shared(members[1:], 6)
    produce_evenly(broker, topic, 6, numbers(60, 60))
    wait_until_read(members, 120)
    assert all_values(*members) == numbers(0, 120)


@pytest.fixture
def killed_broker(start_broker: StartBroker) -> BrokerProcess:
    """A broker for tests to kill, with a topic "t" of four partitions."""
    broker = start_broker()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("t", 4, 1)])["t"].result(30)
    return broker


@pytest.mark.slow
@pytest.mark.kafka
def test_nobody_rebalances_because_the_broker_was_killed(
    killed_broker: BrokerProcess, start_member: StartMember
) -> None:
    broker = killed_broker
    produce_evenly(broker, "t", 4, numbers(0, 40))
    groups = {kind: [start_member(kind, broker, str(kind), ["t"]) for _ in range(2)] for kind in EVERY_KIND}
    for members in groups.values():
        wait_until_shared(members, 4)
        wait_until_read(members, 40)
    for kind, members in groups.items():
        members[0].commit(min(members[0].owned), 10, str(kind))
    before = {kind: [(set(each.owned), each.changes) for each in members] for kind, members in groups.items()}
    broker.kill()
    broker.start()
    produce_evenly(broker, "t", 4, numbers(40, 40))
    for members in groups.values():
        wait_until_read(members, 80)
    assert {kind: [(set(each.owned), each.changes) for each in members] for kind, members in groups.items()} == before
    for kind, members in groups.items():
        assert members[0].committed(min(members[0].owned)) in (10, 20), kind  # some commit by themselves, too
        assert all_values(*members) == numbers(0, 80), kind


@pytest.mark.slow
@pytest.mark.kafka
def test_groups_come_together_though_the_broker_is_killed_while_they_rebalance(
    killed_broker: BrokerProcess, start_member: StartMember
) -> None:
    broker = killed_broker
    kinds = (*LIBRDKAFKA[2:], *JAVA[1:], KAFKA_PYTHON[0], *AIOKAFKA)
    groups = {kind: [start_member(kind, broker, str(kind), ["t"]) for _ in range(2)] for kind in kinds}
    for members in groups.values():
        wait_until_shared(members, 4)
    for kind, members in groups.items():
        members.append(start_member(kind, broker, str(kind), ["t"]))
    wait_until(lambda: any(members[2].owned for members in groups.values()), "a group went on to rebalance")
    broker.kill()
    broker.start()
    for members in groups.values():
        wait_until_shared(members, 4)
    produce_evenly(broker, "t", 4, numbers(0, 40))
    for kind, members in groups.items():
        wait_until_read(members, 40)
        assert all_values(*members) == numbers(0, 40), kind
