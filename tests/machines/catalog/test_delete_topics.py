from uuid import UUID

import pytest

from kohort.model.commands.catalog import CreateTopics, DeleteTopics, NewTopic, TopicQuery
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import DEFAULT_ORG, OrgId
from kohort.model.settings import BrokerSettings
from tests.machines.catalog.conversation import catalog
from tests.playbook import Playbook

STRANGER = UUID(int=777)


@pytest.fixture
def book() -> Playbook:
    book = catalog()
    book.say(CreateTopics((NewTopic("orders"), NewTopic("bills"))))
    return book


def id_of(book: Playbook, name: str) -> UUID:
    return book.machine.state.topic(DEFAULT_ORG, name).topic_id


def names(book: Playbook) -> list[str]:
    return list(book.machine.state.topics(DEFAULT_ORG))


def test_a_topic_is_deleted_by_name_and_stays_deleted_after_a_restart(book: Playbook) -> None:
    topic_id = id_of(book, "orders")
    (outcome,) = book.say(DeleteTopics((TopicQuery("orders"),))).topics
    assert (outcome.name, outcome.topic_id, outcome.error_code) == ("orders", topic_id, 0)
    book.restart()
    assert names(book) == ["bills"]


def test_a_topic_is_deleted_by_id_and_the_answer_has_its_name(book: Playbook) -> None:
    (outcome,) = book.say(DeleteTopics((TopicQuery(None, id_of(book, "orders")),))).topics
    assert (outcome.name, outcome.error_code) == ("orders", 0)
    assert names(book) == ["bills"]


def test_a_namesake_made_later_has_another_id(book: Playbook) -> None:
    first = id_of(book, "orders")
    book.say(DeleteTopics((TopicQuery("orders"),)))
    book.say(CreateTopics((NewTopic("orders"),)))
    assert id_of(book, "orders") != first
    (outcome,) = book.say(DeleteTopics((TopicQuery(None, first),))).topics
    assert outcome.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (TopicQuery("missing"), 3, "This server does not host this topic-partition."),
        (TopicQuery(""), 3, "This server does not host this topic-partition."),
        (TopicQuery(None, STRANGER), 100, "This server does not host this topic ID."),
        (TopicQuery("orders", STRANGER), 42, "You may not specify both topic name and topic id."),
        (TopicQuery(None), 42, "Neither topic name nor id were specified."),
    ],
)
def test_what_cannot_be_deleted_is_refused_in_the_words_of_kafka(
    book: Playbook, query: TopicQuery, code: int, message: str
) -> None:
    (outcome,) = book.say(DeleteTopics((query,))).topics
    assert (outcome.error_code, outcome.error_message) == (code, message)
    assert names(book) == ["orders", "bills"]


def test_a_topic_asked_for_twice_is_not_deleted_but_the_others_are(book: Playbook) -> None:
    twice = TopicQuery("orders")
    answer = book.say(DeleteTopics((twice, twice, TopicQuery("bills"))))
    outcomes = {outcome.name: (outcome.error_code, outcome.error_message) for outcome in answer.topics}
    assert outcomes == {"orders": (42, "Duplicate topic name."), "bills": (0, None)}
    assert names(book) == ["orders"]


def test_a_topic_asked_for_by_name_and_by_id_is_not_deleted(book: Playbook) -> None:
    answer = book.say(DeleteTopics((TopicQuery("orders"), TopicQuery(None, id_of(book, "orders")))))
    (outcome,) = answer.topics
    assert (outcome.error_code, outcome.error_message) == (
        42,
        "The provided topic name maps to an ID that was already supplied.",
    )
    assert names(book) == ["orders", "bills"]


def test_another_org_cannot_delete_a_topic(book: Playbook) -> None:
    answer = book.say(DeleteTopics((TopicQuery("orders"), TopicQuery(None, id_of(book, "bills")))), OrgId(9))
    assert [outcome.error_code for outcome in answer.topics] == [3, 100]
    assert names(book) == ["orders", "bills"]


def test_nothing_is_deleted_where_deletion_is_disabled() -> None:
    book = catalog(BrokerSettings(delete_topic_enable=False))
    book.say(CreateTopics((NewTopic("orders"),)))
    with pytest.raises(ProtocolError) as refusal:
        book.say(DeleteTopics((TopicQuery("orders"),)))
    assert refusal.value.code is ErrorCode.TOPIC_DELETION_DISABLED
