"""Answers that come again: made once, never mistaken for another, and never kept without end."""

from types import SimpleNamespace

from kohort.gateway import recurring
from kohort.gateway.recurring import Recurring
from kohort.model.commands import groups
from tests.gateway.client import Gateway, frame
from tests.gateway.scripted_carrier import ScriptedCarrier

OFFSET_FETCH, OFFSET_COMMIT = 9, 8


def test_the_same_answer_is_made_into_something_once_and_an_equal_one_again() -> None:
    made: list[list[int]] = []
    answers = Recurring(lambda answer: made.append(answer) or len(made), lambda made: True)  # type: ignore[func-returns-value]
    one, equal = [1, 2], [1, 2]
    assert [answers.made_of(each) for each in (one, one, equal, one)] == [1, 1, 2, 1]


def test_what_is_large_is_made_each_time() -> None:
    answers = Recurring(lambda answer: [answer], lambda made: False)
    one = (1, 2)
    assert answers.made_of(one) == answers.made_of(one)
    assert answers.made_of(one) is not answers.made_of(one)


def test_answers_are_not_kept_without_end() -> None:
    answers = Recurring(lambda answer: answer, lambda made: True)
    for number in range(3 * recurring._MOST_ANSWERS):
        answers.made_of([number])
    assert len(answers._known) <= recurring._MOST_ANSWERS


def test_clients_that_ask_the_same_get_the_same_answer_each_under_its_own_number() -> None:
    answer = groups.OffsetFetchAnswer(
        "g", (groups.TopicOffsetsFetched("orders", (groups.PartitionOffsetFetched(0, 5),)),)
    )
    client = Gateway(ScriptedCarrier(script=lambda command: answer)).connect()
    asked = SimpleNamespace(
        group_id="g", topics=(SimpleNamespace(name="orders", partition_indexes=(0,)),), require_stable=False
    )
    for number in (7, -1, 9):
        client.send(frame(OFFSET_FETCH, 7, number, asked))
    assert client.correlation_ids == [7, 0xFFFFFFFF, 9]
    bodies = {bytes(each)[8:] for each in client.frames}
    assert len(bodies) == 1
    assert client.answer(OFFSET_FETCH, 7).topics[0].partitions[0].committed_offset == 5


def test_a_changed_answer_to_the_same_request_is_told() -> None:
    offsets = iter(range(5, 8))

    def script(command: object) -> object:
        fetched = groups.PartitionOffsetFetched(0, next(offsets))
        return groups.OffsetFetchAnswer("g", (groups.TopicOffsetsFetched("orders", (fetched,)),))

    client = Gateway(ScriptedCarrier(script=script)).connect()
    group = SimpleNamespace(group_id="g", topics=(SimpleNamespace(name="orders", partition_indexes=(0,)),))
    for number in range(3):
        client.send(frame(OFFSET_FETCH, 8, number, SimpleNamespace(groups=(group,), require_stable=False)))
        told = client.answer(OFFSET_FETCH, 8).groups[0].topics[0].partitions[0]
        assert told.committed_offset == 5 + number
