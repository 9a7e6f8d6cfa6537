"""A member of a classic group: what it said when it joined, what it was given, and the answers it waits for."""

from dataclasses import dataclass
from typing import Final

from kohort.machines.contract import Token
from kohort.model.commands.groups import Protocol
from kohort.model.records.groups import GroupMetadataMember

NEVER_MS: Final = 1 << 62


@dataclass(eq=False, slots=True)
class Member:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    join_token: Token | None = None
    """The JoinGroup that waits for the others. Set by the group only, which counts them."""
    sync_token: Token | None = None
    """The SyncGroup that waits for the leader."""
    is_new: bool = False
    """Added in the join phase that is not over yet, so that it may not even know its id."""
    expires_at_ms: int = NEVER_MS
    timer_at_ms: int = NEVER_MS
    """When its timer is due: a heartbeat moves only expires_at_ms, and the timer looks again."""

    @property
    def is_dynamic(self) -> bool:
        return self.group_instance_id is None

    def metadata_for(self, protocol_name: str | None) -> bytes:
        """What it said to this protocol."""
        return next((protocol.metadata for protocol in self.protocols if protocol.name == protocol_name), b"")


def member_of_record(recorded: GroupMetadataMember, protocol_name: str | None) -> Member:
    """A member as a restarted coordinator knows it: of its protocols, only the one that was chosen."""
    return Member(
        recorded.member_id,
        recorded.group_instance_id,
        recorded.client_id,
        recorded.client_host,
        recorded.rebalance_timeout_ms,
        recorded.session_timeout_ms,
        (Protocol(protocol_name or "", recorded.subscription),),
    )
