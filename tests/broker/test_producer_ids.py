"""Producer ids: given once, whatever happens to the broker or to the catalog."""

from typing import Any

import pytest

from kohort.broker.producer_ids import ProducerIds
from kohort.carrier.contract import AnswerTo
from kohort.model.commands.catalog import AllocateProducerIds, ProducerIdsAllocated
from kohort.model.commands.data import InitProducerId, ProducerIdGiven
from kohort.model.errors import ErrorCode, ProtocolError, Refused
from kohort.model.ids import DEFAULT_ORG
from tests.broker.broker_in_memory import BrokerInMemory

NEW = InitProducerId(None)


class Catalog:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[AllocateProducerIds, AnswerTo]] = []

    def ask(self, command: AllocateProducerIds, answer_to: AnswerTo) -> None:
        self.asked.append((command, answer_to))

    def answer(self, answer: object) -> None:
        _, answer_to = self.asked.pop(0)
        answer_to(answer)


def test_every_producer_gets_an_id_of_its_own_also_after_a_restart() -> None:
    broker = BrokerInMemory()
    ids = [broker.ask(NEW).producer_id for _ in range(3)]
    broker.restart()
    ids += [broker.ask(NEW).producer_id for _ in range(3)]
    assert len(set(ids)) == 6


def test_a_producer_that_has_an_id_gets_a_new_one_as_in_kafka() -> None:
    broker = BrokerInMemory()
    first = broker.ask(NEW)
    again = broker.ask(InitProducerId(None, first.producer_id, first.producer_epoch))
    assert again.producer_id != first.producer_id
    assert (first.producer_epoch, again.producer_epoch) == (0, 0)


def test_all_who_wait_for_a_block_are_served_from_it_in_order_and_one_block_is_asked_for() -> None:
    catalog = Catalog()
    producer_ids = ProducerIds(1, catalog.ask)
    answers: list[tuple[int, Any]] = []
    for number in range(3):
        pending = producer_ids.handle(DEFAULT_ORG, NEW, lambda answer, number=number: answers.append((number, answer)))
        assert pending is not None
    assert len(catalog.asked) == 1
    catalog.answer(ProducerIdsAllocated(5000, 2))
    assert answers == [(0, ProducerIdGiven(0, 5000, 0)), (1, ProducerIdGiven(0, 5001, 0))]
    catalog.answer(ProducerIdsAllocated(6000, 1000))
    assert answers[2] == (2, ProducerIdGiven(0, 6000, 0))
    assert producer_ids.handle(DEFAULT_ORG, NEW, lambda answer: None) is None


def test_a_catalog_that_cannot_answer_now_is_asked_again_by_the_next_request() -> None:
    catalog = Catalog()
    producer_ids = ProducerIds(1, catalog.ask)
    answers: list[Any] = []
    for _ in range(2):
        producer_ids.handle(DEFAULT_ORG, NEW, answers.append)
    catalog.answer(Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    assert [answer.error_code for answer in answers] == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
    producer_ids.handle(DEFAULT_ORG, NEW, answers.append)
    catalog.answer(ProducerIdsAllocated(0, 1000))
    assert answers[2] == ProducerIdGiven(0, 0, 0)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (InitProducerId(""), ErrorCode.INVALID_REQUEST),
        (InitProducerId(None, producer_id=5), ErrorCode.INVALID_REQUEST),
        (InitProducerId(None, producer_epoch=5), ErrorCode.INVALID_REQUEST),
        (InitProducerId("payments"), ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_half_a_producer_and_a_transactional_one_are_refused(command: InitProducerId, code: ErrorCode) -> None:
    with pytest.raises(ProtocolError) as refusal:
        ProducerIds(1, Catalog().ask).handle(DEFAULT_ORG, command, lambda answer: None)
    assert refusal.value.code is code
