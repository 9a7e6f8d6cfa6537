"""The carrier of a gateway that lives in the broker's process: a command is a call, passed as it is.

Decides nothing. Next hop: broker/broker.py, through the function it was given.
"""

from collections.abc import Callable
from typing import Final

from kohort.carrier.contract import AnswerTo, Pending
from kohort.model.ids import OrgId

Handle = Callable[[OrgId, object, AnswerTo], Pending | None]
"""What a broker does with a command of an org."""


class LocalCarrier:
    """Satisfies carrier.contract.Carrier. `send` is the broker's own function, so that the call costs nothing."""

    __slots__ = ("send",)

    def __init__(self, handle: Handle) -> None:
        self.send: Final = handle
