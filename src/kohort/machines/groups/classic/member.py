"""A member of a classic group: what it said when it joined, what it was given, and the answers it waits for.

Decides nothing. Next hop: group.py, which has the members.
"""

from dataclasses import dataclass
from typing import Final

from kohort.machines.contract import Moment, Token
from kohort.model.commands.groups import NO_ORIGIN, JoinGroup, Origin, Protocol
from kohort.model.records.groups import GroupMetadataMember

NEVER_MS: Final = 1 << 62
USUAL_CADENCE_MS: Final = 3000
"""The time between heartbeats of nearly every client that was not told otherwise."""
_MEMBER_ID: Final = 1 << 33
"""The number of this fresh id among those of a moment."""
_LONGEST_NAME: Final = 1000
"""So much of a client's id goes into its member id."""


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
    origin: Origin = NO_ORIGIN
    """Of its last JoinGroup or heartbeat."""
    hold_ms: int = 0
    """How long its heartbeats may be held."""
    heartbeat_at_ms: int = NEVER_MS
    cadence_ms: int = USUAL_CADENCE_MS
    """About how long its next heartbeat takes to come."""
    expires_at_ms: int = NEVER_MS
    timer_at_ms: int = NEVER_MS
    """When its timer is due: a heartbeat moves only expires_at_ms, and the timer looks again."""

    @property
    def is_dynamic(self) -> bool:
        return self.group_instance_id is None

    @property
    def is_waiting(self) -> bool:
        """For an answer of ours: it is no wonder that nothing is heard of it."""
        return self.join_token is not None or self.sync_token is not None

    def heard_at_ms(self) -> int:
        """When it last gave a sign of life, as far as one that waits to be let in can."""
        return 0 if self.is_new else self.expires_at_ms - self.session_timeout_ms

    def metadata_for(self, protocol_name: str | None) -> bytes:
        """What it said to this protocol."""
        return next((protocol.metadata for protocol in self.protocols if protocol.name == protocol_name), b"")

    def is_recorded_as(self, recorded: GroupMetadataMember, protocol_name: str | None) -> bool:
        """Whether a record says of it what it said itself."""
        return (
            recorded.group_instance_id == self.group_instance_id
            and recorded.client_id == self.client_id
            and recorded.client_host == self.client_host
            and recorded.rebalance_timeout_ms == self.rebalance_timeout_ms
            and recorded.session_timeout_ms == self.session_timeout_ms
            and recorded.subscription == self.metadata_for(protocol_name)
        )


def member_of_join(command: JoinGroup, member_id: str) -> Member:
    """The member that a JoinGroup describes."""
    return Member(
        member_id,
        command.group_instance_id,
        command.origin.client_id,
        command.origin.client_host,
        command.rebalance_timeout_ms,
        command.session_timeout_ms,
        command.protocols,
    )


def mint_member_id(command: JoinGroup, moment: Moment) -> str:
    """An id that no member has, and that shows a person who it is."""
    name = command.origin.client_id if command.group_instance_id is None else command.group_instance_id
    digits = moment.fresh_id(_MEMBER_ID).hex()
    return "-".join((name[:_LONGEST_NAME], digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


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
