import pytest

from kohort.model.commands.groups import AssignedTopic, ConsumerGroupHeartbeat
from kohort.model.errors import ErrorCode
from kohort.model.records.groups import (
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMetadataRecord,
    RegularExpressionRecord,
    RemoveRegularExpressionRecord,
)
from tests.machines.groups.consumer.conversation import (
    BILLS,
    GROUP,
    MAIL,
    ORDERS,
    ORIGIN,
    PATIENT,
    Consumer,
    GroupBook,
    converge,
    group_book,
    refusal,
    topic,
)

ORDERS_4, BILLS_2, MAIL_2 = topic("orders", ORDERS, 4), topic("bills", BILLS, 2), topic("mail", MAIL, 2)


@pytest.fixture
def book() -> GroupBook:
    return group_book(ORDERS_4, BILLS_2)


def bumps(book: GroupBook) -> int:
    return sum(isinstance(record, ConsumerGroupMetadataRecord) for record in book.records)


def written(book: GroupBook, kind: type) -> int:
    return sum(isinstance(record, kind) for record in book.records)


# By name


def test_a_member_that_wants_another_topic_gets_it_at_once(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    book.settle()
    member.heartbeat(subscribed_topic_names=("orders", "bills"))
    assert member.owned == {ORDERS: (0, 1, 2, 3), BILLS: (0, 1)}
    assert member.epoch == 3


def test_a_member_that_wants_a_topic_no_more_gives_it_up(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=("orders", "bills"))
    member.join()
    book.settle()
    answer = member.heartbeat(subscribed_topic_names=("bills",))
    assert answer.assignment.topic_partitions == (AssignedTopic(BILLS, (0, 1)),)
    assert member.epoch == 2, "until it says that it did"
    member.acknowledge()
    assert member.epoch == 3


def test_a_topic_is_taken_away_at_once_even_if_the_next_target_is_still_to_come(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=("orders", "bills"))
    member.join()
    member.heartbeat(subscribed_topic_names=("bills",))
    assert book.group.epoch > book.group.target_epoch
    assert member.owned == {BILLS: (0, 1)}
    assert book.member("a").position.pending.keys() == {ORDERS}


def test_names_count_in_no_order_and_once(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=("orders", "bills"))
    member.join()
    count = len(book.records)
    member.heartbeat(subscribed_topic_names=("bills", "orders", "bills"))
    assert len(book.records) == count


def test_what_a_heartbeat_leaves_out_stays_and_what_it_says_is_written_without_an_epoch(book: GroupBook) -> None:
    member = Consumer(book, "a", rack_id="r1", server_assignor="range")
    member.join()
    before = book.member("a").metadata
    member.heartbeat(rebalance_timeout_ms=5000)
    member.heartbeat(rack_id="r2")
    member.heartbeat(server_assignor="uniform")
    after = book.member("a").metadata
    assert (after.rebalance_timeout_ms, after.rack_id, after.server_assignor) == (5000, "r2", "uniform")
    assert after.subscribed_topic_names == before.subscribed_topic_names
    assert bumps(book) == 1
    member.heartbeat()
    assert book.member("a").metadata is after


def test_a_member_that_comes_from_elsewhere_is_known_to_be_there(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    member.origin = ORIGIN._replace(client_host="/10.0.0.1", connection_id=9)
    count = written(book, ConsumerGroupMemberMetadataRecord)
    member.heartbeat()
    member.heartbeat()
    assert book.member("a").metadata.client_host == "/10.0.0.1"
    assert written(book, ConsumerGroupMemberMetadataRecord) == count + 1


def test_the_same_client_on_another_connection_is_nothing_new(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    member.origin = ORIGIN._replace(connection_id=9)
    count = len(book.records)
    member.heartbeat()
    assert len(book.records) == count


# By regular expression


def test_a_regular_expression_stands_for_its_topics_with_the_first_answer(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=None, subscribed_topic_regex="b.*|none")
    member.join()
    assert member.owned == {BILLS: (0, 1)}
    assert member.epoch == 2


def test_a_regular_expression_matches_whole_names_and_may_stand_beside_names(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=("orders",), subscribed_topic_regex="ill")
    member.join()
    assert member.owned == {ORDERS: (0, 1, 2, 3)}


def test_what_is_no_re2_expression_is_refused_before_anything_happens(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    for expression in ("[", r"(a)\1", "(?=a)", "a{2000}"):
        bad = ConsumerGroupHeartbeat(GROUP, "a", 2, subscribed_topic_regex=expression, origin=ORIGIN)
        code, message = refusal(book, bad)
        assert code is ErrorCode.INVALID_REGULAR_EXPRESSION
        assert message is not None
        assert expression in message
        assert refusal(book, bad._replace(member_id="b", member_epoch=0, rebalance_timeout_ms=1, topic_partitions=()))


def test_an_expression_is_kept_as_long_as_somebody_uses_it(book: GroupBook) -> None:
    first = Consumer(book, "a", subscribed_topic_names=None, subscribed_topic_regex="b.*")
    second = Consumer(book, "b", subscribed_topic_names=None, subscribed_topic_regex="b.*")
    first.join()
    second.join()
    assert written(book, RegularExpressionRecord) == 1
    first.heartbeat(subscribed_topic_regex="o.*")
    assert set(book.group.subscriptions.expressions) == {"b.*", "o.*"}
    second.leave()
    assert set(book.group.subscriptions.expressions) == {"o.*"}
    first.heartbeat(subscribed_topic_regex="")
    assert written(book, RemoveRegularExpressionRecord) == 2
    converge(first)
    assert first.owned == {}
    book.restart()
    assert not book.group.subscriptions.expressions


def test_a_topic_that_matches_is_consumed_as_soon_as_it_is_made(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=None, subscribed_topic_regex="b.*|m.*", origin=PATIENT)
    member.join()
    member.acknowledge()
    assert member.token is not None
    book.settle()
    book.set_topics(ORDERS_4, BILLS_2, MAIL_2)
    member.hear()
    assert member.owned == {BILLS: (0, 1), MAIL: (0, 1)}
    book.set_topics(ORDERS_4, BILLS_2, MAIL_2, topic("other", ORDERS, 1))
    assert bumps(book) == 2, "of a topic that does not match nobody hears"


# When topics change


def test_a_topic_that_grows_is_shared_anew_at_once(book: GroupBook) -> None:
    member = Consumer(book, "a", origin=PATIENT)
    member.join()
    member.acknowledge()
    book.settle()
    book.set_topics(topic("orders", ORDERS, 5), BILLS_2)
    member.hear()
    assert member.owned == {ORDERS: (0, 1, 2, 3, 4)}
    assert member.epoch == 3


def test_a_topic_that_is_removed_is_taken_away(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=("orders", "bills"), origin=PATIENT)
    member.join()
    member.acknowledge()
    book.settle()
    book.set_topics(ORDERS_4)
    member.hear()
    assert member.owned == {ORDERS: (0, 1, 2, 3)}
    assert book.member("a").position.pending.keys() == {BILLS}
    member.acknowledge()
    assert member.epoch == 3


def test_a_topic_that_is_made_again_is_another_one(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    book.settle()
    book.set_topics(topic("orders", MAIL, 4), BILLS_2)
    book.settle()
    converge(member)
    assert member.owned == {MAIL: (0, 1, 2, 3)}


def test_topics_that_nobody_subscribes_to_change_nothing(book: GroupBook) -> None:
    Consumer(book, "a").join()
    count = len(book.records)
    book.set_topics(ORDERS_4, topic("bills", BILLS, 7), MAIL_2)
    assert len(book.records) == count


def test_what_changed_while_the_broker_was_down_is_found_when_it_is_back(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_regex="b.*")
    member.join()
    book.topics["orders"] = topic("orders", ORDERS, 6)
    book.topics["bill2"] = topic("bill2", MAIL, 1)
    book.restart()
    book.settle()
    converge(member)
    assert member.owned == {ORDERS: (0, 1, 2, 3, 4, 5), BILLS: (0, 1), MAIL: (0,)}


def test_nothing_changed_while_the_broker_was_down_is_found_too(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_regex="b.*")
    member.join()
    count = len(book.records)
    book.restart()
    book.settle()
    member.heartbeat()
    assert len(book.records) == count
