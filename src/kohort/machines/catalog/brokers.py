"""Who may be a broker of this cluster, and which producer ids it may give out."""

from kohort.machines.catalog.fresh_ids import as_text, fresh_ids
from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import CatalogState
from kohort.machines.contract import Moment
from kohort.model.commands.catalog import AllocateProducerIds, BrokerRegistered, ProducerIdsAllocated, RegisterBroker
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import OrgId
from kohort.model.records.catalog import BrokerRecord, CatalogRecord, ClusterRecord, ProducerIdsRecord


def handle_register_broker(state: CatalogState, org_id: OrgId, command: RegisterBroker, moment: Moment) -> Outcome:
    """The first broker makes the cluster. Later ones must hold the store, and so have an epoch above all before."""
    known = state.brokers.get(command.broker_id)
    if known is not None and known.incarnation_id == command.incarnation_id and state.cluster_id is not None:
        return Outcome((), BrokerRegistered(known.broker_epoch, state.cluster_id))
    if command.store_epoch <= state.store_epoch():
        raise ProtocolError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"Another broker has claimed the store with epoch {state.store_epoch()};"
            f" broker {command.broker_id} has epoch {command.store_epoch} and must claim it again.",
        )
    records: list[CatalogRecord] = []
    cluster_id = state.cluster_id
    if cluster_id is None:
        cluster_id = as_text(next(fresh_ids(moment)))
        records.append(ClusterRecord(cluster_id))
    broker_epoch = 1 + max((broker.broker_epoch for broker in state.brokers.values()), default=0)
    records.append(
        BrokerRecord(
            broker_id=command.broker_id,
            broker_epoch=broker_epoch,
            incarnation_id=command.incarnation_id,
            store_epoch=command.store_epoch,
            host=command.host,
            port=command.port,
            rack=command.rack,
        )
    )
    return Outcome(tuple(records), BrokerRegistered(broker_epoch, cluster_id))


def handle_allocate_producer_ids(
    state: CatalogState, org_id: OrgId, command: AllocateProducerIds, moment: Moment
) -> Outcome:
    """The next block, for a broker that is registered."""
    if command.broker_id not in state.brokers:
        raise ProtocolError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {command.broker_id} is not registered.")
    first = state.next_producer_id
    return Outcome((ProducerIdsRecord(first + command.count),), ProducerIdsAllocated(first, command.count))
