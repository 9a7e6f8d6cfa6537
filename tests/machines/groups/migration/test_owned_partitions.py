"""What a classic member owns stays its own until it gave it up, whatever its group becomes meanwhile."""

from kohort.model.errors import ErrorCode
from kohort.model.records.groups import MemberState
from tests.machines.groups.consumer.conversation import ORDERS, Consumer, topic
from tests.machines.groups.migration.conversation import (
    REBALANCE_MS,
    ClassicConsumer,
    MixedBook,
    all_owned,
    converge_mixed,
    mixed_book,
)


def pair_that_gives_up(book: MixedBook) -> tuple[ClassicConsumer, ClassicConsumer]:
    """A member that owned all, and whose leader has just taken two partitions from it for a newcomer, cooperatively."""
    ana = ClassicConsumer(book, "ana", is_cooperative=True)
    ben = ClassicConsumer(book, "ben", is_cooperative=True)
    ana.join()
    book.wait(book.settings.group_initial_rebalance_delay_ms)
    ana.learn()
    ana.sync({ana.member_id: (0, 1, 2, 3)})
    ana.owned = ana.assigned()
    ben.join()
    ana.join()
    assert (ana.learn(), ben.learn()) == (ErrorCode.NONE, ErrorCode.NONE)
    ana.sync({ana.member_id: (0, 1), ben.member_id: ()})
    ben.sync()
    assert ana.assigned() == (0, 1)
    return ana, ben


def test_a_newcomer_of_the_other_protocol_waits_for_what_a_cooperative_member_is_giving_up() -> None:
    book = mixed_book()
    ana, _ = pair_that_gives_up(book)
    new = Consumer(book, "new")
    new.join()
    position = book.member(ana.member_id).position
    assert position.state is MemberState.UNREVOKED_PARTITIONS
    assert list(position.pending[ORDERS]) == [2, 3]
    assert new.partitions == 0


def test_it_is_given_them_when_that_member_has_said_so() -> None:
    book = mixed_book()
    ana, ben = pair_that_gives_up(book)
    new = Consumer(book, "new")
    new.join()
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.owned = ana.assigned()
    converge_mixed(ana, ben, new)
    assert all_owned(ana, ben, new) == [0, 1, 2, 3]


def test_it_is_given_them_when_that_member_never_says_so() -> None:
    book = mixed_book()
    ana, ben = pair_that_gives_up(book)
    new = Consumer(book, "new")
    new.join()
    for _ in range(REBALANCE_MS // 1000 + 1):
        ana.heartbeat()
        ben.follow()
        new.heartbeat()
        book.wait(1000)
    assert ana.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID
    converge_mixed(ben, new)
    assert all_owned(ben, new) == [0, 1, 2, 3]


def test_a_restart_forgets_nothing_of_that() -> None:
    book = mixed_book()
    ana, _ = pair_that_gives_up(book)
    book.restart()
    book.set_topics(topic("orders", ORDERS, 4))
    new = Consumer(book, "new")
    new.join()
    assert list(book.member(ana.member_id).position.pending[ORDERS]) == [2, 3]


def test_a_removed_member_that_comes_back_with_partitions_is_unknown() -> None:
    book = mixed_book()
    ana = ClassicConsumer(book, "ana", is_cooperative=True)
    new = Consumer(book, "new")
    new.join()
    ana.rejoin()
    converge_mixed(ana, new)
    assert ana.owned
    assert ana.leave() is ErrorCode.NONE
    assert ana.ask_to_join().code is ErrorCode.UNKNOWN_MEMBER_ID
    ana.owned = ()
    ana.rejoin()
    converge_mixed(ana, new)
    assert all_owned(ana, new) == [0, 1, 2, 3]


def test_what_a_classic_group_had_not_assigned_yet_is_assigned_whoever_comes() -> None:
    book = mixed_book()
    ana = ClassicConsumer(book, "ana")
    ben = ClassicConsumer(book, "ben", instance_id="one")
    ana.join()
    ben.join()
    new = Consumer(book, "new", instance_id="one")
    new.join()
    assert ana.joined is not None
    assert ana.joined.code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.rejoin()
    converge_mixed(ana, new)
    assert all_owned(ana, new) == [0, 1, 2, 3]
