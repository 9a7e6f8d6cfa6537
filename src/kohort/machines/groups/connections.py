"""Which members were last heard of on which connection, so that a connection that broke leads to its members at once.

Volatile, and kept up only when a member is heard of on another connection than before. It decides nothing.

Next hop: lost_connections.py, which asks.
"""

from collections.abc import Iterable
from typing import Final

from kohort.model.commands.groups import NO_ORIGIN

NO_CONNECTION: Final = NO_ORIGIN.connection_id


class Connections:
    def __init__(self) -> None:
        self._members: Final[dict[int, dict[tuple[str, str], None]]] = {}
        """By connection: group id and member id."""

    def move(self, group_id: str, member_id: str, before: int, after: int) -> None:
        """The member is heard of on another connection; NO_CONNECTION: it was not, or never will be again."""
        members = self._members.get(before)
        if members is not None:
            members.pop((group_id, member_id), None)
            if not members:
                del self._members[before]
        if after != NO_CONNECTION:
            self._members.setdefault(after, {})[group_id, member_id] = None

    def take(self, connection_id: int) -> Iterable[tuple[str, str]]:
        """The members of a connection that is no more."""
        return self._members.pop(connection_id, {})
