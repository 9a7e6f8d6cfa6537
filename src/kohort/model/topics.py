"""A topic and how it is kept: what the catalog decides and the data path goes by."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from uuid import UUID

from kohort.model.ids import OrgId

DAY_MS = 24 * 3600 * 1000
FOREVER_MS = (1 << 63) - 1


class TimestampType(Enum):
    """Whose clock a record's timestamp is from."""

    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """Kafka's topic settings as values: the topic's own where it has one, else the broker's."""

    cleanup_delete: bool = True
    cleanup_compact: bool = False
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = DAY_MS
    file_delete_delay_ms: int = 60_000
    index_interval_bytes: int = 4096
    max_compaction_lag_ms: int = FOREVER_MS
    max_message_bytes: int = 1_048_588
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_before_max_ms: int = FOREVER_MS
    message_timestamp_after_max_ms: int = 3_600_000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    retention_bytes: int = -1
    retention_ms: int = 7 * DAY_MS
    segment_bytes: int = 1 << 30
    segment_index_bytes: int = 10 << 20
    segment_ms: int = 7 * DAY_MS


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of an org. `configs` are the settings it was given itself, as text, by Kafka's names."""

    org_id: OrgId
    name: str
    topic_id: UUID
    partitions: int
    configs: Mapping[str, str]
    is_internal: bool = False
