import pytest

from kohort.model.commands.catalog import ConfigSource, CreateTopics, Metadata, NewTopic, TopicQuery
from kohort.model.errors import ErrorCode
from kohort.model.ids import NO_TOPIC_ID, OrgId
from kohort.model.records.catalog import TopicRecord
from kohort.model.settings import BrokerSettings
from tests.machines.catalog.conversation import catalog
from tests.machines.catalog.kafka_answers import CREATE_TOPICS, TOPIC_CONFIGS


@pytest.mark.parametrize(("new_topic", "code", "message"), CREATE_TOPICS, ids=lambda value: repr(value)[:60])
def test_a_topic_is_made_or_refused_in_the_words_of_kafka(new_topic: NewTopic, code: int, message: str | None) -> None:
    (outcome,) = catalog().say(CreateTopics((new_topic,))).topics
    assert (outcome.name, outcome.error_code, outcome.error_message) == (new_topic.name, code, message)


@pytest.mark.parametrize(("configs", "message"), TOPIC_CONFIGS, ids=lambda value: repr(value)[:60])
def test_settings_are_taken_or_refused_in_the_words_of_kafka(
    configs: tuple[tuple[str, str | None], ...], message: str | None
) -> None:
    (outcome,) = catalog().say(CreateTopics((NewTopic("orders", configs=configs),))).topics
    code = ErrorCode.NONE if message is None else ErrorCode.INVALID_CONFIG
    assert (outcome.error_code, outcome.error_message) == (code, message)


def test_a_topic_that_was_made_is_there_after_a_restart() -> None:
    book = catalog()
    configs = (("retention.ms", " +5 "), ("cleanup.policy", " compact , delete, delete"))
    (outcome,) = book.say(CreateTopics((NewTopic("orders", 3, configs=configs),))).topics
    book.restart()
    topic = book.machine.state.topic(OrgId(0), "orders")
    assert (topic.topic_id, topic.partitions) == (outcome.topic_id, 3)
    assert topic.configs == {"retention.ms": "5", "cleanup.policy": "compact,delete"}


def test_the_answer_says_how_many_partitions_and_which_settings_the_topic_has() -> None:
    book = catalog(BrokerSettings(num_partitions=6))
    (outcome,) = book.say(CreateTopics((NewTopic("orders", configs=(("retention.ms", "5"),)),))).topics
    assert (outcome.num_partitions, outcome.replication_factor) == (6, 1)
    entries = {entry.name: (entry.value, entry.source) for entry in outcome.configs}
    assert entries["retention.ms"] == ("5", ConfigSource.DYNAMIC_TOPIC)
    assert entries["segment.bytes"] == (str(1 << 30), ConfigSource.DEFAULT)


def test_validating_only_answers_the_same_and_makes_nothing() -> None:
    book = catalog()
    before = list(book.records)
    (outcome,) = book.say(CreateTopics((NewTopic("orders", 3),), validate_only=True)).topics
    assert (outcome.error_code, outcome.num_partitions, outcome.topic_id) == (0, 3, NO_TOPIC_ID)
    assert book.records == before


def test_one_refused_topic_does_not_keep_the_others_from_being_made() -> None:
    book = catalog()
    answer = book.say(CreateTopics((NewTopic("good"), NewTopic("not good"), NewTopic("better"))))
    assert [outcome.error_code for outcome in answer.topics] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION, 0]
    assert list(book.machine.state.topics(OrgId(0))) == ["good", "better"]


def test_a_topic_named_twice_in_a_request_is_refused_once() -> None:
    answer = catalog().say(CreateTopics((NewTopic("twice"), NewTopic("twice"), NewTopic("once"))))
    outcomes = [(outcome.name, outcome.error_code, outcome.error_message) for outcome in answer.topics]
    assert outcomes == [("twice", ErrorCode.INVALID_REQUEST, "Duplicate topic name."), ("once", 0, None)]


def test_a_topic_is_not_made_twice() -> None:
    book = catalog()
    book.say(CreateTopics((NewTopic("orders"),)))
    (outcome,) = book.say(CreateTopics((NewTopic("orders"),))).topics
    assert (outcome.error_code, outcome.error_message) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 'orders' already exists.",
    )


def test_names_that_differ_only_in_dots_and_underscores_collide_also_within_a_request() -> None:
    book = catalog()
    book.say(CreateTopics((NewTopic("a.b"),)))
    first, second, third = book.say(CreateTopics((NewTopic("a_b"), NewTopic("x.y"), NewTopic("x_y")))).topics
    assert (first.error_code, first.error_message) == (17, "Topic 'a_b' collides with existing topic: a.b")
    assert second.error_code == 0
    assert (third.error_code, third.error_message) == (17, "Topic 'x_y' collides with existing topic: x.y")


def test_more_replicas_than_brokers_are_refused() -> None:
    (outcome,) = catalog().say(CreateTopics((NewTopic("orders", 1, 2),))).topics
    assert outcome.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "only 1 broker(s) are registered" in outcome.error_message


def test_the_partitions_of_all_topics_of_a_request_are_bounded_together() -> None:
    book = catalog()
    answer = book.say(CreateTopics((NewTopic("big", 10_000), NewTopic("small", 1))))
    assert [outcome.error_code for outcome in answer.topics] == [0, ErrorCode.POLICY_VIOLATION]


def test_two_orgs_have_topics_of_the_same_name_and_never_meet() -> None:
    book = catalog()
    book.say(CreateTopics((NewTopic("orders", 1),)), OrgId(7))
    book.say(CreateTopics((NewTopic("orders", 2),)), OrgId(8))
    seven, eight = (book.say(Metadata(None), OrgId(org)).topics for org in (7, 8))
    assert (len(seven[0].partitions), len(eight[0].partitions)) == (1, 2)
    assert seven[0].topic_id != eight[0].topic_id
    by_id = Metadata((TopicQuery(None, seven[0].topic_id),))
    assert book.say(by_id, OrgId(8)).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert book.say(Metadata(None)).topics == ()


def test_topic_ids_differ_and_are_none_that_kafka_keeps_for_itself() -> None:
    book = catalog()
    book.say(CreateTopics(tuple(NewTopic(f"topic-{number}") for number in range(500))))
    ids = [record.topic.topic_id for record in book.records if isinstance(record, TopicRecord)]
    assert len(set(ids)) == 500
    assert all(topic_id.int >= 100 and topic_id.bytes[0] >> 2 != 0x3E for topic_id in ids)
