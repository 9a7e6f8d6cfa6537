"""Fetch sessions: what a client that is only told news comes to know, and who keeps its session."""

from itertools import count
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from kohort.broker.fetch_sessions import EVICTION_MS, GREATEST_EPOCH, FetchSessions, Interest, WantedPartition
from kohort.model.commands.data import (
    EpochEndOffset,
    Fetch,
    Fetched,
    ForgottenTopic,
    PartitionFetch,
    PartitionFetched,
    TopicFetch,
)
from kohort.model.errors import ErrorCode
from kohort.model.ids import DEFAULT_ORG, NO_TOPIC_ID, OrgId

NOW_MS = 1_000_000


def sessions(slots: int = 10) -> FetchSessions:
    numbers = count(1)
    return FetchSessions(slots, lambda: next(numbers))


def ask(*partitions: int, session: tuple[int, int] = (0, 0), forget: tuple[int, ...] = ()) -> Fetch:
    """Partitions of the one topic "t", each from offset 0."""
    topics = (TopicFetch("t", NO_TOPIC_ID, tuple(PartitionFetch(index, 0, 100) for index in partitions)),)
    forgotten = (ForgottenTopic("t", NO_TOPIC_ID, forget),) if forget else ()
    return Fetch(
        topics if partitions else (), 0, 1, 1000, session_id=session[0], session_epoch=session[1], forgotten=forgotten
    )


def interest(room: FetchSessions, fetch: Fetch, now_ms: int = NOW_MS, org_id: OrgId = DEFAULT_ORG) -> Interest:
    found = room.interest(org_id, fetch, now_ms)
    assert isinstance(found, Interest)
    return found


def refused(room: FetchSessions, fetch: Fetch, org_id: OrgId = DEFAULT_ORG) -> int:
    found = room.interest(org_id, fetch, NOW_MS)
    assert isinstance(found, Fetched)
    assert (found.session_id, found.responses) == (0, ())
    return found.error_code


class State(NamedTuple):
    """What a broker would say of a partition."""

    high_watermark: int = 0
    log_start_offset: int = 0
    records: tuple[bytes, ...] = ()
    error_code: int = 0

    def fetched(self, index: int) -> PartitionFetched:
        if self.error_code:
            return PartitionFetched(index, self.error_code)
        return PartitionFetched(index, 0, self.high_watermark, self.high_watermark, self.log_start_offset, self.records)


def answer(found: Interest, states: dict[int, State] | None = None) -> Fetched:
    known = states or {}
    return found.answer([(each, known.get(each.partition, State()).fetched(each.partition)) for each in found.wanted])


def told(fetched: Fetched) -> list[int]:
    return [each.partition_index for topic in fetched.responses for each in topic.partitions]


def started(room: FetchSessions, *partitions: int, now_ms: int = NOW_MS) -> int:
    return answer(interest(room, ask(*partitions), now_ms)).session_id


# What is told


def test_without_a_session_everything_is_told_each_time() -> None:
    room = sessions()
    fetched = answer(interest(room, ask(0, 1, session=(0, -1))))
    assert (fetched.session_id, told(fetched), len(room)) == (0, [0, 1], 0)


def test_a_new_session_is_told_everything_and_then_only_news() -> None:
    room = sessions()
    session_id = started(room, 0, 1, 2)
    assert told(answer(interest(room, ask(session=(session_id, 1))))) == []
    states = {1: State(high_watermark=5), 2: State(log_start_offset=3)}
    assert told(answer(interest(room, ask(session=(session_id, 2))), states)) == [1, 2]
    assert told(answer(interest(room, ask(session=(session_id, 3))), states)) == []


def test_records_and_a_parting_of_the_ways_are_always_news() -> None:
    room = sessions()
    session_id = started(room, 0)
    states = {0: State(records=(b"x",))}
    for epoch in (1, 2):
        assert told(answer(interest(room, ask(session=(session_id, epoch))), states)) == [0]
    found = interest(room, ask(session=(session_id, 3)))
    diverged = State().fetched(0)._replace(diverging_epoch=EpochEndOffset(0, 7))
    assert told(found.answer([(found.wanted[0], diverged)])) == [0]


def test_an_error_is_told_again_and_again_and_its_end_is_news() -> None:
    room = sessions()
    session_id = started(room, 0)
    failing = {0: State(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)}
    assert told(answer(interest(room, ask(session=(session_id, 1))), failing)) == [0]
    assert told(answer(interest(room, ask(session=(session_id, 2))), failing)) == [0]
    assert told(answer(interest(room, ask(session=(session_id, 3))))) == [0]
    assert told(answer(interest(room, ask(session=(session_id, 4))))) == []


def test_who_got_records_comes_last_the_next_time() -> None:
    room = sessions()
    session_id = started(room, 0, 1, 2)
    answer(interest(room, ask(session=(session_id, 1))), {0: State(records=(b"x",))})
    assert [each.partition for each in interest(room, ask(session=(session_id, 2))).wanted] == [1, 2, 0]


def test_partitions_come_and_go_and_change_their_offsets() -> None:
    room = sessions()
    session_id = started(room, 0, 1)
    moved = Fetch(
        (TopicFetch("t", NO_TOPIC_ID, (PartitionFetch(0, 42, 100), PartitionFetch(5, 7, 100))),),
        0,
        1,
        1000,
        session_id=session_id,
        session_epoch=1,
        forgotten=(ForgottenTopic("t", NO_TOPIC_ID, (1, 9)),),
    )
    assert [(each.partition, each.fetch_offset) for each in interest(room, moved).wanted] == [(0, 42), (5, 7)]


def test_neighbours_of_one_topic_are_told_under_one_name() -> None:
    wanted = [
        WantedPartition(topic, NO_TOPIC_ID, PartitionFetch(index, 0, 1))
        for topic, index in (("a", 0), ("a", 1), ("b", 0))
    ]
    answered = Interest(wanted).answer([(each, State().fetched(each.partition)) for each in wanted])
    assert [(topic.topic, len(topic.partitions)) for topic in answered.responses] == [("a", 2), ("b", 1)]


# Whose turn it is


def test_a_session_that_is_not_there_or_not_as_far_or_of_another_kind_is_refused() -> None:
    room = sessions()
    session_id = started(room, 0)
    assert refused(room, ask(session=(session_id + 1, 1))) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refused(room, ask(session=(0, 5))) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refused(room, ask(session=(session_id, 2))) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    by_id = ask(session=(session_id, 1))._replace(by_topic_id=True)
    assert refused(room, by_id) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert told(answer(interest(room, ask(session=(session_id, 1))))) == []


def test_a_session_of_another_org_is_not_there() -> None:
    room = sessions()
    session_id = started(room, 0)
    other = OrgId(5)
    assert refused(room, ask(session=(session_id, 1)), other) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    interest(room, ask(0, session=(session_id, -1)), org_id=other)
    assert told(answer(interest(room, ask(session=(session_id, 1))))) == []


def test_a_client_that_asked_again_gets_no_answer_of_the_time_before() -> None:
    room = sessions()
    session_id = started(room, 0)
    waiting = interest(room, ask(session=(session_id, 1)))
    interest(room, ask(session=(session_id, 2)))
    assert answer(waiting).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_session_ends_when_the_client_says_so_or_begins_another() -> None:
    room = sessions()
    session_id = started(room, 0)
    again = answer(interest(room, ask(0, session=(session_id, 0)))).session_id
    assert again != session_id
    assert len(room) == 1
    assert answer(interest(room, ask(0, session=(again, -1)))).session_id == 0
    assert len(room) == 0


def test_a_session_without_partitions_ends() -> None:
    room = sessions()
    session_id = started(room, 0)
    assert answer(interest(room, ask(session=(session_id, 1), forget=(0,)))).session_id == 0
    assert len(room) == 0


def test_epochs_go_from_the_greatest_back_to_one() -> None:
    room = sessions()
    session_id = started(room, 0)
    room._sessions[session_id].epoch = GREATEST_EPOCH  # As after two thousand million requests.
    answer(interest(room, ask(session=(session_id, GREATEST_EPOCH))))
    assert told(answer(interest(room, ask(session=(session_id, 1))))) == []


# Who keeps its place


def test_in_a_full_house_a_newcomer_is_served_without_a_session() -> None:
    room = sessions(slots=1)
    session_id = started(room, 0)
    assert started(room, 0, 1) == 0
    assert told(answer(interest(room, ask(session=(session_id, 1))))) == []


def test_a_house_without_places_serves_everybody_without_a_session() -> None:
    assert started(sessions(slots=0), 0) == 0


def test_a_session_that_was_silent_too_long_makes_room() -> None:
    room = sessions(slots=2)
    silent, busy = started(room, 0, 1), started(room, 0)
    late = NOW_MS + EVICTION_MS + 1
    interest(room, ask(session=(busy, 1)), late)
    assert started(room, 0, now_ms=late) != 0
    assert refused(room, ask(session=(silent, 1))) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_smaller_session_that_had_its_time_makes_room_for_a_larger_one_only() -> None:
    room = sessions(slots=2)
    small, large = started(room, 0), started(room, 0, 1, 2)
    late = NOW_MS + EVICTION_MS + 1
    for session_id in (small, large):
        interest(room, ask(session=(session_id, 1)), late)
    assert started(room, 0, now_ms=late) == 0
    assert started(room, 0, 1, now_ms=late) != 0
    assert refused(room, ask(session=(small, 2))) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(room) == 2


# What the client knows

States = st.builds(
    State,
    high_watermark=st.integers(0, 2),
    log_start_offset=st.integers(0, 1),
    records=st.sampled_from([(), (), (b"x",)]),
    error_code=st.sampled_from([0, 0, 0, 1]),
)
Step = st.tuples(
    st.dictionaries(st.integers(0, 3), States),
    st.sets(st.integers(0, 3), max_size=2),
    st.sets(st.integers(0, 3), max_size=2),
)


@given(steps=st.lists(Step, max_size=20))
def test_who_is_told_only_news_knows_the_same_as_who_is_told_everything(
    steps: list[tuple[dict[int, State], set[int], set[int]]],
) -> None:
    room = sessions()
    states = {index: State() for index in range(4)}
    wanted = {0, 1}
    found = interest(room, ask(0, 1))
    knows = {each.partition_index: each for topic in answer(found, states).responses for each in topic.partitions}
    session_id = 1
    epoch = 1
    for changes, added, forgotten in steps:
        states |= changes
        asks = ask(*sorted(added), session=(session_id, epoch), forget=tuple(sorted(forgotten)))
        wanted = (wanted | added) - forgotten
        found = interest(room, asks)
        fetched = answer(found, states)
        assert {each.partition for each in found.wanted} == wanted
        if not wanted:
            assert fetched.session_id == 0
            return
        epoch += 1
        # Records are an event: who is told nothing got none.
        knows = {index: each._replace(records=()) for index, each in knows.items()}
        for each in (each for topic in fetched.responses for each in topic.partitions):
            knows[each.partition_index] = each
        for index in wanted:
            assert knows[index] == states[index].fetched(index)
