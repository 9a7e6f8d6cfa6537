"""ListOffsets: the offset of a time, or of the beginning or end of a partition.

Versions: 1 one offset for each partition; 2 isolation_level; 4 leader epochs; 6 flexible; 7 MAX_TIMESTAMP;
8 EARLIEST_LOCAL; 9 LATEST_TIERED; 10 timeout, for tiered storage, of which there is none here; 11
EARLIEST_PENDING_UPLOAD. A meaning asked for in a version before it existed is answered UNSUPPORTED_VERSION.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from collections.abc import Iterable
from functools import partial

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.data import (
    ListOffsets,
    OffsetsListed,
    OffsetSpec,
    PartitionOffset,
    PartitionTime,
    TopicOffsets,
    TopicTimes,
)
from kohort.model.errors import ErrorCode, Refused

_ISOLATION_LEVEL_SINCE = 2
_LEADER_EPOCH_SINCE = 4
_READ_COMMITTED = 1
_MEANING_SINCE = {
    OffsetSpec.LATEST: 1,
    OffsetSpec.EARLIEST: 1,
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}


def _is_supported(timestamp: int, version: int) -> bool:
    return timestamp >= 0 or version >= _MEANING_SINCE.get(timestamp, version + 1)  # type: ignore[call-overload]


def handle_list_offsets(request: Request, call: Call) -> None:
    version = call.version
    asked = tuple(
        TopicTimes(
            topic.name,
            tuple(
                PartitionTime(
                    partition.partition_index,
                    partition.timestamp,
                    partition.current_leader_epoch if version >= _LEADER_EPOCH_SINCE else -1,
                )
                for partition in topic.partitions
                if _is_supported(partition.timestamp, version)
            ),
        )
        for topic in request.topics
    )
    read_committed = version >= _ISOLATION_LEVEL_SINCE and request.isolation_level == _READ_COMMITTED
    call.send(ListOffsets(asked, read_committed), partial(_answer, request, call))


def _answer(request: Request, call: Call, listed: OffsetsListed) -> None:
    unsupported = [
        TopicOffsets(topic.name, refused)
        for topic in request.topics
        if (
            refused := _refused(
                (part.partition_index for part in topic.partitions if not _is_supported(part.timestamp, call.version)),
                ErrorCode.UNSUPPORTED_VERSION,
            )
        )
    ]
    call.answer(OffsetsListed((*listed.topics, *unsupported)) if unsupported else listed)


def _refused(partitions: Iterable[int], error_code: ErrorCode) -> tuple[PartitionOffset, ...]:
    return tuple(PartitionOffset(index, error_code) for index in partitions)


def refuse_list_offsets(request: Request, refused: Refused, call: Call) -> Message:
    return OffsetsListed(
        tuple(
            TopicOffsets(topic.name, _refused((p.partition_index for p in topic.partitions), refused.error_code))
            for topic in request.topics
        )
    )


LIST_OFFSETS = Api(2, "ListOffsets", 1, 11, handle_list_offsets, refuse_list_offsets)
