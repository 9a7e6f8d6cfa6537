"""Ids that nobody has used, from the entropy of a moment."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from itertools import count
from typing import Final

from kohort.machines.contract import Moment
from kohort.model.ids import TopicId

_RESERVED: Final = 100
"""Kafka keeps the first hundred ids for itself: 0 is none, 1 is the metadata's topic."""


def fresh_ids(moment: Moment) -> Iterator[TopicId]:
    """As many different ids as one decision needs. Begun twice at one moment it gives the same ones."""
    for number in count():
        candidate = TopicId(bytes=moment.fresh_id(number), version=4)
        # Kafka never gives out an id that a command line would take for an option.
        if candidate.int >= _RESERVED and not as_text(candidate).startswith("-"):
            yield candidate


def as_text(identity: TopicId) -> str:
    """The 22 URL-safe base64 characters that Kafka writes an id with."""
    return urlsafe_b64encode(identity.bytes).decode().rstrip("=")
