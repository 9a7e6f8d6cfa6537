"""How long a heartbeat that has nothing to say may be held: by what its client is known to bear (GROUPS.md 3).

The longer it is held, the likelier it is that a member hears of news at once. But a client that waits longer than it
bears would disconnect, so what the table of clients says is cut short by sessions and intervals, and by experience.

Next hop: back to classic/heartbeat.py and consumer/heartbeat.py, which hold it; clients.py has the table.
"""

from typing import Final

from kohort.machines.groups.held import HeldHeartbeat
from kohort.machines.groups.push.breaker import Breaker
from kohort.machines.groups.push.clients import bearing_of
from kohort.model.commands.groups import Origin
from kohort.model.settings import BrokerSettings

SHORTEST_HOLD_MS: Final = 100
"""Less is not worth a timer."""
LONGEST_SCALED_INTERVAL_MS: Final = 5000
"""What Kafka tells its members by default."""
BEARABLE_HEARTBEATS_PER_MS: Final = 4
"""Of the members of a shard; half of that is where intervals begin to grow."""


class Push:
    def __init__(self, settings: BrokerSettings) -> None:
        self._is_enabled: Final = settings.group_push_enable
        self._interval_ms: Final = settings.group_consumer_heartbeat_interval_ms
        self._session_timeout_ms: Final = settings.group_consumer_session_timeout_ms
        self.breaker: Final = Breaker()

    def consumer_interval_ms(self, members: int, least_ms: int) -> int:
        """The heartbeat interval to tell members of the consumer protocol if a shard has so many."""
        scaled_ms = min(2 * members // BEARABLE_HEARTBEATS_PER_MS, LONGEST_SCALED_INTERVAL_MS)
        return max(least_ms, scaled_ms)

    def consumer_hold_ms(self, origin: Origin, told_interval_ms: int) -> int:
        """Of a member of the consumer protocol that was last told this interval; 0: it is to be answered at once."""
        if told_interval_ms <= 0:
            return 0
        bearing = bearing_of(origin)
        if bearing.consumer_margin_ms:
            return self._worth_while_ms(origin, told_interval_ms - bearing.consumer_margin_ms)
        return self._worth_while_ms(origin, min(bearing.consumer_ms, self._session_timeout_ms // 3))

    def join_hold_ms(self, origin: Origin) -> int:
        """Of a consumer that joins. If it joins again, it may still have the interval from before."""
        return self._worth_while_ms(origin, self._interval_ms * 7 // 10 if bearing_of(origin).bears_held_join else 0)

    def classic_hold_ms(self, origin: Origin, session_timeout_ms: int, is_static: bool) -> int:
        """Of a member of the classic protocol; 0: it is to be answered at once."""
        bearing = bearing_of(origin)
        hold_ms = bearing.classic_static_ms if is_static else bearing.classic_ms
        return self._worth_while_ms(origin, min(hold_ms, session_timeout_ms // 3))

    def _worth_while_ms(self, origin: Origin, hold_ms: int) -> int:
        if not self._is_enabled:
            return 0
        bearable_ms = self.breaker.bearable_ms(origin, hold_ms)
        return bearable_ms if bearable_ms >= SHORTEST_HOLD_MS else 0

    def on_lost_while_held(self, held: HeldHeartbeat, now_ms: int) -> None:
        """The connection of a held heartbeat ended."""
        self.breaker.on_lost_while_held(held, now_ms)

    def on_member_heard(self, group_id: str, member_id: str, origin: Origin, now_ms: int) -> None:
        """A member came, or speaks on another connection than before."""
        self.breaker.on_heard(group_id, member_id, origin, now_ms)
