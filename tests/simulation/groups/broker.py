"""The broker of a simulation: the real shard with the real machine on a simulated log, that can be killed and started.

What broker/coordinators.py does around a shard is done here: it is told of the org's topics when it was loaded and when
they change, and who waits for the disk in vain is told so once a second.

Next hop: kohort/broker/shard.py; watched_machine.py, which the shard is given for its machine.
"""

from functools import partial
from random import Random

from kohort.broker.shard import Shard
from kohort.carrier.contract import Answer, AnswerTo, Pending
from kohort.machines.groups.machine import GroupsMachine
from kohort.model.commands.groups import TopicsChanged
from kohort.model.ids import DEFAULT_ORG
from kohort.model.records.groups import GroupsRecord
from kohort.model.settings import BrokerSettings
from kohort.model.topics import Topic
from kohort.store.log import Durability
from kohort.wire import consumer_protocol, group_records
from tests.simulation.disk import Trace
from tests.simulation.groups.clock import Clock
from tests.simulation.groups.log import SimulatedLog
from tests.simulation.groups.network import Network
from tests.simulation.groups.oracle import Oracle
from tests.simulation.groups.watched_machine import WatchedMachine

MAINTENANCE_MS = 1000


class SimulatedBroker:
    def __init__(
        self,
        clock: Clock,
        random: Random,
        network: Network,
        log: SimulatedLog,
        settings: BrokerSettings,
        oracle: Oracle,
        trace: Trace,
    ) -> None:
        self._clock = clock
        self._random = random
        self._network = network
        self._log = log
        self._settings = settings
        self._oracle = oracle
        self._trace = trace
        self._shard: Shard[GroupsRecord] | None = None
        self._topics: dict[str, Topic] = {}
        self._lives = 0

    @property
    def is_up(self) -> bool:
        return self._shard is not None

    # Lives

    def start(self) -> None:
        if self.is_up:
            return
        self._trace("broker: starts")
        self._lives += 1
        self._shard = Shard(
            partial(WatchedMachine, partial(GroupsMachine, self._settings, consumer_protocol), self._oracle),
            self._log,
            group_records,
            durability=Durability.FSYNC,
            now_ms=lambda: self._clock.now_ms,
            entropy=partial(self._random.randbytes, 16),
            call_at=self._clock.at,
            on_event=partial(self._trace, "event"),
            on_loaded=self._on_loaded,
        )
        self._shard.start_loading()
        self._clock.after(MAINTENANCE_MS, partial(self._maintain, self._lives))

    def crash(self) -> None:
        """Nobody hears from it any more; what the log had not finished may be lost."""
        self._trace("broker: crashes")
        assert self._shard is not None
        self._network.cut_all()
        shard, self._shard = self._shard, None
        shard.close()
        self._log.crash()

    def _on_loaded(self) -> None:
        self._trace("broker: has loaded")
        self._tell(())

    def _maintain(self, life: int) -> None:
        if life == self._lives and self._shard is not None:
            self._shard.refuse_overdue(self._clock.now_ms - self._settings.offsets_commit_timeout_ms)
            self._clock.after(MAINTENANCE_MS, partial(self._maintain, life))

    # Commands

    def handle(self, command: object, answer_to: AnswerTo) -> Pending | None:
        if self._shard is None:
            return None
        return self._shard.handle(DEFAULT_ORG, command, answer_to)

    def change_topics(self, topics: dict[str, Topic], removed: tuple[Topic, ...]) -> None:
        self._topics = dict(topics)
        if self._shard is not None:
            self._tell(removed)

    def _tell(self, removed: tuple[Topic, ...]) -> None:
        self.handle(TopicsChanged(self._topics, removed), _ignore)


def _ignore(answer: Answer) -> None:
    """What nobody waits for."""
