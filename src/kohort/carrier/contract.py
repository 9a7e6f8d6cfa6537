"""What a gateway may ask of a carrier, and what a carrier asks of a broker: the same few words.

A command goes in with its org and a place for the answer; the answer comes there exactly once, perhaps before send
returns. What is still owed is a Pending, so that a gateway can give up on it (the client is gone) or hurry it.

Next hop: local.py (a call), later remote (a stream).
"""

from collections.abc import Callable
from typing import Protocol

from kohort.model.ids import OrgId

Answer = object
"""A plain value of model.commands, or model.errors.Refused."""

AnswerTo = Callable[[Answer], None]


class Pending(Protocol):
    """An answer that is still owed."""

    def forget(self) -> None:
        """The client is gone: the answer will not be sent, whatever waits for it may be dropped."""

    def hurry(self) -> None:
        """Another request is behind this one on its connection: answer now if that changes nothing."""


class Carrier(Protocol):
    def send(self, org_id: OrgId, command: object, answer_to: AnswerTo) -> Pending | None:
        """Takes the command to the broker. None when the answer has been given already."""
