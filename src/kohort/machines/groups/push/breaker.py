"""Finds out by itself which clients do not bear what they should: because of a setting of theirs, a proxy, a long way.

A member whose connection ended while its heartbeat had been held for long, and who then comes back, gives its kind of
client a strike. Two within a while halve how long that kind is held; four end it. A kind is a software in one version,
or a client id where the software is not told. What is older than a while is forgotten when any member comes.

Next hop: back to push.py.
"""

from typing import Final, TypeVar

from kohort.machines.groups.held import HeldHeartbeat
from kohort.model.commands.groups import Origin

WHILE_MS: Final = 600_000
STRIKES_TO_HALVE: Final = 2
STRIKES_TO_END: Final = 4
_MOST_REMEMBERED: Final = 1000
"""Kinds of clients, and members that may come back: far more than there should ever be."""

_Kind = tuple[str, str]
Key = TypeVar("Key")
Value = TypeVar("Value")


class Breaker:
    def __init__(self) -> None:
        self.strikes = 0
        """All that there ever were."""
        self._strikes_at_ms: Final[dict[_Kind, list[int]]] = {}
        self._cut_off: Final[dict[tuple[str, str], int]] = {}
        """Members whose connection ended while they were held, and that connection."""

    def bearable_ms(self, origin: Origin, hold_ms: int) -> int:
        """What is left of a time for which this client may be held."""
        if not self._strikes_at_ms:
            return hold_ms
        strikes = len(self._strikes_at_ms.get(_kind(origin), ()))
        if strikes < STRIKES_TO_HALVE:
            return hold_ms
        return hold_ms // 2 if strikes < STRIKES_TO_END else 0

    def on_lost_while_held(self, held: HeldHeartbeat, now_ms: int) -> None:
        """Its client may have become impatient, or may be leaving: that shows if the member comes back."""
        if 2 * (now_ms - held.since_ms) > held.until_ms - held.since_ms:
            _remember(self._cut_off, (held.group_id, held.member_id), held.origin.connection_id)

    def on_heard(self, group_id: str, member_id: str, origin: Origin, now_ms: int) -> None:
        """A member comes, or comes back on another connection."""
        if self._strikes_at_ms:
            self._forget_until(now_ms - WHILE_MS)
        connection_id = self._cut_off.pop((group_id, member_id), None)
        if connection_id is not None and connection_id != origin.connection_id:
            self.strikes += 1
            kind = _kind(origin)
            _remember(self._strikes_at_ms, kind, [*self._strikes_at_ms.get(kind, ()), now_ms])

    def _forget_until(self, until_ms: int) -> None:
        for kind, strikes_at_ms in tuple(self._strikes_at_ms.items()):
            remaining = [at_ms for at_ms in strikes_at_ms if at_ms > until_ms]
            if remaining:
                self._strikes_at_ms[kind] = remaining
            else:
                del self._strikes_at_ms[kind]


def _kind(origin: Origin) -> _Kind:
    return (origin.software_name, origin.software_version) if origin.software_name else (origin.client_id, "")


def _remember(where: dict[Key, Value], key: Key, value: Value) -> None:
    where[key] = value
    if len(where) > _MOST_REMEMBERED:
        del where[next(iter(where))]
