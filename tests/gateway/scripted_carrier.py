"""A broker of few words: it answers each command at once, later, or never, as the test has told it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kohort.carrier.contract import Answer, AnswerTo
from kohort.model.commands import catalog, data, groups
from kohort.model.errors import ErrorCode, Refused
from kohort.model.ids import NO_TOPIC_ID, OrgId


@dataclass
class Owed:
    """A command whose answer the test gives."""

    command: object
    answer_to: AnswerTo
    answer: Answer
    is_forgotten: bool = False
    hurries: int = 0
    on_hurry: Callable[["Owed"], None] = lambda owed: None

    def give(self) -> None:
        self.answer_to(self.answer)

    def forget(self) -> None:
        self.is_forgotten = True

    def hurry(self) -> None:
        self.hurries += 1
        self.on_hurry(self)


@dataclass
class ScriptedCarrier:
    """`holds` says which commands wait for the test; `script` answers, plausibly unless it is replaced."""

    holds: tuple[type, ...] = ()
    script: Callable[[object], Answer] = field(default=lambda command: plausible_answer(command))
    commands: list[object] = field(default_factory=list)
    owed: list[Owed] = field(default_factory=list)

    def send(self, org_id: OrgId, command: object, answer_to: AnswerTo) -> Owed | None:
        self.commands.append(command)
        answer = self.script(command)
        if not isinstance(command, self.holds):
            answer_to(answer)
            return None
        owed = Owed(command, answer_to, answer)
        self.owed.append(owed)
        return owed


def refusing(code: ErrorCode, message: str | None = None) -> Callable[[object], Answer]:
    return lambda command: Refused(code, message)


_CONFIG = catalog.ConfigEntry(
    "retention.ms",
    "1000",
    catalog.ConfigSource.DYNAMIC_TOPIC,
    catalog.ConfigType.LONG,
    synonyms=(catalog.ConfigSynonym("log.retention.ms", "1000", catalog.ConfigSource.STATIC_BROKER),),
    documentation="How long records are kept.",
)
_BROKER = catalog.BrokerInfo(1, "kohort.example", 9092, "rack-1")
_TOPIC = catalog.TopicMetadata(0, "orders", NO_TOPIC_ID, False, (catalog.PartitionMetadata(0, 1, 0, (1,), (1,)),))


def plausible_answer(command: object) -> Answer:
    """An answer of the right type that says something in each of its fields."""
    match command:
        case data.Produce(topics):
            return data.Produced(
                tuple(
                    data.TopicProduced(
                        topic.name,
                        topic.topic_id,
                        tuple(
                            data.PartitionProduced(part.index, 0, 7, log_start_offset=0) for part in topic.partitions
                        ),
                    )
                    for topic in topics
                )
            )
        case data.Fetch():
            partition = data.PartitionFetched(0, 0, 9, 9, 0, (b"some", memoryview(b"records")))
            return data.Fetched(0, 5, (data.TopicFetched("orders", NO_TOPIC_ID, (partition,)),))
        case data.ListOffsets(topics):
            return data.OffsetsListed(
                tuple(
                    data.TopicOffsets(
                        topic.name, tuple(data.PartitionOffset(p.partition_index, 0, 5, 6, 0) for p in topic.partitions)
                    )
                    for topic in topics
                )
            )
        case data.OffsetForLeaderEpoch():
            return data.EpochEnds((data.TopicEpochEnds("orders", (data.PartitionEpochEnd(0, 0, 0, 4),)),))
        case data.DeleteRecords():
            return data.RecordsDeleted((data.TopicTrimmed("orders", (data.PartitionTrimmed(0, 0, 3),)),))
        case data.DescribeProducers():
            producer = data.ProducerDescribed(7, 0, 3, 1000)
            producers = data.PartitionProducers(0, 0, None, (producer,))
            return data.ProducersDescribed((data.TopicProducers("orders", (producers,)),))
        case data.DescribeLogDirs():
            sizes = (data.TopicSizes("orders", (data.PartitionSize(0, 4096),)),)
            return data.LogDirsDescribed((data.LogDirDescribed(0, "/var/lib/kohort", sizes, 100, 50),))
        case data.InitProducerId():
            return data.ProducerIdGiven(0, 4000, 0)
        case catalog.Metadata():
            return catalog.MetadataAnswer("cluster", 1, (_BROKER,), (_TOPIC,))
        case catalog.DescribeCluster():
            return catalog.ClusterDescribed("cluster", 1, (_BROKER,))
        case catalog.DescribeTopicPartitions():
            return catalog.TopicPartitionsDescribed((_TOPIC,), catalog.Cursor("orders", 1))
        case catalog.CreateTopics() | catalog.DeleteTopics() | catalog.CreatePartitions():
            outcome = catalog.TopicOutcome("orders", 0, None, NO_TOPIC_ID, 1, 1, (_CONFIG,))
            return catalog.TopicsAnswer((outcome,))
        case catalog.DescribeConfigs() | catalog.AlterConfigs():
            resource = catalog.Resource(catalog.ResourceType.TOPIC, "orders")
            return catalog.ConfigsAnswer((catalog.ResourceOutcome(resource, 0, None, (_CONFIG,)),))
        case catalog.ListConfigResources():
            return catalog.ConfigResourcesListed(0, (catalog.Resource(catalog.ResourceType.TOPIC, "orders"),))
        case _:
            return _plausible_answer_about_groups(command)


_ASSIGNED = (groups.DescribedTopic(NO_TOPIC_ID, "orders", (0, 1)),)


def _plausible_answer_about_groups(command: object) -> Answer:
    match command:
        case groups.JoinGroup():
            members = (groups.JoinedMember("m1", b"metadata", "instance"),)
            return groups.JoinGroupAnswer(0, 3, "range", "m1", "m1", members, "consumer", True)
        case groups.SyncGroup():
            return groups.SyncGroupAnswer(0, b"assignment", "consumer", "range")
        case groups.Heartbeat():
            return groups.HeartbeatAnswer(0)
        case groups.LeaveGroup(members=leaving):
            left = tuple(groups.LeftMember(each.member_id, each.group_instance_id, 0) for each in leaving)
            return groups.LeaveGroupAnswer(0, left)
        case groups.OffsetCommit(topics=topics):
            return groups.OffsetCommitAnswer(
                tuple(
                    groups.TopicCommitted(
                        topic.name,
                        tuple(groups.PartitionCommitted(index, 0) for index in topic.partition_indexes),
                        topic.topic_id,
                    )
                    for topic in topics
                )
            )
        case groups.OffsetFetch(group_id):
            partitions = (groups.PartitionOffsetFetched(0, 5, "metadata", 0, 3), groups.PartitionOffsetFetched(1))
            return groups.OffsetFetchAnswer(group_id, (groups.TopicOffsetsFetched("orders", partitions),))
        case groups.OffsetDelete():
            outcome = groups.TopicCommitted("orders", (groups.PartitionCommitted(0, 0),))
            return groups.OffsetDeleteAnswer(0, (outcome,))
        case groups.ConsumerGroupHeartbeat():
            assignment = groups.Assignment((groups.AssignedTopic(NO_TOPIC_ID, (0, 1)),))
            return groups.ConsumerGroupHeartbeatAnswer(0, None, "m1", 3, 1000, assignment)
        case groups.ListGroups():
            listed = groups.ListedGroup("g", "consumer", "Stable", "consumer", "cgp_1")
            return groups.ListGroupsAnswer(0, (listed,))
        case groups.DescribeGroup(group_id):
            described = groups.DescribedMember("m1", "instance", "client", "/127.0.0.1", b"metadata", b"assignment")
            return groups.GroupDescribed(0, group_id, "Stable", "consumer", "range", (described,))
        case groups.ConsumerGroupDescribe(group_id):
            assignment_now = groups.DescribedAssignment(_ASSIGNED)
            consumer = groups.DescribedConsumer(
                "m1", None, "rack", 3, "client", "/127.0.0.1", ("orders",), "o.*", assignment_now, assignment_now
            )
            return groups.ConsumerGroupDescribed(0, group_id, "Stable", 3, 3, "uniform", (consumer,))
        case groups.DeleteGroup(group_id):
            return groups.GroupDeleted(group_id, 0)
        case _:
            raise AssertionError(f"no answer is written for {command}")
