"""The history of groups: each event that a shard tells becomes a record of the org's topic __group_events.

One JSON object for each, under the id of the group, in the only partition of a topic that is made when the first event
comes, and kept as long as its retention says. Nobody waits for it: an event that cannot be written is told to the log,
and harms nothing. It never decides what an event is; model/group_events.py says what there is to tell.

Next hop: partition.py, as if somebody had produced it.
"""

import json
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from kohort.broker.partition import Partition
from kohort.broker.partitions import Partitions
from kohort.carrier.contract import Answer, AnswerTo
from kohort.model.commands.catalog import CreateInternalTopic
from kohort.model.commands.data import PartitionProduced
from kohort.model.errors import Refused
from kohort.model.group_events import GroupRebalanced
from kohort.model.ids import NO_TOPIC_ID, OrgId
from kohort.store.log import Durability
from kohort.wire.records import NewRecord, encode_batch

_log: Final = logging.getLogger(__name__)

EVENTS_TOPIC: Final = "__group_events"
_CONFIGS: Final = (
    ("cleanup.policy", "delete"),
    ("max.message.bytes", str(64 << 20)),  # a rebalance of 10,000 members is one event of more than 1 MB
    ("retention.ms", str(7 * 24 * 3600 * 1000)),
)
_MOST_WAITING: Final = 1000
"""Events of an org that wait for the topic to be made."""

AskCatalog = Callable[[OrgId, object, AnswerTo], None]


class GroupHistory:
    def __init__(self, partitions: Partitions, ask_catalog: AskCatalog, now_ms: Callable[[], int]) -> None:
        self._partitions: Final = partitions
        self._ask_catalog: Final = ask_catalog
        self._now_ms: Final = now_ms
        self._waiting: Final[dict[OrgId, list[GroupRebalanced]]] = {}

    def tell(self, org_id: OrgId, event: object) -> None:
        """Something happened, and it is durable."""
        try:
            assert isinstance(event, GroupRebalanced)
            self._write(org_id, event)
        except Exception:
            _log.exception("an event of org %d could not be written to its history: %s", org_id, event)

    def _write(self, org_id: OrgId, event: GroupRebalanced) -> None:
        events = self._partitions.find(org_id, EVENTS_TOPIC, NO_TOPIC_ID, 0)
        if events is not None:
            self._append(events, event)
            return
        waiting = self._waiting.setdefault(org_id, [])
        if len(waiting) < _MOST_WAITING:
            waiting.append(event)
        if len(waiting) == 1:
            self._ask_catalog(
                org_id, CreateInternalTopic(EVENTS_TOPIC, 1, _CONFIGS), partial(self._on_topic_made, org_id)
            )

    def _on_topic_made(self, org_id: OrgId, answer: Answer) -> None:
        waiting = self._waiting.pop(org_id, [])
        if isinstance(answer, Refused):
            _log.warning("%d events of groups of org %d are lost: %s", len(waiting), org_id, answer.error_message)
            return
        for event in waiting:
            self.tell(org_id, event)

    def _append(self, events: Partition, event: GroupRebalanced) -> None:
        now_ms = self._now_ms()
        batch = encode_batch([NewRecord(event.group_id.encode(), encode_event(event), now_ms)])
        events.append(batch.data, Durability.OS, now_ms, partial(_appended, event))


def _appended(event: GroupRebalanced, outcome: PartitionProduced) -> None:
    if outcome.error_code:
        _log.warning("an event of group %s is lost: %s", event.group_id, outcome.error_message)


def encode_event(event: GroupRebalanced) -> bytes:
    """As JSON, with the names of the fields."""
    fields = event._asdict()
    fields["moves"] = [move._asdict() for move in event.moves]
    fields["waited_for"] = [waited._asdict() for waited in event.waited_for]
    fields["took_ms"] = event.ended_ms - event.began_ms
    return json.dumps({"event": "GroupRebalanced", **fields}, ensure_ascii=False, separators=(",", ":")).encode()
