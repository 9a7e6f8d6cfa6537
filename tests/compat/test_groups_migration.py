"""Live groups that move from the classic protocol to KIP-848's and back, a member at a time, while records flow."""

import pytest
from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic
from tests.compat.group_members import (
    JAVA,
    LIBRDKAFKA,
    Kind,
    RecordStream,
    StartMember,
    all_values,
    group_name,
    wait_until,
    wait_until_shared,
)
from tests.compat.members.member import Member

pytestmark = pytest.mark.usefixtures("consumer_groups")

ROLLS = [
    pytest.param(LIBRDKAFKA[0], LIBRDKAFKA[3], id="librdkafka-range"),
    pytest.param(LIBRDKAFKA[2], LIBRDKAFKA[3], id="librdkafka-cooperative-sticky"),
    pytest.param(JAVA[0], JAVA[2], id="java-range", marks=pytest.mark.kafka),
    pytest.param(JAVA[1], JAVA[2], id="java-cooperative-sticky", marks=pytest.mark.kafka),
]


@pytest.mark.parametrize("instances", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize(("classic", "consumer"), ROLLS)
def test_a_live_group_rolls_to_the_other_protocol_and_back(
    admin: AdminClient,
    broker: BrokerProcess,
    make_topic: MakeTopic,
    start_member: StartMember,
    classic: Kind,
    consumer: Kind,
    instances: bool,
) -> None:
    topic, group = make_topic(6), group_name()
    seen: list[Member] = []

    def start(kind: Kind, place: int) -> Member:
        instance_id = f"place-{place}" if instances else None
        seen.append(start_member(kind, broker, group, [topic], heartbeat_interval_ms=500, instance_id=instance_id))
        return seen[-1]

    def group_type() -> ConsumerGroupType:
        return admin.describe_consumer_groups([group])[group].result(30).type

    members = [start(classic, place) for place in range(3)]
    wait_until_shared(members, 6)
    assert group_type() == ConsumerGroupType.CLASSIC
    with RecordStream(broker, topic, 6) as stream:
        for kind in (consumer, classic):
            for place in range(3):
                members[place].close()
                members[place] = start(kind, place)
                wait_until_shared(members, 6)
                is_classic = kind is classic and place == 2
                assert group_type() == (ConsumerGroupType.CLASSIC if is_classic else ConsumerGroupType.CONSUMER)
    # From Kafka, some are read twice when dynamic members change.
    wait_until(lambda: set(all_values(*seen)) == set(stream.values), "every record was read")
