"""How long a heartbeat that has nothing to say may be held: by what its client is known to bear (GROUPS.md 3).

Next hop: back to classic/heartbeat.py and consumer/heartbeat.py, which hold it.
"""

from typing import Final

from kohort.model.commands.groups import Origin
from kohort.model.settings import BrokerSettings


class Push:
    def __init__(self, settings: BrokerSettings) -> None:
        self._settings: Final = settings

    def consumer_hold_ms(self, origin: Origin, told_interval_ms: int) -> int:
        """Of a member of the consumer protocol that was last told this interval; 0: it is to be answered at once."""
        return 0

    def classic_hold_ms(self, origin: Origin, session_timeout_ms: int, is_static: bool) -> int:
        """Of a member of the classic protocol; 0: it is to be answered at once."""
        return 0

    def join_hold_ms(self, origin: Origin) -> int:
        """Of a consumer that joined and for which nothing is free yet; 0: it is to be answered at once, as those are
        that come again soon by themselves."""
        return 0
