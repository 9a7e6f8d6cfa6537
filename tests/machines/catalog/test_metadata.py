from uuid import UUID

import pytest

from kohort.model.commands.catalog import (
    BrokerInfo,
    CreateTopics,
    Cursor,
    DescribeTopicPartitions,
    Metadata,
    NewTopic,
    PartitionMetadata,
    TopicPartitionsDescribed,
    TopicQuery,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.settings import BrokerSettings
from tests.machines.catalog.conversation import catalog
from tests.playbook import Playbook


@pytest.fixture
def book() -> Playbook:
    book = catalog()
    book.say(CreateTopics((NewTopic("orders", 5), NewTopic("bills", 3))))
    return book


def ask(book: Playbook, *names: str, allowed: bool = True) -> list[tuple[str | None, int, int]]:
    answer = book.say(Metadata(tuple(TopicQuery(name) for name in names), allowed))
    return [(topic.name, topic.error_code, len(topic.partitions)) for topic in answer.topics]


def test_the_broker_leads_every_partition_and_is_its_only_replica(book: Playbook) -> None:
    answer = book.say(Metadata((TopicQuery("bills"),)))
    assert answer.brokers == (BrokerInfo(1, "127.0.0.1", 9092),)
    assert answer.controller_id == 1
    assert answer.topics[0].partitions == tuple(PartitionMetadata(index, 1, 0, (1,), (1,)) for index in range(3))


def test_none_asks_for_every_topic_and_an_empty_list_for_no_topic(book: Playbook) -> None:
    assert [topic.name for topic in book.say(Metadata(None)).topics] == ["orders", "bills"]
    assert book.say(Metadata(())).topics == ()


def test_topics_are_found_by_id(book: Playbook) -> None:
    topic_id = book.say(Metadata((TopicQuery("bills"),))).topics[0].topic_id
    found, missing = book.say(Metadata((TopicQuery(None, topic_id), TopicQuery(None, UUID(int=777))))).topics
    assert (found.name, found.error_code) == ("bills", 0)
    assert (missing.name, missing.topic_id, missing.error_code) == (None, UUID(int=777), ErrorCode.UNKNOWN_TOPIC_ID)


def test_a_missing_topic_is_made_at_once_with_the_brokers_number_of_partitions() -> None:
    book = catalog(BrokerSettings(num_partitions=4))
    assert ask(book, "new", "new") == [("new", 0, 4), ("new", 0, 4)]
    book.restart()
    assert ask(book, "new", allowed=False) == [("new", 0, 4)]


def test_a_missing_topic_is_not_made_when_the_client_or_the_broker_says_no(book: Playbook) -> None:
    assert ask(book, "new", allowed=False) == [("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]
    strict = catalog(BrokerSettings(auto_create_topics_enable=False))
    assert ask(strict, "new") == [("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]


@pytest.mark.parametrize("name", ["", "m/m", "a" * 250])
def test_a_name_that_no_topic_can_have_is_refused_also_when_nothing_would_be_made(book: Playbook, name: str) -> None:
    for allowed in (True, False):
        assert ask(book, name, allowed=allowed) == [(name, ErrorCode.INVALID_TOPIC_EXCEPTION, 0)]


def test_internal_topics_are_not_made_by_asking_for_them(book: Playbook) -> None:
    (topic,) = book.say(Metadata((TopicQuery("__consumer_offsets"),))).topics
    assert (topic.error_code, topic.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)


def test_of_two_missing_names_that_collide_only_the_first_is_made(book: Playbook) -> None:
    assert ask(book, "a.b", "a_b") == [("a.b", 0, 1), ("a_b", ErrorCode.INVALID_TOPIC_EXCEPTION, 0)]


# DescribeTopicPartitions


def pages(answer: TopicPartitionsDescribed) -> list[tuple[str | None, list[int]]]:
    return [(topic.name, [partition.partition_index for partition in topic.partitions]) for topic in answer.topics]


def test_topics_come_in_the_order_of_their_names_each_once(book: Playbook) -> None:
    answer = book.say(DescribeTopicPartitions(("orders", "bills", "orders"), 2000))
    assert pages(answer) == [("bills", [0, 1, 2]), ("orders", [0, 1, 2, 3, 4])]
    assert answer.next_cursor is None


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 8, 2000])
def test_pages_laid_end_to_end_are_every_partition_of_every_topic_once(book: Playbook, limit: int) -> None:
    seen: list[tuple[str | None, int]] = []
    cursor = None
    for _ in range(20):
        answer = book.say(DescribeTopicPartitions((), limit, cursor))
        page = [(name, index) for name, indexes in pages(answer) for index in indexes]
        assert len(page) <= limit
        seen += page
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert seen == [("bills", index) for index in range(3)] + [("orders", index) for index in range(5)]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_has_at_least_one_partition_as_in_kafka(book: Playbook, limit: int) -> None:
    answer = book.say(DescribeTopicPartitions((), limit))
    assert (pages(answer), answer.next_cursor) == ([("bills", [0])], Cursor("bills", 1))


def test_a_cursor_behind_the_last_partition_gives_the_topic_without_partitions_as_in_kafka(book: Playbook) -> None:
    assert pages(book.say(DescribeTopicPartitions(("orders",), 9, Cursor("orders", 99)))) == [("orders", [])]


def test_missing_topics_and_wrong_names_are_told_in_their_place(book: Playbook) -> None:
    answer = book.say(DescribeTopicPartitions(("orders", "missing", "m/m"), 2000))
    outcomes = [(topic.name, topic.error_code) for topic in answer.topics]
    assert outcomes == [("m/m", 17), ("missing", 3), ("orders", 0)]


def test_a_negative_partition_in_the_cursor_is_refused(book: Playbook) -> None:
    with pytest.raises(ProtocolError) as refusal:
        book.say(DescribeTopicPartitions((), 10, Cursor("orders", -1)))
    assert refusal.value.code is ErrorCode.INVALID_REQUEST
