"""A coordinator that breaks a promise is found out: each of these is the real one but for one thing that it does wrong.

Some of them are mistakes that the simulation found.
"""

from typing import Any

import pytest

from kohort.broker.shard import Shard
from kohort.machines.groups import topic_changes
from kohort.machines.groups.classic.member import Member
from kohort.machines.groups.committed import CommittedOffsets
from kohort.machines.groups.consumer import fencing, loading, presence, topics_changed
from kohort.machines.groups.consumer.ownership import Ownership
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.migration import upgrade
from tests.simulation.groups.oracle import Violation
from tests.simulation.groups.run import check

SEEDS_TO_BE_FOUND_OUT = 400

carry_out_append = Shard._append
answer = Draft.answer


def answers_before_it_is_durable(shard: Shard[Any], decision: Any, now_ms: int) -> None:
    shard._give(decision.replies)
    carry_out_append(shard, decision._replace(replies=()), now_ms)


def answers_twice(draft: Draft, token: int, said: object) -> None:
    answer(draft, token, said)
    answer(draft, token, said)


def does_nothing(*_: object, **__: object) -> None:
    pass


def says_yes(*_: object) -> bool:
    return True


def says_no(*_: object) -> bool:
    return False


def loses_patience(*_: object) -> int:
    return 1_500


MISTAKES = {
    "gives a partition to who waits for it before the last owner let go": (Ownership, "is_taken", says_no),
    "acknowledges what a crash may take back": (Shard, "_append", answers_before_it_is_durable),
    "answers twice": (Draft, "answer", answers_twice),
    "keeps offsets that were deleted": (CommittedOffsets, "remove", does_nothing),
    "does not fence members of other epochs": (fencing, "check_epoch", does_nothing),
    "expires members too early": (presence, "session_timeout_ms", loses_patience),
    "expires members too early after a restart": (loading, "session_timeout_ms", loses_patience),
    "does not follow topics": (topic_changes, "on_topics_changed", does_nothing),
    "takes members of a classic group as an older record says": (Member, "is_recorded_as", says_yes),
    "misses no topic that went while no broker ran": (topics_changed, "NO_TOPICS", object()),
    "believes that a classic group had assigned everything": (upgrade, "_is_whole", says_yes),
    "does not wait for what a classic member is giving up": (upgrade, "_not_given_up", lambda *_: {}),
}


RARE = tuple(MISTAKES)[-3:]
"""What few seeds come across."""


@pytest.mark.parametrize(
    "mistake", [pytest.param(mistake, marks=pytest.mark.slow if mistake in RARE else ()) for mistake in MISTAKES]
)
def test_a_coordinator_is_found_out_that(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, replacement = MISTAKES[mistake]
    monkeypatch.setattr(owner, name, replacement)
    for seed in range(SEEDS_TO_BE_FOUND_OUT):
        try:
            check(seed)
        except Violation:
            return
    pytest.fail("no seed found it out")
