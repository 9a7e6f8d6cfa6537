"""The org's topics are others than before: a topic that is gone takes the offsets with it that were committed to it.

Next hop: consumer/topics_changed.py, where groups find that they have more, fewer or other partitions to share.
"""

from collections.abc import Iterator, Mapping

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
    state.topics = Topics(command.topics, command.rack)
    if command.removed:
        removed = {topic.name: topic for topic in command.removed}
        draft.write(*tuple(_offsets_of(state, removed)))
    on_topics_changed(state, draft)
    draft.answer(token, None)


def _offsets_of(state: GroupsState, removed: Mapping[str, Topic]) -> Iterator[RemoveOffsetRecord]:
    """What was committed to these topics, or to a topic of that name whose id nobody knew."""
    for offset in state.offsets.snapshot():
        topic = removed.get(offset.topic)
        if topic is not None and offset.topic_id in (topic.topic_id, NO_TOPIC_ID):
            yield RemoveOffsetRecord(offset.group_id, offset.topic, offset.partition)
