"""OffsetDelete: an administrator has a group forget how far it has read.

One version only.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import OffsetDelete, OffsetDeleteAnswer, TopicOffsetsToDelete
from kohort.model.errors import Refused


def handle_offset_delete(request: Request, call: Call) -> None:
    topics = tuple(
        TopicOffsetsToDelete(topic.name, tuple(each.partition_index for each in topic.partitions))
        for topic in request.topics
    )
    call.send(OffsetDelete(request.group_id, topics), call.answer)


def refuse_offset_delete(request: Request, refused: Refused, call: Call) -> Message:
    return OffsetDeleteAnswer(refused.error_code)


OFFSET_DELETE = Api(47, "OffsetDelete", 0, 0, handle_offset_delete, refuse_offset_delete)
