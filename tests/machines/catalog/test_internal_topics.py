"""Topics that the broker keeps for itself: made once for each org, and not by clients."""

from kohort.model.commands.catalog import CreateInternalTopic, CreateTopics, Metadata, NewTopic, TopicQuery
from kohort.model.errors import ErrorCode
from kohort.model.ids import OrgId
from tests.machines.catalog.conversation import catalog

OFFSETS = CreateInternalTopic("__consumer_offsets", 50, (("cleanup.policy", "compact"),))


def test_an_internal_topic_is_made_once_and_says_that_it_is_one() -> None:
    book = catalog()
    made = book.say(OFFSETS)
    written = len(book.records)
    assert book.say(OFFSETS) == made
    assert len(book.records) == written
    (topic,) = book.say(Metadata((TopicQuery("__consumer_offsets"),))).topics
    assert topic.is_internal
    assert (topic.topic_id, len(topic.partitions)) == (made.topic_id, 50)


def test_each_org_has_internal_topics_of_its_own() -> None:
    book = catalog()
    assert book.say(OFFSETS, OrgId(1)).topic_id != book.say(OFFSETS, OrgId(2)).topic_id


def test_clients_do_not_make_them() -> None:
    (outcome,) = catalog().say(CreateTopics((NewTopic("__consumer_offsets", 1),))).topics
    assert outcome.error_code == ErrorCode.INVALID_REQUEST
