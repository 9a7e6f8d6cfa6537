"""What is wrong with a heartbeat by itself, whatever group it is for. In the order, and with the words, of Kafka.

Next hop: heartbeat.py goes on with those that are sound.
"""

from typing import Final

from kohort.machines.groups.classic.join import LONGEST_NAME_BYTES
from kohort.machines.groups.consumer.member import LEAVE_EPOCH, LEFT_FOR_A_WHILE_EPOCH
from kohort.model.commands.groups import NO_TIMEOUT_MS, ConsumerGroupHeartbeat
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.settings import BrokerSettings

MOST_BYTES_OF_A_LETTER: Final = 4


def check_heartbeat(command: ConsumerGroupHeartbeat, settings: BrokerSettings) -> None:
    _check_lengths(command, settings)
    epoch = command.member_epoch
    if command.requires_member_id or epoch > 0 or epoch == LEAVE_EPOCH:
        _check_not_blank(command.member_id, "MemberId")
    _check_not_blank(command.group_id, "GroupId")
    _check_not_blank(command.instance_id, "InstanceId")
    _check_not_blank(command.rack_id, "RackId")
    if epoch == 0:
        _check_join(command)
    elif epoch == LEFT_FOR_A_WHILE_EPOCH:
        _check(command.instance_id is not None, "InstanceId can't be null.")
    else:
        _check(epoch > LEFT_FOR_A_WHILE_EPOCH, "MemberEpoch is invalid.")
    supported = settings.group_consumer_assignors
    if command.server_assignor is not None and command.server_assignor not in supported:
        raise ProtocolError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {command.server_assignor} is not supported. Supported assignors: {', '.join(supported)}.",
        )


def _check_lengths(command: ConsumerGroupHeartbeat, settings: BrokerSettings) -> None:
    """Records have room for so much. Kafka closes the connection on a longer name, and fails to write longer lists."""
    names = command.subscribed_topic_names or ()
    texts = (command.group_id, command.member_id, command.instance_id, command.rack_id, command.subscribed_topic_regex)
    for text in (*texts, command.server_assignor, *names):
        if text and len(text) * MOST_BYTES_OF_A_LETTER > LONGEST_NAME_BYTES:
            is_short = len(text.encode()) <= LONGEST_NAME_BYTES
            _check(is_short, f"A name of more than {LONGEST_NAME_BYTES} bytes was sent.")
    if sum(map(len, names)) > settings.message_max_bytes:
        raise ProtocolError(ErrorCode.UNKNOWN_SERVER_ERROR, "The member's subscription is too large to be written.")


def _check_join(command: ConsumerGroupHeartbeat) -> None:
    """A member may join without subscribing to anything, but it must say so."""
    _check(command.rebalance_timeout_ms != NO_TIMEOUT_MS, "RebalanceTimeoutMs must be provided in first request.")
    _check(command.topic_partitions == (), "TopicPartitions must be empty when (re-)joining.")
    _check(
        command.subscribed_topic_names is not None or command.subscribed_topic_regex is not None,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    )


def _check_not_blank(value: str | None, name: str) -> None:
    _check(value is None or bool(value.strip()), f"{name} can't be empty.")


def _check(is_sound: bool, otherwise: str) -> None:
    if not is_sound:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, otherwise)
