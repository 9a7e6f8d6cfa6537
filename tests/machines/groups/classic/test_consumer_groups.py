"""Members of the classic protocol who come to a group of the other protocol."""

from uuid import UUID

from kohort.model.commands.groups import ConsumerGroupHeartbeat
from kohort.model.errors import ErrorCode
from tests.machines.groups.classic.conversation import GROUP, ClassicBook, Member, classic_book

CONSUMER = str(UUID(int=7))


def consumer_heartbeat(book: ClassicBook, epoch: int) -> None:
    joins = {"rebalance_timeout_ms": 1000, "subscribed_topic_names": ("orders",), "topic_partitions": ()}
    book.say(ConsumerGroupHeartbeat(GROUP, CONSUMER, epoch, **(joins if epoch == 0 else {})))  # type: ignore[arg-type]


def test_a_group_of_consumers_that_became_empty_goes_on_as_a_classic_one() -> None:
    book = classic_book()
    consumer_heartbeat(book, 0)
    identity, epoch = book.state.identities[GROUP], book.state.groups[GROUP].epoch
    consumer_heartbeat(book, -1)
    book.commit()
    ana = Member(book)
    book.stable_group(ana)
    assert ana.generation_id > epoch
    assert book.state.identities[GROUP] == identity
    assert book.state.offsets.of_group(GROUP)
    book.restart()
    assert ana.heartbeat().code is ErrorCode.NONE


def test_a_request_that_is_refused_leaves_an_empty_group_of_consumers_as_it_is() -> None:
    book = classic_book()
    consumer_heartbeat(book, 0)
    consumer_heartbeat(book, -1)
    assert Member(book).ask_to_join(protocols=()).code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert Member(book).ask_to_join(member_id="nobody").code is ErrorCode.UNKNOWN_MEMBER_ID
    assert book.state.groups[GROUP].listed().group_type == "consumer"


def test_a_consumer_is_no_classic_member_of_its_group() -> None:
    book = classic_book()
    consumer_heartbeat(book, 0)
    ana = Member(book)
    assert ana.heartbeat(member_id=CONSUMER).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert ana.sync(member_id=CONSUMER).code is ErrorCode.UNKNOWN_MEMBER_ID
