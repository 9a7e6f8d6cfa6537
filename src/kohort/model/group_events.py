"""What a group's history tells: one event for each rebalance, as a plain value that becomes JSON in __group_events."""

from typing import NamedTuple


class PartitionMove(NamedTuple):
    """None: nobody had it before, or nobody has it now."""

    topic: str
    partition: int
    from_member: str | None
    to_member: str | None


class WaitedFor(NamedTuple):
    member_id: str
    what: str
    """join, sync or revocation."""
    waited_ms: int


class GroupRebalanced(NamedTuple):
    """epoch is that of the group, or the generation of one that follows the classic protocol."""

    group_id: str
    identity: str
    protocol: str
    """classic or consumer."""
    triggers: tuple[str, ...]
    """What began it, and what came while it was under way."""
    from_epoch: int
    to_epoch: int
    began_ms: int
    ended_ms: int
    joined: tuple[str, ...]
    left: tuple[str, ...]
    members: int
    """How many there are now."""
    moves: tuple[PartitionMove, ...]
    waited_for: tuple[WaitedFor, ...]
