"""Subscriptions by regular expression: which topics one stands for.

The language is RE2, as in Kafka: it takes time in proportion to the text, so no expression can hold the broker up. An
expression must match the whole of a topic's name.

Next hop: none; subscribing.py and topics_changed.py ask.
"""

from collections.abc import Collection
from typing import Any, Final

import re2

from kohort.machines.groups.topics import Topics
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import RegularExpressionRecord

MAX_EXPRESSION_BYTES: Final = 1 << 20
"""How much memory a compiled expression may take."""


def resolve_expression(group_id: str, expression: str, topics: Topics, now_ms: int) -> RegularExpressionRecord:
    """What it stands for now; ProtocolError if it is no expression. The version, in Kafka that of the metadata that was
    looked at, is the time here."""
    matches = _compile(expression).fullmatch
    names = tuple(name for name in sorted(topics.by_name) if matches(name))
    return RegularExpressionRecord(group_id, expression, names, now_ms, now_ms)


def resolve_again(
    known: RegularExpressionRecord, changed: Collection[str], topics: Topics, now_ms: int
) -> RegularExpressionRecord | None:
    """What it stands for since the topics of these names were made or removed; None if that is what it was."""
    expression = known.regular_expression
    names = set(known.topics).difference(changed)
    matches = _compile(expression).fullmatch
    names.update(name for name in changed if name in topics.by_name and matches(name))
    if names == set(known.topics):
        return None
    return RegularExpressionRecord(known.group_id, expression, tuple(sorted(names)), now_ms, now_ms)


def _compile(expression: str) -> Any:
    options = re2.Options()
    options.max_mem = MAX_EXPRESSION_BYTES
    options.log_errors = False
    try:
        return re2.compile(expression, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise ProtocolError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {reason}.",
        ) from error
