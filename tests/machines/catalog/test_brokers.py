import re

import pytest

from kohort.machines.catalog.machine import CatalogMachine
from kohort.model.commands.catalog import AllocateProducerIds, BrokerRegistered, DescribeCluster, Metadata
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.settings import BrokerSettings
from tests.machines.catalog.conversation import catalog, register
from tests.playbook import Playbook


def test_the_first_broker_makes_the_cluster_and_its_id_of_22_characters() -> None:
    book = Playbook(lambda: CatalogMachine(BrokerSettings()))
    registered = book.say(register())
    assert isinstance(registered, BrokerRegistered)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", registered.cluster_id)


def test_the_cluster_id_outlives_restarts_and_later_brokers() -> None:
    book = catalog()
    cluster_id = book.say(DescribeCluster()).cluster_id
    book.restart()
    assert book.say(register(store_epoch=2)).cluster_id == cluster_id


def test_a_broker_epoch_is_never_given_twice() -> None:
    book = catalog()
    epochs = [
        book.say(register(broker_id, store_epoch)).broker_epoch for broker_id, store_epoch in ((1, 2), (2, 3), (1, 4))
    ]
    assert epochs == sorted(set(epochs))


@pytest.mark.parametrize("store_epoch", [1, 2])
def test_the_same_broker_id_with_an_epoch_that_is_not_above_the_last_is_refused(store_epoch: int) -> None:
    book = catalog()
    book.say(register(store_epoch=2))
    other = register(broker_id=1, store_epoch=store_epoch)
    other = type(other)(1, "127.0.0.1", 9093, None, register(9, 9).incarnation_id, store_epoch)
    with pytest.raises(ProtocolError, match="claimed the store with epoch 2") as refusal:
        book.say(other)
    assert refusal.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_registering_again_by_the_same_incarnation_changes_nothing() -> None:
    book = catalog()
    before = list(book.records)
    book.say(register())
    assert book.records == before


def test_only_the_broker_that_holds_the_store_is_shown_to_clients() -> None:
    book = catalog()
    book.say(register(broker_id=2, store_epoch=2))
    answer = book.say(Metadata(None))
    assert ([broker.broker_id for broker in answer.brokers], answer.controller_id) == ([2], 2)
    assert [broker.broker_id for broker in book.say(DescribeCluster()).brokers] == [2]
    everyone = book.say(DescribeCluster(include_fenced=True)).brokers
    assert [(broker.broker_id, broker.is_fenced) for broker in everyone] == [(1, True), (2, False)]


def test_producer_ids_are_given_in_blocks_that_never_overlap() -> None:
    book = catalog()
    blocks = []
    for _ in range(3):
        block = book.say(AllocateProducerIds(1, count=10))
        blocks += range(block.first, block.first + block.count)
        book.restart()
    assert blocks == list(range(30))


def test_a_broker_that_is_not_registered_gets_no_producer_ids() -> None:
    with pytest.raises(ProtocolError) as refusal:
        catalog().say(AllocateProducerIds(7))
    assert refusal.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED
