"""A world in which groups live: topics that come, grow and go, members that come and go, and all that may go wrong.

It draws one act after the other, and lets time pass in between. It judges nothing: that is for oracle.py while things
happen, and for convergence.py when all is quiet.

Next hop: scene.py, which drew what may happen here; administrator.py, one more client.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random
from uuid import UUID

from kohort.model.errors import ErrorCode
from kohort.model.ids import DEFAULT_ORG
from kohort.model.topics import Topic
from tests.simulation.disk import Trace
from tests.simulation.groups.administrator import Administrator
from tests.simulation.groups.broker import SimulatedBroker
from tests.simulation.groups.client import Client
from tests.simulation.groups.clock import Clock
from tests.simulation.groups.consumer_member import ConsumerMember
from tests.simulation.groups.log import SimulatedLog
from tests.simulation.groups.network import Network, Weather
from tests.simulation.groups.oracle import Oracle, Violation
from tests.simulation.groups.scene import MAX_CLIENTS, TOPIC_NAMES, Fault, GroupScene, Scene, Speaks

MAX_PARTITIONS = 6
MAX_STEPS = 200_000
"""Far beyond what any seed takes: a storm of messages ends there."""


class World:
    """Satisfies client.Surroundings."""

    def __init__(self, random: Random, trace: Trace) -> None:
        self._random = random
        self.clock = Clock(Random(random.getrandbits(64)))
        self.trace: Trace = trace
        self.scene = Scene(random)
        self.has_faults = bool(self.scene.faults)
        self.oracle = Oracle(self.clock, self.scene.settings, trace)
        self.network = Network(self.clock, Random(random.getrandbits(64)), self.oracle.require, trace)
        self.log = SimulatedLog(self.clock, Random(random.getrandbits(64)), self.oracle, trace)
        entropy = Random(random.getrandbits(64))
        self.broker = SimulatedBroker(
            self.clock, entropy, self.network, self.log, self.scene.settings, self.oracle, trace
        )
        self.network.broker = self.broker
        self.administrator = Administrator(self, random)
        self.topics: dict[str, Topic] = {}
        self.last_assigned: dict[str, dict[str, int]] = {}
        self.clients: list[Client] = []
        self.is_quiet = False
        """Nothing is drawn any more, and nothing goes wrong."""
        self.coming = 0
        """How many static members are about to be started again."""
        self.is_over = False
        """Nobody comes any more."""
        self._names: dict[UUID, str] = {}
        self._ids: dict[str, UUID] = {}
        self._offsets = count(1)
        trace("faults", *sorted(fault.value for fault in self.scene.faults))
        trace("settings", self.scene.settings)
        for group in self.scene.groups:
            trace(group)

    # Time

    def let_pass(self, duration_ms: int) -> None:
        until_ms = self.clock.now_ms + duration_ms
        clock, violations = self.clock, self.oracle.violations
        while clock.step(until_ms):
            if violations:
                raise Violation(violations[0])
            if clock.failure is not None or clock.steps > MAX_STEPS:
                raise Violation(f"after {clock.steps} steps: {clock.failure!r}")
        if violations:
            raise Violation(violations[0])

    # What clients see

    def next_offset(self) -> int:
        return next(self._offsets)

    def name_of(self, topic_id: UUID) -> str:
        return self._names[topic_id]

    def id_of(self, name: str) -> UUID:
        return self._ids[name]

    def ended(self, client: Client) -> None:
        self.clients.remove(client)
        instance_id = client.character.instance_id
        is_expected = client.ended_by in (ErrorCode.NONE, ErrorCode.UNRELEASED_INSTANCE_ID)
        if instance_id is None or not is_expected or self.is_over:
            return
        if self.is_quiet or self._random.random() < 0.8:
            scene = next(group for group in self.scene.groups if group.group_id == client.group_id)
            changes_protocol = scene.speaks is Speaks.BOTH and self._random.random() < 0.5
            again = partial(self._restart, scene, instance_id, client.speaks_classic != changes_protocol)
            self.coming += 1
            self.clock.after(self._random.choice((100, 1_000, 4_000)), again)

    def _restart(self, group: GroupScene, instance_id: str, classic: bool) -> None:
        """Whoever runs a static member starts it again."""
        self.coming -= 1
        if instance_id not in self._instances_of(group) and not self.is_over:
            self._start(group, instance_id, classic)

    # Acts

    def act(self) -> None:
        """One thing that happens."""
        acts: list[tuple[float, Callable[[], object]]] = [
            (6, self._someone_comes),
            (2, self._someone_leaves),
            (1, self._someone_subscribes_anew),
            (3, self._topic_comes),
            (1, self._topic_grows),
            (0.5, self._topic_goes),
            (2, self.administrator.look),
            (1, self.administrator.act),
        ]
        faults = self.scene.faults
        if Fault.CLIENTS in faults:
            acts += [(1, self._someone_crashes), (1, self._someone_pauses), (0.3, self._instance_is_doubled)]
        if Fault.NETWORK in faults:
            acts += [(2, self._connection_breaks), (1, self._weather_changes)]
        if Fault.BROKER in faults:
            acts += [(1, self._broker_crashes)]
        if Fault.DISK in faults:
            acts += [(1, self._disk_changes), (1, self._append_fails)]
        if Fault.ADMINISTRATOR in faults:
            acts += [(1, self.administrator.interfere)]
        weights = [weight for weight, _ in acts]
        self._random.choices([act for _, act in acts], weights)[0]()

    def group(self) -> GroupScene:
        return self._random.choice(self.scene.groups)

    def _someone(self) -> Client | None:
        candidates = [client for client in self.clients if not client.is_leaving]
        return self._random.choice(candidates) if candidates else None

    def _instances_of(self, group: GroupScene) -> list[str | None]:
        return [client.character.instance_id for client in self.clients if client.group_id == group.group_id]

    def _someone_comes(self) -> None:
        group = self.group()
        running = self._instances_of(group)
        if len(running) >= MAX_CLIENTS:
            return
        free = [instance for instance in group.instances if instance not in running]
        instance_id = self._random.choice(free) if free and self._random.random() < 0.7 else None
        classic = group.speaks is Speaks.CLASSIC or (group.speaks is Speaks.BOTH and self._random.random() < 0.5)
        self._start(group, instance_id, classic)

    def _start(self, group: GroupScene, instance_id: str | None, classic: bool) -> None:
        client = self.scene.client(self, group, instance_id, classic)
        self.clients.append(client)
        client.start()

    def _someone_leaves(self) -> None:
        client = self._someone()
        if client is not None:
            client.run(client.leave)

    def _someone_subscribes_anew(self) -> None:
        client = self._someone()
        if isinstance(client, ConsumerMember) and client.epoch > 0:
            topics = tuple(sorted(self._random.sample(TOPIC_NAMES, self._random.choice((1, 2)))))
            client.run(partial(client.subscribe, topics))

    def _someone_crashes(self) -> None:
        client = self._someone()
        if client is not None:
            client.crash(self._random.random() < 0.7)

    def _someone_pauses(self) -> None:
        client = self._someone()
        if client is not None:
            client.pause(self._random.choice((200, 2_000, 15_000)))

    def _instance_is_doubled(self) -> None:
        """Somebody starts a static member that runs already."""
        client = self._someone()
        if client is not None and client.character.instance_id is not None:
            group = next(group for group in self.scene.groups if group.group_id == client.group_id)
            self._start(group, client.character.instance_id, client.speaks_classic)

    def _connection_breaks(self) -> None:
        client = self._someone()
        if client is not None and client.connection is not None:
            self.trace("network: a connection breaks", client.character.name)
            learns = (0, 5, 500, 3_000, None)
            client.connection.cut(self._random.choice(learns), self._random.choice(learns))

    def _weather_changes(self) -> None:
        self.network.weather = self._random.choice(
            (Weather(), Weather(50), Weather(2, 3_000, 0.05), Weather(2, 40_000, 0.02))
        )
        self.trace("network:", self.network.weather)

    def _broker_crashes(self) -> None:
        if self.broker.is_up:
            self.broker.crash()
            self.clock.after(self._random.choice((10, 500, 5_000)), self.broker.start)
            self.log.failing_reads = self._random.choice((0, 0, 1))

    def _disk_changes(self) -> None:
        self.log.slowness_ms = self._random.choice((0, 2, 2, 50, 1_000, 7_000))
        self.trace("log: takes", self.log.slowness_ms)

    def _append_fails(self) -> None:
        self.log.failing_appends = self._random.choice((1, 1, 2))
        self.log.failing_reads = self._random.choice((0, 0, 1))

    # Topics

    def _topic_comes(self) -> None:
        names = [name for name in TOPIC_NAMES if name not in self.topics]
        if not self.scene.names_are_used_again:
            names = [name for name in names if name not in self._ids]
        if names:
            name = self._random.choice(names)
            topic_id = UUID(int=self._random.getrandbits(128), version=4)
            self._names[topic_id] = name
            self._ids[name] = topic_id
            self._put(Topic(DEFAULT_ORG, name, topic_id, self._random.randint(1, MAX_PARTITIONS), {}))

    def _topic_grows(self) -> None:
        growing = [topic for topic in self.topics.values() if topic.partitions < MAX_PARTITIONS]
        if growing:
            topic = self._random.choice(growing)
            more = self._random.randint(topic.partitions + 1, MAX_PARTITIONS)
            self._put(Topic(DEFAULT_ORG, topic.name, topic.topic_id, more, {}))

    def _put(self, topic: Topic) -> None:
        self.trace("topic", topic.name, "has", topic.partitions, topic.topic_id)
        self.topics[topic.name] = topic
        self.broker.change_topics(self.topics, ())

    def _topic_goes(self) -> None:
        if self.topics:
            topic = self.topics.pop(self._random.choice(sorted(self.topics)))
            self.trace("topic", topic.name, "is deleted")
            self.broker.change_topics(self.topics, (topic,))

    # The end of all that

    def calm_down(self) -> None:
        """Nothing goes wrong from here on, and whatever was wrong is over."""
        self.trace("all is quiet")
        self.is_quiet = True
        self.network.clear_up()
        self.log.clear_up()
        self.broker.start()
        for client in list(self.clients):
            client.resume_soon()
            if client.connection is not None and client.connection.is_cut:
                client.connection.client_learns()
