"""What a seed draws before anything happens: the broker's settings, the groups and how their members are, which topics
there may be, and what may go wrong.

Next hop: world.py, where it happens.
"""

from dataclasses import dataclass
from enum import Enum
from random import Random

from kohort.model.settings import BrokerSettings
from tests.simulation.groups import software
from tests.simulation.groups.classic_assignors import COOPERATIVE, EAGER
from tests.simulation.groups.classic_member import ClassicMember
from tests.simulation.groups.client import Character, Client, Surroundings
from tests.simulation.groups.consumer_member import ConsumerMember

TOPIC_NAMES = ("clicks", "invoices", "orders", "views")
EXPRESSIONS = ("[a-z]+s", "orders|clicks", "[iv].*", "nothing")
MAX_CLIENTS = 6


class Speaks(Enum):
    """The protocol of a group's members."""

    CONSUMER = "consumer"
    CLASSIC = "classic"
    BOTH = "both"


class Fault(Enum):
    NETWORK = "network"
    BROKER = "broker"
    DISK = "disk"
    CLIENTS = "clients"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class GroupScene:
    group_id: str
    speaks: Speaks
    topics: tuple[str, ...]
    are_alike: bool
    """All members subscribe to the same."""
    has_expressions: bool
    instances: tuple[str, ...]
    """What static members it may have."""
    classic_protocol: str
    subscription_version: int
    commit_interval_ms: int
    has_votes: bool
    """Members say which assignor they want."""


class Scene:
    def __init__(self, random: Random) -> None:
        self.faults = self._draw_faults(random)
        self.settings = self._draw_settings(random)
        self.groups = tuple(self._draw_group(random, number) for number in range(random.choice((1, 1, 2, 3))))
        self.names_are_used_again = all(group.speaks is Speaks.CONSUMER for group in self.groups)
        """A topic may be made again under the name of one that was deleted. Classic members know names only, so what
        they own then could not be told apart."""
        self.acts = random.choice((10, 20, 40))
        self.pace_ms = random.choice((50, 300, 300, 1_000, 3_000))
        self.snapshot_growth_bytes = random.choice((1_000, 5_000, 1 << 20))
        self._random = random
        self._made = 0

    def _draw_faults(self, random: Random) -> frozenset[Fault]:
        if random.random() < 0.3:
            return frozenset()
        return frozenset(fault for fault in Fault if random.random() < 0.5)

    def _draw_settings(self, random: Random) -> BrokerSettings:
        policies = ("bidirectional", "bidirectional", "bidirectional", "upgrade", "downgrade", "disabled")
        sizes = (1 << 31) - 1, (1 << 31) - 1, (1 << 31) - 1, 4
        return BrokerSettings(
            group_min_session_timeout_ms=1_000,
            group_initial_rebalance_delay_ms=random.choice((0, 300, 300, 3_000)),
            group_consumer_session_timeout_ms=random.choice((4_000, 6_000, 10_000)),
            group_consumer_min_session_timeout_ms=1_000,
            group_consumer_heartbeat_interval_ms=random.choice((500, 1_000, 1_000, 2_000)),
            group_consumer_assignors=random.choice((("uniform", "range"), ("range", "uniform"))),
            group_consumer_assignment_interval_ms=random.choice((0, 0, 0, 1_000)),
            group_consumer_max_size=random.choice(sizes) if self.faults else sizes[0],
            group_max_size=random.choice(sizes) if self.faults else sizes[0],
            group_push_enable=random.random() < 0.8,
            group_lost_connection_grace_ms=random.choice((-1, -1, 0, 5_000)),
            group_consumer_migration_policy=random.choice(policies) if self.faults else "bidirectional",
            offsets_retention_minutes=random.choice((1, 10_080)),
            offsets_retention_check_interval_ms=random.choice((5_000, 600_000)),
        )

    def _draw_group(self, random: Random, number: int) -> GroupScene:
        speaks = random.choice((Speaks.CONSUMER, Speaks.CONSUMER, Speaks.CLASSIC, Speaks.BOTH))
        count = random.choice((1, 2, 2, 3))
        cooperates = random.random() < 0.5
        return GroupScene(
            f"group-{number}",
            speaks,
            tuple(sorted(random.sample(TOPIC_NAMES, count))),
            random.random() < 0.7,
            speaks is not Speaks.CLASSIC and random.random() < 0.3,
            random.choice(((), (), ("left", "right"))),
            COOPERATIVE if cooperates else EAGER,
            random.choice((2, 3) if cooperates else (0, 1, 2, 3)),
            random.choice((0, 700, 3_000)),
            random.random() < 0.3,
        )

    @property
    def forgets_soon(self) -> bool:
        settings = self.settings
        return settings.offsets_retention_minutes == 1 and settings.offsets_retention_check_interval_ms < 60_000

    def client(self, surroundings: Surroundings, group: GroupScene, instance_id: str | None, classic: bool) -> Client:
        """A new member, not yet started."""
        random = self._random
        self._made += 1
        character = self._character(group, instance_id, classic)
        if not classic:
            own_id = f"member-{self._made}-{random.getrandbits(32):08x}"
            return ConsumerMember(surroundings, character, "" if character.lets_coordinator_choose_id else own_id)
        member = ClassicMember(surroundings, character, group.classic_protocol, group.subscription_version)
        member.accepts_id = random.random() < 0.8
        return member

    def _character(self, group: GroupScene, instance_id: str | None, classic: bool) -> Character:
        random = self._random
        regex = random.choice(EXPRESSIONS) if group.has_expressions and not classic and random.random() < 0.6 else None
        topics = group.topics
        # Classic groups do not rebalance for a static member that comes back with another subscription, as in Kafka.
        if not group.are_alike and not (instance_id is not None and group.speaks is not Speaks.CONSUMER):
            topics = tuple(topic for topic in topics if random.random() < 0.7) or topics[:1]
        if regex is not None and random.random() < 0.7:
            topics = ()
        rebalance_timeout_ms = random.choice((2_000, 6_000))
        patience = random.choice((0, 0.02, 0.3) if Fault.CLIENTS not in self.faults else (0, 0.3, 1.5))
        return Character(
            group.group_id,
            f"client-{self._made}",
            random.choice(software.ALL),
            topics,
            regex,
            instance_id,
            random.choice((3_000, 6_000)),
            rebalance_timeout_ms,
            random.choice((700, 1_000)),
            round(rebalance_timeout_ms * patience),
            group.commit_interval_ms,
            random.choice((None, "uniform", "range")) if group.has_votes and not classic else None,
            random.random() < 0.3,
            not classic and instance_id is None and random.random() < 0.1,
            group.speaks is Speaks.BOTH,
        )
