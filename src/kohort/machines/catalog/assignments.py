"""How many partitions may be made at once, and on which brokers their replicas may be."""

from collections.abc import Sequence
from typing import Final

from kohort.machines.catalog.state import CatalogState
from kohort.model.errors import ErrorCode, ProtocolError

MAX_NEW_PARTITIONS: Final = 10_000
"""How many partitions one request may make."""


def check_new_partitions(count: int) -> None:
    if count > MAX_NEW_PARTITIONS:
        raise ProtocolError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def check_replicas(state: CatalogState, broker_ids: Sequence[int]) -> None:
    """Refuses a partition's manual assignment unless it is to brokers that are here, each once."""
    if not broker_ids:
        raise _invalid("The manual partition assignment includes an empty replica list.")
    live = {broker.broker_id for broker in state.live_brokers()}
    for broker_id in sorted(broker_ids):
        if broker_id not in live:
            raise _invalid(
                f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
            )
        if broker_ids.count(broker_id) > 1:
            raise _invalid(f"The manual partition assignment includes the broker {broker_id} more than once.")


def _invalid(reason: str) -> ProtocolError:
    return ProtocolError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
