"""Making the topics that the broker keeps for itself, such as __consumer_offsets: once for each org, on first use."""

from kohort.machines.catalog.fresh_ids import fresh_ids
from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import CatalogState
from kohort.machines.contract import Moment
from kohort.model.commands.catalog import CreateInternalTopic, TopicOutcome
from kohort.model.errors import ErrorCode
from kohort.model.ids import OrgId
from kohort.model.records.catalog import TopicRecord
from kohort.model.topics import Topic


def handle_create_internal_topic(
    state: CatalogState, org_id: OrgId, command: CreateInternalTopic, moment: Moment
) -> Outcome:
    existing = state.topic(org_id, command.name)
    if existing is not None:
        return Outcome((), _outcome(existing))
    topic_id = next(fresh_ids(moment))
    topic = Topic(org_id, command.name, topic_id, command.num_partitions, dict(command.configs), is_internal=True)
    return Outcome((TopicRecord(topic),), _outcome(topic))


def _outcome(topic: Topic) -> TopicOutcome:
    return TopicOutcome(topic.name, ErrorCode.NONE, topic_id=topic.topic_id, num_partitions=topic.partitions)
