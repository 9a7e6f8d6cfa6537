"""The org's topics are others than before: a topic that is gone takes the offsets with it that were committed to it.

Next hop: consumer/topics_changed.py, where groups find that they have more, fewer or other partitions to share.
"""

from collections.abc import Iterator

from kohort.machines.contract import Token
from kohort.machines.groups.consumer.topics_changed import on_topics_changed
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.machines.groups.topics import Topics
from kohort.model.commands.groups import TopicsChanged
from kohort.model.ids import NO_TOPIC_ID
from kohort.model.records.groups import RemoveOffsetRecord
from kohort.model.topics import Topic


def handle_topics_changed(state: GroupsState, command: TopicsChanged, token: Token, draft: Draft) -> None:
    before, state.topics = state.topics, Topics(command.topics, command.rack)
    for topic in command.removed:
        draft.write(*tuple(_offsets_of(state, topic)))
    on_topics_changed(state, before, draft)
    draft.answer(token, None)


def _offsets_of(state: GroupsState, topic: Topic) -> Iterator[RemoveOffsetRecord]:
    """What was committed to this topic, or to one of its name whose id nobody knew."""
    for group_id, offsets in state.offsets.of_topic(topic.name):
        for record in offsets.records():
            if record.topic_id in (topic.topic_id, NO_TOPIC_ID):
                for partition in record.partitions:
                    yield RemoveOffsetRecord(group_id, topic.name, partition)
