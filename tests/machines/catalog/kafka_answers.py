"""What Apache Kafka 4.3.1 answered when it was asked the same: captured, not made up.

One broker of id 1 with default settings, asked over the wire by a script, November 2026.
"""

from kohort.model.commands.catalog import NewTopic

CREATE_TOPICS: tuple[tuple[NewTopic, int, str | None], ...] = (
    (NewTopic(""), 17, "Topic name is invalid: the empty string is not allowed"),
    (NewTopic("."), 17, "Topic name is invalid: '.' is not allowed"),
    (NewTopic(".."), 17, "Topic name is invalid: '..' is not allowed"),
    (
        NewTopic("a" * 250),
        17,
        f"Topic name is invalid: the length of '{'a' * 250}' is longer than the max allowed length 249",
    ),
    (
        NewTopic("a b"),
        17,
        "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
    ),
    (
        NewTopic("é"),
        17,
        "Topic name is invalid: 'é' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
    ),
    (NewTopic("__cluster_metadata"), 42, "Creation of internal topic __cluster_metadata is prohibited."),
    (NewTopic("c0", 0), 37, "Number of partitions was set to an invalid non-positive value."),
    (NewTopic("c-2", -2), 37, "Number of partitions was set to an invalid non-positive value."),
    (NewTopic("c-1", -1, -1), 0, None),
    (NewTopic("rf1", 1, 1), 0, None),
    (NewTopic("rf0", 1, 0), 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    (NewTopic("rf-2", 1, -2), 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    (NewTopic("both0", 0, 0), 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    (NewTopic("big", 10_001), 44, "Excessively large number of partitions per request."),
    (NewTopic("as1", assignments=((0, (1,)),)), 0, None),
    (
        NewTopic("as2", 1, assignments=((0, (1,)),)),
        42,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    (
        NewTopic("as3", -1, 1, assignments=((0, (1,)),)),
        42,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    ),
    (
        NewTopic("as4", assignments=((0, (1,)), (2, (1,)))),
        39,
        "partitions should be a consecutive 0-based integer sequence",
    ),
    (
        NewTopic("as5", assignments=((0, (2,)),)),
        39,
        "The manual partition assignment includes broker 2, but no such broker is registered.",
    ),
    (
        NewTopic("as6", assignments=((0, (1, 1)),)),
        39,
        "The manual partition assignment includes the broker 1 more than once.",
    ),
    (NewTopic("as7", assignments=((0, ()),)), 39, "The manual partition assignment includes an empty replica list."),
    (
        NewTopic("as8", assignments=((0, (1,)), (0, (1,)))),
        39,
        "Found multiple manual partition assignments for partition 0",
    ),
    (
        NewTopic("as15", assignments=((1, (2,)),)),
        39,
        "The manual partition assignment includes broker 2, but no such broker is registered.",
    ),
)
"""A topic that is asked for, the error code and the message."""

_COMPRESSION = "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"
_REPLICAS = (
    "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: "
    "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
)

TOPIC_CONFIGS: tuple[tuple[tuple[tuple[str, str | None], ...], str | None], ...] = (
    ((("nope", "1"),), "Unknown topic config name: nope"),
    ((("nope", None),), "Null value not supported for topic configs: nope"),
    ((("retention.ms", "x"),), "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    ((("retention.ms", None),), "Null value not supported for topic configs: retention.ms"),
    ((("retention.ms", "-2"),), "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
    ((("retention.ms", "0"),), None),
    ((("retention.ms", " 5 "),), None),
    ((("retention.ms", "+5"),), None),
    ((("retention.ms", "0x5"),), "Invalid value 0x5 for configuration retention.ms: Not a number of type LONG"),
    ((("retention.ms", "1_0"),), "Invalid value 1_0 for configuration retention.ms: Not a number of type LONG"),
    ((("retention.ms", ""),), "Invalid value  for configuration retention.ms: Not a number of type LONG"),
    (
        (("retention.ms", "99999999999999999999"),),
        "Invalid value 99999999999999999999 for configuration retention.ms: Not a number of type LONG",
    ),
    ((("cleanup.policy", ""),), None),
    ((("cleanup.policy", "delete,delete"),), None),
    ((("cleanup.policy", " compact , delete "),), None),
    (
        (("cleanup.policy", "foo"),),
        "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
    ),
    ((("cleanup.policy", "compact,"),), "Configuration 'cleanup.policy' values must not be empty."),
    ((("cleanup.policy", ","),), "Configuration 'cleanup.policy' values must not be empty."),
    ((("compression.type", "brotli"),), f"Invalid value brotli for configuration compression.type: {_COMPRESSION}"),
    ((("compression.type", "none"),), f"Invalid value none for configuration compression.type: {_COMPRESSION}"),
    (
        (("compression.gzip.level", "0"),),
        "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
    ),
    ((("compression.gzip.level", "-1"),), None),
    (
        (("compression.lz4.level", "18"),),
        "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17",
    ),
    (
        (("compression.zstd.level", "23"),),
        "Invalid value 23 for configuration compression.zstd.level: Value must be no more than 22",
    ),
    (
        (("compression.zstd.level", "-131073"),),
        "Invalid value -131073 for configuration compression.zstd.level: Value must be at least -131072",
    ),
    (
        (("preallocate", "yes"),),
        "Invalid value yes for configuration preallocate: Expected value to be either true or false",
    ),
    ((("preallocate", " TRUE "),), None),
    (
        (("segment.bytes", "1048575"),),
        "Invalid value 1048575 for configuration segment.bytes: Value must be at least 1048576",
    ),
    (
        (("segment.bytes", "2147483648"),),
        "Invalid value 2147483648 for configuration segment.bytes: Not a number of type INT",
    ),
    (
        (("min.cleanable.dirty.ratio", "1.1"),),
        "Invalid value 1.1 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
    ),
    ((("min.cleanable.dirty.ratio", "1e-1"),), None),
    (
        (("min.cleanable.dirty.ratio", "x"),),
        "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE",
    ),
    (
        (("leader.replication.throttled.replicas", "foo"),),
        f"Invalid value [foo] for configuration leader.replication.throttled.replicas: {_REPLICAS}",
    ),
    ((("leader.replication.throttled.replicas", "*"),), None),
    ((("leader.replication.throttled.replicas", "0:1,1:2"),), None),
    (
        (("leader.replication.throttled.replicas", "*,0:1"),),
        f"Invalid value [*, 0:1] for configuration leader.replication.throttled.replicas: {_REPLICAS}",
    ),
    (
        (("remote.storage.enable", "true"),),
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
    ),
    ((("remote.log.copy.disable", "true"),), None),
    (
        (("local.retention.ms", "-3"),),
        "Invalid value -3 for configuration local.retention.ms: Value must be at least -2",
    ),
    ((("local.retention.ms", "800000000"),), None),
    (
        (("max.compaction.lag.ms", "5"), ("min.compaction.lag.ms", "6")),
        "conflict topic config setting min.compaction.lag.ms (6) > max.compaction.lag.ms (5)",
    ),
    (
        (("max.compaction.lag.ms", "0"),),
        "Invalid value 0 for configuration max.compaction.lag.ms: Value must be at least 1",
    ),
    ((("message.format.version", "3.0-IV1"),), "Unknown topic config name: message.format.version"),
    (
        (("message.timestamp.type", "createtime"),),
        "Invalid value createtime for configuration message.timestamp.type: "
        "String must be one of: CreateTime, LogAppendTime",
    ),
    ((("max.message.bytes", "-1"),), "Invalid value -1 for configuration max.message.bytes: Value must be at least 0"),
    ((("segment.ms", "0"),), "Invalid value 0 for configuration segment.ms: Value must be at least 1"),
    ((("segment.jitter.ms", "-1"),), "Invalid value -1 for configuration segment.jitter.ms: Value must be at least 0"),
    ((("flush.ms", "-1"),), "Invalid value -1 for configuration flush.ms: Value must be at least 0"),
    ((("flush.messages", "0"),), "Invalid value 0 for configuration flush.messages: Value must be at least 1"),
    (
        (("segment.index.bytes", "3"),),
        "Invalid value 3 for configuration segment.index.bytes: Value must be at least 4",
    ),
    ((("segment.index.bytes", "4"),), None),
    (
        (("index.interval.bytes", "-1"),),
        "Invalid value -1 for configuration index.interval.bytes: Value must be at least 0",
    ),
    (
        (("min.insync.replicas", "0"),),
        "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
    ),
    ((("min.insync.replicas", "3"),), None),
    (
        (("delete.retention.ms", "-1"),),
        "Invalid value -1 for configuration delete.retention.ms: Value must be at least 0",
    ),
    (
        (("file.delete.delay.ms", "-1"),),
        "Invalid value -1 for configuration file.delete.delay.ms: Value must be at least 0",
    ),
    (
        (("message.timestamp.before.max.ms", "-1"),),
        "Invalid value -1 for configuration message.timestamp.before.max.ms: Value must be at least 0",
    ),
    ((("retention.bytes", "-2"),), None),
    (
        (("unclean.leader.election.enable", "maybe"),),
        "Invalid value maybe for configuration unclean.leader.election.enable: "
        "Expected value to be either true or false",
    ),
)
"""The settings of a topic that is made, and why they are refused with INVALID_CONFIG; None if they are not."""

DESCRIBED_TOPIC: tuple[tuple[str, str, int, tuple[str, ...]], ...] = (
    ("cleanup.policy", "delete", 7, ("log.cleanup.policy",)),
    ("compression.gzip.level", "-1", 3, ("compression.gzip.level",)),
    ("compression.lz4.level", "9", 3, ("compression.lz4.level",)),
    ("compression.type", "producer", 2, ("compression.type",)),
    ("compression.zstd.level", "3", 3, ("compression.zstd.level",)),
    ("delete.retention.ms", "86400000", 5, ("log.cleaner.delete.retention.ms",)),
    ("file.delete.delay.ms", "60000", 5, ("log.segment.delete.delay.ms",)),
    ("flush.messages", "9223372036854775807", 5, ("log.flush.interval.messages",)),
    ("flush.ms", "9223372036854775807", 5, ()),
    ("follower.replication.throttled.replicas", "", 7, ()),
    ("index.interval.bytes", "4096", 3, ("log.index.interval.bytes",)),
    ("leader.replication.throttled.replicas", "", 7, ()),
    ("local.retention.bytes", "-2", 5, ("log.local.retention.bytes",)),
    ("local.retention.ms", "-2", 5, ("log.local.retention.ms",)),
    ("max.compaction.lag.ms", "9223372036854775807", 5, ("log.cleaner.max.compaction.lag.ms",)),
    ("max.message.bytes", "1048588", 3, ("message.max.bytes",)),
    ("message.timestamp.after.max.ms", "3600000", 5, ("log.message.timestamp.after.max.ms",)),
    ("message.timestamp.before.max.ms", "9223372036854775807", 5, ("log.message.timestamp.before.max.ms",)),
    ("message.timestamp.type", "CreateTime", 2, ("log.message.timestamp.type",)),
    ("min.cleanable.dirty.ratio", "0.5", 6, ("log.cleaner.min.cleanable.ratio",)),
    ("min.compaction.lag.ms", "0", 5, ("log.cleaner.min.compaction.lag.ms",)),
    ("min.insync.replicas", "1", 3, ("min.insync.replicas",)),
    ("preallocate", "false", 1, ("log.preallocate",)),
    ("remote.log.copy.disable", "false", 1, ()),
    ("remote.log.delete.on.disable", "false", 1, ()),
    ("remote.storage.enable", "false", 1, ()),
    ("retention.bytes", "-1", 5, ("log.retention.bytes",)),
    ("retention.ms", "604800000", 5, ("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
    ("segment.bytes", "1073741824", 3, ("log.segment.bytes",)),
    ("segment.index.bytes", "10485760", 3, ("log.index.size.max.bytes",)),
    ("segment.jitter.ms", "0", 5, ("log.roll.jitter.ms", "log.roll.jitter.hours")),
    ("segment.ms", "604800000", 5, ("log.roll.ms", "log.roll.hours")),
    ("unclean.leader.election.enable", "false", 1, ("unclean.leader.election.enable",)),
)
"""Every setting of a topic that sets none: name, value, type, and the broker settings that stand in for it.
None is read-only, and all but min.insync.replicas say they are defaults: Kafka sets that one itself, cluster-wide."""
