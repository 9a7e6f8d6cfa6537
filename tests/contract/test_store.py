"""What store/log.py promises of a store as a whole, said once for every store."""

from uuid import UUID

import pytest

from kohort.store.log import Durability, LogId, StoreError
from tests.batches import values
from tests.contract.houses import House
from tests.contract.test_log import ORDERS, PLAIN, REFUNDS, append, bounds, fill, read_all


def delete(house: House, log_id: LogId) -> StoreError | None:
    outcomes: list[StoreError | None] = []
    house.store.delete(log_id, outcomes.append)
    house.work(lambda: bool(outcomes))
    return outcomes[0]


def test_a_store_lists_its_logs(house: House) -> None:
    for log_id in (ORDERS, REFUNDS):
        append(house, house.store.log(log_id, PLAIN), values(0, 1))
    assert set(house.store.logs()) == {ORDERS, REFUNDS}


def test_the_same_log_is_given_each_time(house: House) -> None:
    fill(house, house.store.log(ORDERS, PLAIN), 3)
    assert house.store.log(ORDERS, PLAIN).end_offset == 6


def test_orgs_have_logs_of_the_same_name_and_never_meet(house: House) -> None:
    ours, theirs = house.store.log(ORDERS, PLAIN), house.store.log(ORDERS._replace(org_id=5), PLAIN)
    mine = fill(house, ours, 3)
    assert bounds(theirs) == (0, 0, 0)
    others = fill(house, theirs, 2, size=40)
    house.reopen()
    assert read_all(house, house.store.log(ORDERS, PLAIN)) == mine
    assert read_all(house, house.store.log(ORDERS._replace(org_id=5), PLAIN)) == others


def test_everything_done_is_there_after_a_restart(house: House) -> None:
    ids = [ORDERS._replace(partition=n) for n in range(8)]
    written = {log_id: fill(house, house.store.log(log_id, PLAIN), 20 + n) for n, log_id in enumerate(ids)}
    for _ in range(3):
        house.reopen()
        assert set(house.store.logs()) == set(ids)
        for log_id in ids:
            log = house.store.log(log_id, PLAIN)
            assert read_all(house, log) == written[log_id]
            written[log_id] += fill(house, log, 3)


def test_a_log_goes_on_after_a_restart_where_it_ended(house: House) -> None:
    fill(house, house.store.log(ORDERS, PLAIN), 3)
    house.reopen()
    log = house.store.log(ORDERS, PLAIN)
    assert bounds(log) == (0, 6, 6)


def test_appends_that_wait_when_the_store_closes_are_done_first(house: House) -> None:
    outcomes: list[StoreError | None] = []
    log = house.store.log(ORDERS, PLAIN)
    for n in range(5):
        log.append([values(n, 1)], Durability.FSYNC, outcomes.append)
    house.reopen()
    assert outcomes == [None] * 5
    assert house.store.log(ORDERS, PLAIN).end_offset == 5


def test_a_deleted_log_is_gone(house: House) -> None:
    fill(house, house.store.log(ORDERS, PLAIN), 3)
    fill(house, house.store.log(REFUNDS, PLAIN), 3)
    assert delete(house, ORDERS) is None
    assert set(house.store.logs()) == {REFUNDS}
    house.reopen()
    assert set(house.store.logs()) == {REFUNDS}


def test_deleting_what_is_not_there_is_no_error(house: House) -> None:
    assert delete(house, ORDERS) is None


def test_a_topic_made_again_with_another_id_starts_empty(house: House) -> None:
    fill(house, house.store.log(ORDERS, PLAIN), 3)
    delete(house, ORDERS)
    again = ORDERS._replace(topic_id=UUID(int=99))
    log = house.store.log(again, PLAIN)
    assert bounds(log) == (0, 0, 0)
    batches = fill(house, log, 2, size=50)
    house.reopen()
    assert set(house.store.logs()) == {again}
    assert read_all(house, house.store.log(again, PLAIN)) == batches


def test_appends_that_wait_when_the_log_is_deleted_fail_before_the_delete_is_done(house: House) -> None:
    order: list[object] = []
    log = house.store.log(ORDERS, PLAIN)
    log.append([values(0, 1)], Durability.FSYNC, lambda error: order.append(type(error)))
    log.append([values(1, 1)], Durability.FSYNC, lambda error: order.append(type(error)))
    house.store.delete(ORDERS, lambda error: order.append(error))
    house.work(lambda: len(order) == 3)
    assert order == [StoreError, StoreError, None]


def test_an_append_to_a_deleted_log_fails(house: House) -> None:
    log = house.store.log(ORDERS, PLAIN)
    delete(house, ORDERS)
    assert isinstance(append(house, log, values(0, 1)), StoreError)


def test_each_claim_has_a_higher_epoch_than_the_last(house: House) -> None:
    house.store.close()
    first = house.store.open()
    house.store.close()
    assert house.store.open() > first


def test_a_claim_may_name_its_epoch(house: House) -> None:
    house.store.close()
    assert house.store.open(epoch=1_000) == 1_000
    house.store.close()
    assert house.store.open() == 1_001


@pytest.mark.parametrize("stale", [4, 5])
def test_a_claim_that_is_not_newer_than_the_last_is_refused(house: House, stale: int) -> None:
    house.store.close()
    house.store.open(epoch=5)
    house.store.close()
    with pytest.raises(StoreError, match="5"):
        house.store.open(epoch=stale)
    assert house.store.open() == 6
