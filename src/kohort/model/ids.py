"""Names for the identities that cross rooms, so that a type checker tells an offset from an epoch."""

from typing import Final, NamedTuple, NewType
from uuid import UUID

OrgId = NewType("OrgId", int)
"""The tenant a command acts for. It rides on the carrier, never in a command."""

BrokerId = NewType("BrokerId", int)
ProducerId = NewType("ProducerId", int)
TopicId = UUID
TopicName = str
PartitionIndex = int
Offset = int

DEFAULT_ORG: Final = OrgId(0)
NO_TOPIC_ID: Final = UUID(int=0)


class TopicPartition(NamedTuple):
    """A partition of a topic by its name, as people write it: orders-0."""

    topic: TopicName
    partition: PartitionIndex

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
