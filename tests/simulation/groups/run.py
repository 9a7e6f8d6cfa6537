"""The life of a world of groups under a seed: acts and faults, then quiet, a restart of the broker, and the end.

python -m tests.simulation.groups.run --seed 17              replays one run, and says all that happened
python -m tests.simulation.groups.run --seeds 2000 --from 1  looks for a seed that fails
python -m tests.simulation.groups.run --digest 20            what twenty runs said, as one number each
"""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from random import Random
from unittest.mock import patch

from kohort.broker import shard
from tests.simulation.disk import Trace, silence
from tests.simulation.groups.clock import START_MS, Clock
from tests.simulation.groups.convergence import unbalanced, unsettled
from tests.simulation.groups.oracle import Violation
from tests.simulation.groups.readable import readable
from tests.simulation.groups.world import World

PATIENCE_MS = 120_000
"""How long a group may take to come to rest when nothing happens any more."""
LOOK_MS = 500
REST_MS = 5_000
"""How long it must stay as it is to have come to rest."""
FORGETTING_MS = 150_000
"""After so long in which nobody came, offsets and groups are forgotten, if they are kept for a minute only."""
SILENCE_MS = 30_000
"""After so long the coordinator has given up on every member that went silent."""


def simulate(seed: int, trace: Trace = silence) -> World:
    random = Random(seed)
    world: World | None = None

    def timed(*what: object) -> None:
        now_ms = START_MS if world is None else world.clock.now_ms
        trace(f"{(now_ms - START_MS) / 1000:9.3f}", *map(readable, what))

    world = World(random, timed if trace is not silence else silence)
    with running(world.clock), patch.object(shard, "MIN_GROWTH_BYTES", world.scene.snapshot_growth_bytes):
        world.broker.start()
        for _ in range(world.scene.acts):
            world.let_pass(random.randint(0, 2 * world.scene.pace_ms))
            world.act()
        world.calm_down()
        come_to_rest(world)
        restart_the_broker(world)
        fall_silent(world)
    return world


@contextmanager
def running(clock: Clock) -> Iterator[None]:
    """asyncio takes the clock for its loop meanwhile."""
    before = asyncio._get_running_loop()
    asyncio._set_running_loop(clock)
    try:
        yield
    finally:
        clock.end()
        asyncio._set_running_loop(before)


def come_to_rest(world: World) -> None:
    until_ms = world.clock.now_ms + PATIENCE_MS
    world.let_pass(LOOK_MS)
    while (reason := unsettled(world)) is not None:
        world.oracle.require(world.clock.now_ms < until_ms, "it is quiet, and no group comes to rest;", reason)
        world.let_pass(LOOK_MS)
    world.trace("all groups rest")
    changes = world.oracle.group_epoch_changes
    world.let_pass(REST_MS)
    reason = unsettled(world) or unbalanced(world)
    world.oracle.require(reason is None, "the rest is not the right one;", reason)
    world.oracle.require(changes == world.oracle.group_epoch_changes, "a rebalance began in a group that was at rest")
    world.let_pass(0)


def restart_the_broker(world: World) -> None:
    """Nobody rebalances because of that."""
    before = [(client.member_id, client.epoch, client.owned) for client in world.clients]
    changes = world.oracle.group_epoch_changes
    world.broker.crash()
    world.let_pass(200)
    world.broker.start()
    world.let_pass(SILENCE_MS // 2)
    after = [(client.member_id, client.epoch, client.owned) for client in world.clients]
    world.oracle.require(before == after, "a restart moved members from", before, "to", after)
    world.oracle.require(changes == world.oracle.group_epoch_changes, "a rebalance began because the broker restarted")
    reason = unsettled(world)
    world.oracle.require(reason is None, "a restart unsettled", reason)
    world.let_pass(0)


def fall_silent(world: World) -> None:
    """Everybody is gone without a word. In the end no answer is owed, and nothing is lost in one more restart."""
    world.trace("all members fall silent")
    world.is_over = True
    for client in list(world.clients):
        client.crash(connection_ends=False)
    world.let_pass(SILENCE_MS)
    owed = world.oracle.unanswered()
    world.oracle.require(not owed, "never answered:", owed)
    reason = unsettled(world)
    world.oracle.require(reason is None, "everybody is gone, but", reason)
    if world.scene.forgets_soon:
        world.let_pass(FORGETTING_MS)
        known = [group_id for group_id, group in world.oracle.live.groups.items() if group.identity or group.offsets]
        world.oracle.require(not known, "still remembered after all this time:", known)
    world.broker.crash()
    world.broker.start()
    world.let_pass(1_000)


def command(seed: int) -> str:
    return f"python -m tests.simulation.groups.run --seed {seed}"


def check(seed: int, trace: Trace = silence) -> World:
    """Runs one seed; what goes wrong names it and the command that replays it."""
    try:
        return simulate(seed, trace)
    except Exception as failure:
        raise Violation(f"seed {seed}: {failure!r}; replay: {command(seed)}") from failure


def digest(seed: int) -> str:
    """All that a run said, as one number."""
    said = blake2b(digest_size=8)
    simulate(seed, lambda *what: said.update(" ".join(map(str, what)).encode()))
    return said.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs groups in a world that fails.")
    parser.add_argument("--seed", type=int, help="replay this one, with a trace")
    parser.add_argument("--seeds", type=int, default=1_000, help="how many to try")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first one to try")
    parser.add_argument("--digest", type=int, help="say what so many runs said")
    arguments = parser.parse_args()
    logging.disable()
    if arguments.seed is not None:
        simulate(arguments.seed, trace=print)
        return
    if arguments.digest is not None:
        for seed in range(arguments.first, arguments.first + arguments.digest):
            print(seed, digest(seed))
        return
    started = time.monotonic()
    failed = 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        try:
            check(seed)
        except Violation as violation:
            failed += 1
            print(str(violation)[:600], flush=True)
    print(f"{arguments.seeds} seeds in {time.monotonic() - started:.1f} s, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
