import pytest

from kohort.machines.groups.push.push import Push
from kohort.model.commands.groups import Origin
from kohort.model.settings import BrokerSettings

SESSION_MS = 45_000


def client(software: str = "", version: str = "", client_id: str = "") -> Origin:
    return Origin(client_id, "/127.0.0.1", software, 1, version)


@pytest.mark.parametrize(
    ("origin", "consumer_ms", "join_ms", "classic_ms", "static_ms"),
    [
        (client("apache-kafka-java", "4.3.1"), 850, 0, 2800, 1000),
        (client("librdkafka", "2.15.0"), 700, 700, 2800, 2800),
        (client("confluent-kafka-python", "2.16.1-rdkafka-2.16.0"), 700, 700, 2800, 2800),
        (client("confluent-kafka-go", "2.6.1"), 700, 700, 2800, 2800),
        (client("another-binding", "0.1-librdkafka-2.12.0"), 700, 700, 2800, 2800),
        (client("kgo", "v1.20"), 3000, 700, 2800, 2800),
        (client("sarama", "1.45"), 0, 0, 1000, 1000),
        (client("kafka-python", "3.0"), 0, 0, 2800, 2800),
        (client(client_id="aiokafka-0.14.0"), 0, 0, 2800, 2800),
        (client("kafkajs"), 0, 0, 0, 0),
        (client("something-else", "1.0"), 0, 0, 0, 0),
        (client(), 0, 0, 0, 0),
        (client("something-else", client_id="aiokafka-0.14.0"), 0, 0, 0, 0),
    ],
)
def test_each_client_is_held_as_long_as_it_is_known_to_bear(
    origin: Origin, consumer_ms: int, join_ms: int, classic_ms: int, static_ms: int
) -> None:
    push = Push(BrokerSettings())
    assert push.consumer_hold_ms(origin, 1000) == consumer_ms
    assert push.join_hold_ms(origin) == join_ms
    assert push.classic_hold_ms(origin, SESSION_MS, is_static=False) == classic_ms
    assert push.classic_hold_ms(origin, SESSION_MS, is_static=True) == static_ms


def test_nobody_is_held_where_that_is_switched_off() -> None:
    push = Push(BrokerSettings(group_push_enable=False))
    librdkafka = client("librdkafka")
    assert push.consumer_hold_ms(librdkafka, 1000) == 0
    assert push.join_hold_ms(librdkafka) == 0
    assert push.classic_hold_ms(librdkafka, SESSION_MS, is_static=False) == 0


def test_a_consumer_is_held_for_less_than_the_interval_that_it_was_told() -> None:
    push = Push(BrokerSettings())
    java = client("apache-kafka-java")
    assert push.consumer_hold_ms(java, 5000) == 4850
    assert push.consumer_hold_ms(java, 249) == 0, "it is not worth while"
    assert push.consumer_hold_ms(java, 0) == 0
    assert push.consumer_hold_ms(client("kgo"), 0) == 0, "it knows no interval yet"


def test_a_consumer_that_counts_its_interval_from_the_answer_is_held_for_a_third_of_its_session_at_most() -> None:
    push = Push(BrokerSettings(group_consumer_session_timeout_ms=4500))
    assert push.consumer_hold_ms(client("kgo"), 2000) == 1500


def test_a_classic_member_is_held_for_a_third_of_its_session_at_most() -> None:
    assert Push(BrokerSettings()).classic_hold_ms(client("librdkafka"), 6000, is_static=False) == 2000


def test_the_more_members_there_are_the_longer_is_their_interval_up_to_that_of_kafka() -> None:
    push = Push(BrokerSettings())
    assert [push.consumer_interval_ms(members, 1000) for members in (1, 2000, 4000, 10_000, 1_000_000)] == [
        1000,
        1000,
        2000,
        5000,
        5000,
    ]
    assert push.consumer_interval_ms(1_000_000, 8000) == 8000
