"""The flight recorder of one group: gathers what happens in a rebalance, and tells it as one event when that is over.

Volatile: a rebalance that a restart interrupts is told from there on. It decides nothing.

Next hop: draft.py, whose events the shard tells once they are durable; broker/group_history.py writes them down.
"""

from collections.abc import Mapping
from typing import Final

from kohort.model.group_events import GroupRebalanced, PartitionMove, WaitedFor

Ownership = Mapping[tuple[str, int], str]
"""Member ids by topic and partition."""


class Recorder:
    __slots__ = ("_before", "_began_ms", "_from_epoch", "_joined", "_left", "_triggers", "_waited", "_waiting")

    def __init__(self) -> None:
        self._before: Ownership = {}
        self._waiting: Final[dict[tuple[str, str], int]] = {}
        self._forget()

    @property
    def is_recording(self) -> bool:
        return bool(self._triggers)

    def trigger(self, why: str, epoch: int, ownership: Ownership, now_ms: int) -> None:
        """A rebalance begins, or one that is under way has one more reason. The ownership is that of this moment."""
        if not self._triggers:
            self._began_ms = now_ms
            self._from_epoch = epoch
            self._before = ownership
        if why not in self._triggers:
            self._triggers.append(why)

    def take_over(self, earlier: "Recorder", now_ms: int) -> None:
        """The group goes on under another protocol: what had begun before is part of the rebalance that began now."""
        if not earlier.is_recording:
            return
        earlier._end_all_waits(now_ms)
        self._triggers[:] = [*earlier._triggers, *(why for why in self._triggers if why not in earlier._triggers)]
        self._began_ms, self._from_epoch = earlier._began_ms, earlier._from_epoch
        self._joined[:0], self._left[:0], self._waited[:0] = earlier._joined, earlier._left, earlier._waited
        earlier._forget()

    def joined(self, member_id: str) -> None:
        self._joined.append(member_id)

    def left(self, member_id: str) -> None:
        self._left.append(member_id)

    def begin_waiting(self, member_id: str, what: str, now_ms: int) -> None:
        self._waiting.setdefault((member_id, what), now_ms)

    def end_waiting(self, member_id: str, what: str, now_ms: int) -> None:
        since_ms = self._waiting.pop((member_id, what), None)
        if since_ms is not None:
            self._waited.append(WaitedFor(member_id, what, now_ms - since_ms))

    def finish(
        self, group_id: str, identity: str, protocol: str, epoch: int, members: int, ownership: Ownership, now_ms: int
    ) -> GroupRebalanced:
        """The rebalance is over."""
        self._end_all_waits(now_ms)
        event = GroupRebalanced(
            group_id,
            identity,
            protocol,
            tuple(self._triggers),
            self._from_epoch,
            epoch,
            self._began_ms,
            now_ms,
            tuple(self._joined),
            tuple(self._left),
            members,
            tuple(_moves(self._before, ownership)),
            tuple(self._waited),
        )
        self._forget()
        return event

    def _end_all_waits(self, now_ms: int) -> None:
        for member_id, what in tuple(self._waiting):
            self.end_waiting(member_id, what, now_ms)

    def _forget(self) -> None:
        self._triggers: list[str] = []
        self._joined: list[str] = []
        self._left: list[str] = []
        self._waited: list[WaitedFor] = []
        self._waiting.clear()
        self._before = {}
        self._began_ms = self._from_epoch = 0


def _moves(before: Ownership, after: Ownership) -> list[PartitionMove]:
    changed = sorted(at for at in {**before, **after} if before.get(at) != after.get(at))
    return [
        PartitionMove(topic, index, before.get((topic, index)), after.get((topic, index))) for topic, index in changed
    ]
