"""One file for each Kafka API: which versions work, and how a request becomes a command and an answer a message.

The table below is what connection.py goes by and what ApiVersions tells. Only what works is in it.
"""

from collections.abc import Mapping
from typing import Final

from kohort.gateway.apis.alter_configs import ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from kohort.gateway.apis.api_versions import api_versions
from kohort.gateway.apis.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kohort.gateway.apis.consumer_group_heartbeat import CONSUMER_GROUP_HEARTBEAT
from kohort.gateway.apis.create_partitions import CREATE_PARTITIONS
from kohort.gateway.apis.create_topics import CREATE_TOPICS
from kohort.gateway.apis.delete_groups import DELETE_GROUPS
from kohort.gateway.apis.delete_records import DELETE_RECORDS
from kohort.gateway.apis.delete_topics import DELETE_TOPICS
from kohort.gateway.apis.describe_cluster import DESCRIBE_CLUSTER
from kohort.gateway.apis.describe_configs import DESCRIBE_CONFIGS
from kohort.gateway.apis.describe_groups import DESCRIBE_GROUPS
from kohort.gateway.apis.describe_log_dirs import DESCRIBE_LOG_DIRS
from kohort.gateway.apis.describe_producers import DESCRIBE_PRODUCERS
from kohort.gateway.apis.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from kohort.gateway.apis.fetch import FETCH
from kohort.gateway.apis.find_coordinator import FIND_COORDINATOR
from kohort.gateway.apis.heartbeat import HEARTBEAT
from kohort.gateway.apis.init_producer_id import INIT_PRODUCER_ID
from kohort.gateway.apis.join_group import JOIN_GROUP
from kohort.gateway.apis.leave_group import LEAVE_GROUP
from kohort.gateway.apis.list_config_resources import LIST_CONFIG_RESOURCES
from kohort.gateway.apis.list_groups import LIST_GROUPS
from kohort.gateway.apis.list_offsets import LIST_OFFSETS
from kohort.gateway.apis.metadata import METADATA
from kohort.gateway.apis.offset_commit import OFFSET_COMMIT
from kohort.gateway.apis.offset_delete import OFFSET_DELETE
from kohort.gateway.apis.offset_fetch import OFFSET_FETCH
from kohort.gateway.apis.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from kohort.gateway.apis.produce import PRODUCE
from kohort.gateway.apis.sync_group import SYNC_GROUP
from kohort.gateway.call import Api

_ALL_BUT_API_VERSIONS: Final = (
    PRODUCE,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    FIND_COORDINATOR,
    JOIN_GROUP,
    HEARTBEAT,
    LEAVE_GROUP,
    SYNC_GROUP,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DELETE_RECORDS,
    INIT_PRODUCER_ID,
    OFFSET_FOR_LEADER_EPOCH,
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    DESCRIBE_LOG_DIRS,
    CREATE_PARTITIONS,
    DELETE_GROUPS,
    INCREMENTAL_ALTER_CONFIGS,
    OFFSET_DELETE,
    DESCRIBE_CLUSTER,
    DESCRIBE_PRODUCERS,
    CONSUMER_GROUP_HEARTBEAT,
    CONSUMER_GROUP_DESCRIBE,
    LIST_CONFIG_RESOURCES,
    DESCRIBE_TOPIC_PARTITIONS,
)

APIS: Final[Mapping[int, Api]] = {api.key: api for api in (*_ALL_BUT_API_VERSIONS, api_versions(_ALL_BUT_API_VERSIONS))}
