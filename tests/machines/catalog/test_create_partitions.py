import pytest

from kohort.model.commands.catalog import CreatePartitions, CreateTopics, NewPartitions, NewTopic
from kohort.model.errors import ErrorCode
from kohort.model.ids import DEFAULT_ORG
from tests.machines.catalog.conversation import catalog
from tests.playbook import Playbook


@pytest.fixture
def book() -> Playbook:
    book = catalog()
    book.say(CreateTopics((NewTopic("orders", 1, configs=(("retention.ms", "5"),)), NewTopic("bills", 2))))
    return book


def partitions(book: Playbook, name: str) -> int:
    return book.machine.state.topic(DEFAULT_ORG, name).partitions


def test_a_topic_grows_and_keeps_its_id_and_settings(book: Playbook) -> None:
    before = book.machine.state.topic(DEFAULT_ORG, "orders")
    book.say(CreatePartitions((NewPartitions("orders", 5),)))
    book.restart()
    after = book.machine.state.topic(DEFAULT_ORG, "orders")
    assert (after.partitions, after.topic_id, after.configs) == (5, before.topic_id, before.configs)


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (NewPartitions("missing", 2), 3, None),
        (NewPartitions("orders", 1), 37, "Topic already has 1 partition(s)."),
        (NewPartitions("orders", 0), 37, "The topic orders currently has 1 partition(s); 0 would not be an increase."),
        (
            NewPartitions("orders", -1),
            37,
            "The topic orders currently has 1 partition(s); -1 would not be an increase.",
        ),
        (
            NewPartitions("orders", 3, ((1,),)),
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            NewPartitions("orders", 2, ()),
            39,
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.",
        ),
        (
            NewPartitions("orders", 2, ((2,),)),
            39,
            "The manual partition assignment includes broker 2, but no such broker is registered.",
        ),
        (
            NewPartitions("orders", 2, ((1, 1),)),
            39,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (NewPartitions("orders", 2, ((),)), 39, "The manual partition assignment includes an empty replica list."),
        (NewPartitions("orders", 20_000), 44, "Excessively large number of partitions per request."),
    ],
)
def test_what_is_no_growth_is_refused_in_the_words_of_kafka(
    book: Playbook, wanted: NewPartitions, code: int, message: str | None
) -> None:
    (outcome,) = book.say(CreatePartitions((wanted,))).topics
    assert (outcome.error_code, outcome.error_message) == (code, message)
    assert partitions(book, "orders") == 1


def test_an_assignment_to_the_broker_that_is_here_is_taken(book: Playbook) -> None:
    book.say(CreatePartitions((NewPartitions("orders", 3, ((1,), (1,))),)))
    assert partitions(book, "orders") == 3


def test_one_topic_may_grow_while_another_is_refused(book: Playbook) -> None:
    answer = book.say(CreatePartitions((NewPartitions("orders", 2), NewPartitions("bills", 1))))
    assert [outcome.error_code for outcome in answer.topics] == [0, ErrorCode.INVALID_PARTITIONS]
    assert (partitions(book, "orders"), partitions(book, "bills")) == (2, 2)


def test_a_topic_named_twice_does_not_grow(book: Playbook) -> None:
    (outcome,) = book.say(CreatePartitions((NewPartitions("orders", 2), NewPartitions("orders", 3)))).topics
    assert (outcome.error_code, outcome.error_message) == (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    assert partitions(book, "orders") == 1


def test_validating_only_grows_nothing(book: Playbook) -> None:
    (outcome,) = book.say(CreatePartitions((NewPartitions("orders", 2),), validate_only=True)).topics
    assert outcome.error_code == 0
    assert partitions(book, "orders") == 1
