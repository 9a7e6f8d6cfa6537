"""Where things lie: offsets by name and by time, the ends of epochs, and records that are deleted."""

from typing import Any
from uuid import UUID

import pytest

from kohort.broker.offsets import Offsets
from kohort.broker.partitions import Partitions
from kohort.model.commands.data import (
    DeleteRecords,
    ListOffsets,
    OffsetForLeaderEpoch,
    OffsetSpec,
    PartitionEpoch,
    PartitionEpochEnd,
    PartitionOffset,
    PartitionTime,
    PartitionTrim,
    TopicEpochs,
    TopicTimes,
    TopicTrims,
)
from kohort.model.errors import ErrorCode
from kohort.model.ids import DEFAULT_ORG
from kohort.model.topics import Topic, TopicConfig
from kohort.store.log import Durability
from kohort.wire.record_batch import Compression
from kohort.wire.records import NewRecord, encode_batch
from tests.broker.broker_in_memory import (
    START_S,
    BrokerInMemory,
    batch_of,
    fetch,
    fetched,
    produce,
    produced,
    records_of,
)
from tests.broker.doubtful_batches import forged
from tests.broker.test_fetch import ColdStore

T = int(START_S * 1000)


@pytest.fixture
def broker() -> BrokerInMemory:
    """Two batches of three records, neither of them in the order of time."""
    broker = BrokerInMemory()
    broker.create("orders")
    for times in ((T, T + 50, T + 20), (T + 100, T + 150, T + 150)):
        write(broker, *times)
    return broker


def write(broker: BrokerInMemory, *times: int, compression: Compression = Compression.NONE) -> None:
    batch = encode_batch([NewRecord(b"k", b"v", time) for time in times], compression=compression).data
    assert produced(broker.ask(produce("orders", batch))).error_code == 0


def offset(broker: BrokerInMemory, timestamp: int, *, topic: str = "orders", leader_epoch: int = -1) -> PartitionOffset:
    command = ListOffsets((TopicTimes(topic, (PartitionTime(0, timestamp, leader_epoch),)),))
    ((answer,),) = (each.partitions for each in broker.ask(command).topics)
    assert isinstance(answer, PartitionOffset)
    return answer


def found(offset: int, timestamp: int = -1) -> PartitionOffset:
    return PartitionOffset(0, 0, timestamp, offset, 0)


NOTHING = PartitionOffset(0, 0, -1, -1, -1)


def delete_before(broker: BrokerInMemory, offset: int, topic: str = "orders") -> tuple[int, int]:
    command = DeleteRecords((TopicTrims(topic, (PartitionTrim(0, offset),)),), 1000)
    ((answer,),) = (each.partitions for each in broker.ask(command).topics)
    return answer.error_code, answer.low_watermark


# ListOffsets


@pytest.mark.parametrize(
    ("timestamp", "answer"),
    [
        (OffsetSpec.LATEST, found(6)),
        (OffsetSpec.EARLIEST, found(0)),
        (OffsetSpec.EARLIEST_LOCAL, found(0)),
        (OffsetSpec.MAX_TIMESTAMP, found(4, T + 150)),
        (OffsetSpec.LATEST_TIERED, NOTHING),
        (OffsetSpec.EARLIEST_PENDING_UPLOAD, NOTHING),
        (0, found(0, T)),
        (T, found(0, T)),
        (T + 1, found(1, T + 50)),
        (T + 50, found(1, T + 50)),
        (T + 51, found(3, T + 100)),
        (T + 150, found(4, T + 150)),
        (T + 151, NOTHING),
    ],
)
def test_every_name_and_time_stands_for_the_offset_that_kafka_answers(
    broker: BrokerInMemory, timestamp: int, answer: PartitionOffset
) -> None:
    assert offset(broker, timestamp) == answer


def test_the_record_of_a_time_is_found_in_a_compressed_batch(broker: BrokerInMemory) -> None:
    write(broker, T + 200, T + 300, T + 400, compression=Compression.ZSTD)
    assert offset(broker, T + 250) == found(7, T + 300)


def test_a_record_before_the_start_of_the_log_does_not_count(broker: BrokerInMemory) -> None:
    delete_before(broker, 2)
    assert offset(broker, OffsetSpec.EARLIEST) == found(2)
    assert offset(broker, T) == found(2, T + 20)
    # The batch that the log finds by its greatest time has lost the record that had it.
    assert offset(broker, T + 30) == found(3, T + 100)


def test_an_empty_log_has_an_end_and_no_times(broker: BrokerInMemory) -> None:
    broker.create("empty")
    assert offset(broker, OffsetSpec.LATEST, topic="empty") == found(0)
    for timestamp in (OffsetSpec.MAX_TIMESTAMP, T):
        assert offset(broker, timestamp, topic="empty") == NOTHING


def test_what_stands_for_nothing_is_refused(broker: BrokerInMemory) -> None:
    assert offset(broker, -7).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert offset(broker, T, topic="nobody").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert offset(broker, T, leader_epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert offset(broker, T, leader_epoch=-2).error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_partition_named_twice_is_refused(broker: BrokerInMemory) -> None:
    command = ListOffsets((TopicTimes("orders", (PartitionTime(0, T), PartitionTime(0, T), PartitionTime(1, T))),))
    (topic,) = broker.ask(command).topics
    codes = [each.error_code for each in topic.partitions]
    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_records_that_cannot_be_read_have_no_times(broker: BrokerInMemory) -> None:
    garbage = forged(bytes(batch_of(["v"], T + 1000)), records=b"garbage!")
    broker.ask(produce("orders", garbage))
    assert offset(broker, T + 1000).error_code == ErrorCode.CORRUPT_MESSAGE


def test_a_time_is_looked_up_on_a_disk_that_takes_its_time() -> None:
    store = ColdStore()
    partitions = Partitions(store)  # type: ignore[arg-type]
    partitions.put(Topic(DEFAULT_ORG, "orders", UUID(int=7), 1, {}), TopicConfig())
    (log,) = store.opened
    partition = partitions.named(DEFAULT_ORG, "orders", 0)
    partition.append(batch_of(["a", "b"], T), Durability.FSYNC, T, lambda outcome: None)
    log.finish()
    log.reads_are_late = True
    answers: list[Any] = []
    command = ListOffsets((TopicTimes("orders", (PartitionTime(0, T), PartitionTime(0 + 1, T))),))
    pending = Offsets(partitions).handle_list_offsets(DEFAULT_ORG, command, answers.append)
    assert (pending is None, answers) == (False, [])
    log.bring_reads()
    (topic,) = answers[0].topics
    assert topic.partitions[0] == found(0, T)


# OffsetForLeaderEpoch


def test_the_current_epoch_ends_at_the_end_and_no_other_is_known(broker: BrokerInMemory) -> None:
    asked = (PartitionEpoch(0, 0), PartitionEpoch(0, 1), PartitionEpoch(0, 0, 1), PartitionEpoch(9, 0))
    ((*ends,),) = (each.partitions for each in broker.ask(OffsetForLeaderEpoch((TopicEpochs("orders", asked),))).topics)
    assert ends == [
        PartitionEpochEnd(0, 0, 0, 6),
        PartitionEpochEnd(0, 0, -1, -1),
        PartitionEpochEnd(0, ErrorCode.UNKNOWN_LEADER_EPOCH),
        PartitionEpochEnd(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


# DeleteRecords


def test_deleted_records_are_not_fetched_and_the_start_never_goes_back(broker: BrokerInMemory) -> None:
    assert delete_before(broker, 4) == (0, 4)
    assert delete_before(broker, 2) == (0, 4)
    assert fetched(broker.ask(fetch({("orders", 0): 3})))["orders", 0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    answer = fetched(broker.ask(fetch({("orders", 0): 4})))["orders", 0]
    assert answer.log_start_offset == 4
    assert [record.offset for record in records_of(answer)] == [3, 4, 5], "as in Kafka, batches come whole"


def test_everything_can_be_deleted(broker: BrokerInMemory) -> None:
    assert delete_before(broker, -1) == (0, 6)
    assert fetched(broker.ask(fetch({("orders", 0): 6})))["orders", 0].records == ()
    assert broker.produce("orders", "next").base_offset == 6


def test_what_is_not_there_or_not_to_be_deleted_stays(broker: BrokerInMemory) -> None:
    broker.create("kept", cleanup_policy="compact")
    assert delete_before(broker, 7)[0] == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete_before(broker, -2)[0] == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete_before(broker, 0, "kept")[0] == ErrorCode.POLICY_VIOLATION
    assert delete_before(broker, 0, "nobody")[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
