"""ConsumerGroupHeartbeat: a member of the consumer protocol (KIP-848) comes, is there, tells what it owns, and leaves.

Versions: 0 the coordinator may choose the id of a new member; 1 the member does, and may subscribe by a regex.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import AssignedTopic, ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer, Origin
from kohort.model.errors import Refused
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire.messages import milliseconds

_REGEX_SINCE = 1
_OWN_MEMBER_ID_SINCE = 1


def consumer_group_heartbeat(request: Request, version: int, origin: Origin) -> ConsumerGroupHeartbeat:
    owned = request.topic_partitions
    return ConsumerGroupHeartbeat(
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.instance_id,
        request.rack_id,
        milliseconds(request.rebalance_timeout),
        request.subscribed_topic_names,
        request.subscribed_topic_regex if version >= _REGEX_SINCE else None,
        request.server_assignor,
        None
        if owned is None
        else tuple([AssignedTopic(topic.topic_id or NO_TOPIC_ID, topic.partitions) for topic in owned]),
        version >= _OWN_MEMBER_ID_SINCE,
        origin,
    )


def handle_consumer_group_heartbeat(command: ConsumerGroupHeartbeat, call: Call) -> None:
    call.send(command, call.answer)


def refuse_consumer_group_heartbeat(command: ConsumerGroupHeartbeat, refused: Refused, call: Call) -> Message:
    return ConsumerGroupHeartbeatAnswer(refused.error_code, refused.error_message)


CONSUMER_GROUP_HEARTBEAT = Api(
    68,
    "ConsumerGroupHeartbeat",
    0,
    1,
    handle_consumer_group_heartbeat,
    refuse_consumer_group_heartbeat,
    command=consumer_group_heartbeat,
)
