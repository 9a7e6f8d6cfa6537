"""InitProducerId: the id and epoch under which an idempotent producer numbers its batches.

Versions: 2 flexible; 3 a producer gives its id and epoch to get the next (KIP-360); 4 and 5 newer error codes.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.data import InitProducerId, ProducerIdGiven
from kohort.model.errors import Refused

_OWN_ID_SINCE = 3


def handle_init_producer_id(request: Request, call: Call) -> None:
    if call.version >= _OWN_ID_SINCE:
        command = InitProducerId(request.transactional_id, request.producer_id, request.producer_epoch)
    else:
        command = InitProducerId(request.transactional_id)
    call.send(command, call.answer)


def refuse_init_producer_id(request: Request, refused: Refused, call: Call) -> Message:
    return ProducerIdGiven(refused.error_code)


INIT_PRODUCER_ID = Api(22, "InitProducerId", 0, 5, handle_init_producer_id, refuse_init_producer_id)
