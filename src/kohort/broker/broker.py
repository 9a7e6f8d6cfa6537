"""The broker: takes a command of an org to what decides it, and keeps the data path in step with the catalog.

Decides only who is asked: the catalog's machine, or the part of the data path for the command's type. It opens, keeps
and deletes partitions as the catalog's records say, each before the answer that tells of it goes out. It does not open
or close the store, and knows no sockets.

Next hop: shard.py for the catalog; coordinators.py for groups; produce.py, fetch.py, offsets.py, describe.py and
producer_ids.py for data.
"""

import logging
import os
import time
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from kohort.broker.coordinators import COMMANDS_OF_MEMBERS, COMMANDS_TO_A_GROUP, Coordinators
from kohort.broker.describe import Descriptions
from kohort.broker.fetch import Fetches
from kohort.broker.fetch_sessions import FetchSessions
from kohort.broker.group_history import GroupHistory
from kohort.broker.offsets import Offsets
from kohort.broker.partitions import Partitions
from kohort.broker.produce import Produces
from kohort.broker.producer_ids import ProducerIds
from kohort.broker.shard import Shard
from kohort.carrier.contract import AnswerTo, Pending
from kohort.machines.catalog.machine import COMMANDS as CATALOG_COMMANDS
from kohort.machines.catalog.machine import CatalogMachine
from kohort.machines.catalog.state import EVERY_BROKER
from kohort.machines.groups.machine import GroupsMachine
from kohort.model.commands.catalog import BrokerRegistered, RegisterBroker
from kohort.model.commands.data import (
    DeleteRecords,
    DescribeLogDirs,
    DescribeProducers,
    Fetch,
    InitProducerId,
    ListOffsets,
    OffsetForLeaderEpoch,
    Produce,
)
from kohort.model.commands.groups import ConnectionLost, ListGroups
from kohort.model.errors import ProtocolError, Refused
from kohort.model.ids import DEFAULT_ORG, OrgId
from kohort.model.records.catalog import (
    BrokerConfigsRecord,
    CatalogRecord,
    GroupConfigsRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kohort.model.records.groups import GroupsRecord
from kohort.model.settings import BrokerSettings, overlaid
from kohort.model.topic_settings import topic_config
from kohort.model.topics import Topic, TopicConfig
from kohort.store.log import Durability, Log, LogConfig, LogId, Store
from kohort.wire import catalog_records, consumer_protocol, group_records

_log: Final = logging.getLogger(__name__)

CATALOG_LOG: Final = LogId(DEFAULT_ORG, "__cluster_metadata", UUID(int=1), 0)
MAINTENANCE_INTERVAL_S: Final = 1.0
PRODUCER_EXPIRATION_INTERVAL_MS: Final = 60_000

_ENTROPY_BYTES: Final = 32
_ENTROPY_POOL: Final = 256 * _ENTROPY_BYTES

Handler = Callable[[OrgId, Any, AnswerTo], Pending | None]


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def random_bytes() -> Iterator[bytes]:
    """32 at a time. Drawn from the system for many at once: a call of it for each command would be a tenth of a
    commit."""
    while True:
        pool = os.urandom(_ENTROPY_POOL)
        for begin in range(0, _ENTROPY_POOL, _ENTROPY_BYTES):
            yield pool[begin : begin + _ENTROPY_BYTES]


class Broker:
    def __init__(
        self,
        *,
        store: Store,
        store_epoch: int,
        settings: BrokerSettings,
        broker_id: int,
        advertised_host: str,
        advertised_port: int,
        loop: AbstractEventLoop,
        now_ms: Callable[[], int] = wall_clock_ms,
        entropy: Callable[[], bytes] | None = None,
    ) -> None:
        """The store is open, at this epoch, and stays the caller's to close."""
        self._store: Final = store
        self._store_epoch: Final = store_epoch
        self._static_settings: Final = settings
        self._broker_id: Final = broker_id
        self._settings = settings
        self._advertised: Final = (advertised_host, advertised_port)
        self._loop: Final = loop
        self._now_ms: Final = now_ms
        self._entropy: Final = entropy or random_bytes().__next__
        self._broker_configs: dict[str, BrokerConfigsRecord] = {}
        self._partitions: Final = Partitions(store)
        self._durability: Final = Durability(settings.durability)
        self._catalog: Final = Shard(
            lambda: CatalogMachine(settings),
            store.log(CATALOG_LOG, LogConfig(retention_ms=-1)),
            catalog_records,
            durability=self._durability,
            now_ms=now_ms,
            entropy=self._entropy,
            call_at=self._call_at,
            on_record=self._on_catalog_record,
        )
        self._group_history: Final = GroupHistory(self._partitions, self._ask_catalog_for, now_ms)
        self._coordinators: Final = Coordinators(
            self._partitions, settings, self._shard_of_groups, self._ask_catalog_for, loop, now_ms
        )
        self._handlers: Final = self._handlers_by_command()
        self._maintenance: TimerHandle | None = None
        self._producers_expired_ms = now_ms()
        self.cluster_id = ""
        """Known when the broker has started."""

    def _handlers_by_command(self) -> dict[type, Handler]:
        settings, partitions, coordinators = self._static_settings, self._partitions, self._coordinators
        sessions = FetchSessions(settings.max_incremental_fetch_session_cache_slots, self._random_number)
        fetches = Fetches(
            partitions, sessions, max_bytes=settings.fetch_max_bytes, loop=self._loop, now_ms=self._now_ms
        )
        produces = Produces(partitions, durability=self._durability, now_ms=self._now_ms)
        offsets = Offsets(partitions)
        descriptions = Descriptions(partitions, Path(settings.log_dirs[0]))
        producer_ids = ProducerIds(self._broker_id, self._ask_catalog)
        return {
            **dict.fromkeys(CATALOG_COMMANDS, self._catalog.handle),
            Produce: produces.handle,
            Fetch: fetches.handle,
            ListOffsets: offsets.handle_list_offsets,
            OffsetForLeaderEpoch: offsets.handle_offset_for_leader_epoch,
            DeleteRecords: offsets.handle_delete_records,
            DescribeProducers: descriptions.handle_describe_producers,
            DescribeLogDirs: descriptions.handle_describe_log_dirs,
            InitProducerId: producer_ids.handle,
            **dict.fromkeys(COMMANDS_TO_A_GROUP, coordinators.handle),
            **dict.fromkeys(COMMANDS_OF_MEMBERS, coordinators.handle_of_member),
            ListGroups: coordinators.handle_list_groups,
            ConnectionLost: coordinators.handle_connection_lost,
        }

    def _shard_of_groups(self, log: Log, on_loaded: Callable[[], None]) -> Shard[GroupsRecord]:
        settings = self._static_settings
        return Shard(
            lambda: GroupsMachine(settings, consumer_protocol),
            log,
            group_records,
            durability=self._durability,
            now_ms=self._now_ms,
            entropy=self._entropy,
            call_at=self._call_at,
            call_soon=self._loop.call_soon,
            on_event=partial(self._group_history.tell, OrgId(log.id.org_id)),
            on_loaded=on_loaded,
        )

    def handle(self, org_id: OrgId, command: object, answer_to: AnswerTo) -> Pending | None:
        """Takes a command, and gives its answer to answer_to exactly once; None when it has been given."""
        try:
            return self._handlers[type(command)](org_id, command, answer_to)
        except ProtocolError as refusal:
            answer_to(Refused(refusal.code, refusal.message))
            return None

    # Starting and stopping

    async def start(self) -> None:
        """Loads the catalog, opens its partitions and registers. ProtocolError if this broker may not be one."""
        await self._catalog.load()
        host, port = self._advertised
        rack = self._static_settings.broker_rack
        incarnation_id = UUID(bytes=self._entropy()[:16])
        answered = self._loop.create_future()
        self._ask_catalog(
            RegisterBroker(self._broker_id, host, port, rack, incarnation_id, self._store_epoch),
            answered.set_result,
        )
        answer = await answered
        if isinstance(answer, Refused):
            raise ProtocolError(answer.error_code, answer.error_message)
        assert isinstance(answer, BrokerRegistered)
        self.cluster_id = answer.cluster_id
        self._partitions.delete_orphans(keep={CATALOG_LOG})
        self._coordinators.start()
        self._maintain()

    def stop_coordinating(self) -> None:
        """Answers whoever waits for the members of a group, so that connections can be closed."""
        self._coordinators.stop()

    async def stop(self) -> None:
        """Decides nothing from now on. What was acknowledged is in the store, which is the caller's to close."""
        if self._maintenance is not None:
            self._maintenance.cancel()
            self._maintenance = None
        self._coordinators.stop()
        self._catalog.close()

    def _ask_catalog(self, command: object, answer_to: AnswerTo) -> None:
        self._ask_catalog_for(DEFAULT_ORG, command, answer_to)

    def _ask_catalog_for(self, org_id: OrgId, command: object, answer_to: AnswerTo) -> None:
        self._catalog.handle(org_id, command, answer_to)

    # Following the catalog

    def _on_catalog_record(self, record: CatalogRecord) -> None:
        match record:
            case TopicRecord(topic):
                self._partitions.put(topic, self._config_of(topic))
                self._coordinators.put_topic(topic)
            case RemoveTopicRecord(org_id, name, topic_id):
                self._coordinators.remove_topic(org_id, name)
                self._partitions.remove(org_id, name, topic_id)
            case GroupConfigsRecord(org_id, group_id, configs):
                self._coordinators.put_group_configs(org_id, group_id, configs)
            case BrokerConfigsRecord(broker_name):
                self._broker_configs[broker_name] = record
                self._put_settings_in_force()
            case _:
                """Not about the data path."""

    def _put_settings_in_force(self) -> None:
        names = (EVERY_BROKER, str(self._broker_id))
        layers = [self._broker_configs[name].configs for name in names if name in self._broker_configs]
        self._settings = overlaid(self._static_settings, *layers)
        self._partitions.reconfigure(self._config_of)

    def _config_of(self, topic: Topic) -> TopicConfig:
        return topic_config(topic.configs, self._settings)

    # Time and chance

    def _maintain(self) -> None:
        """Once a second, as the store asks."""
        self._maintenance = self._loop.call_later(MAINTENANCE_INTERVAL_S, self._maintain)
        now_ms = self._now_ms()
        self._store.maintain(now_ms)
        if now_ms - self._producers_expired_ms >= PRODUCER_EXPIRATION_INTERVAL_MS:
            self._producers_expired_ms = now_ms
            for partition in self._partitions:
                partition.producers.expire(now_ms, self._settings.producer_id_expiration_ms)

    def _call_at(self, at_ms: int, callback: Callable[[], None]) -> TimerHandle:
        return self._loop.call_later(max(0, at_ms - self._now_ms()) / 1000, callback)

    def _random_number(self) -> int:
        """31 bits: what Kafka's clients take for a session id."""
        return int.from_bytes(self._entropy()[:4], "big") >> 1
