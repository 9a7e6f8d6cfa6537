"""Giving producers their ids: InitProducerId for idempotent producers.

Decides which id is next. Ids come from the catalog a block at a time, and what is left of a block when the broker stops
is never given out, so an id is a producer's for ever. As in Kafka a producer without a transactional id gets a new id
with epoch 0 whatever it had: it raises its own epoch without asking (KIP-360).

Next hop: machines/catalog/brokers.py, through the catalog's shard, for the next block.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from kohort.broker.each_partition import IN_PROGRESS
from kohort.carrier.contract import Answer, AnswerTo, Pending
from kohort.model.commands.catalog import AllocateProducerIds, ProducerIdsAllocated
from kohort.model.commands.data import InitProducerId, ProducerIdGiven
from kohort.model.errors import ErrorCode, ProtocolError, Refused
from kohort.model.ids import OrgId
from kohort.wire.record_batch import NO_PRODUCER_ID

NO_PRODUCER_EPOCH: Final = -1

AskCatalog = Callable[[AllocateProducerIds, AnswerTo], object]


class ProducerIds:
    """Takes InitProducerId commands."""

    def __init__(self, broker_id: int, ask_catalog: AskCatalog) -> None:
        self._broker_id: Final = broker_id
        self._ask_catalog: Final = ask_catalog
        self._next = 0
        self._end = 0
        self._waiting: Final[deque[AnswerTo]] = deque()

    def handle(self, _org_id: OrgId, command: InitProducerId, answer_to: AnswerTo) -> Pending | None:
        _check(command)
        self._waiting.append(answer_to)
        if len(self._waiting) > 1:
            # A block was asked for already.
            return IN_PROGRESS
        self._serve()
        return IN_PROGRESS if self._waiting else None

    def _serve(self) -> None:
        """Gives out what there is, and asks for more if somebody goes without."""
        while self._waiting and self._next < self._end:
            producer_id, self._next = self._next, self._next + 1
            self._waiting.popleft()(ProducerIdGiven(0, producer_id, 0))
        if self._waiting:
            self._ask_catalog(AllocateProducerIds(self._broker_id), self._take_block)

    def _take_block(self, answer: Answer) -> None:
        if isinstance(answer, ProducerIdsAllocated):
            self._next, self._end = answer.first, answer.first + answer.count
            self._serve()
            return
        code = answer.error_code if isinstance(answer, Refused) else ErrorCode.UNKNOWN_SERVER_ERROR
        waiting = list(self._waiting)
        self._waiting.clear()
        for answer_to in waiting:
            answer_to(ProducerIdGiven(code))


def _check(command: InitProducerId) -> None:
    if command.transactional_id == "":
        raise ProtocolError(ErrorCode.INVALID_REQUEST, "A transactional id must not be empty.")
    if (command.producer_id == NO_PRODUCER_ID) != (command.producer_epoch == NO_PRODUCER_EPOCH):
        raise ProtocolError(ErrorCode.INVALID_REQUEST, "A producer has an id and an epoch, or neither.")
    if command.transactional_id is not None:
        raise ProtocolError(
            ErrorCode.UNSUPPORTED_VERSION, "Transactions are not supported: produce without a transactional id."
        )
