"""Which names a topic may have, in Kafka's words for why not."""

import re
from typing import Final

from kohort.model.errors import ErrorCode, ProtocolError

MAX_LENGTH: Final = 249
INTERNAL_TOPICS: Final = frozenset(
    ("__cluster_metadata", "__consumer_offsets", "__group_events", "__share_group_state", "__transaction_state")
)
"""Topics that the broker keeps for itself; clients do not make them."""

_ALLOWED: Final = re.compile(r"[a-zA-Z0-9._-]*")


def check_name(name: str) -> None:
    """Refuses a name that no topic can have."""
    reason = _refusal(name)
    if reason is not None:
        raise ProtocolError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def collision_key(name: str) -> str:
    """Metrics write "." as "_", so two names that differ only in that cannot both be topics."""
    return name.replace(".", "_")


def _refusal(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
    if not _ALLOWED.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
