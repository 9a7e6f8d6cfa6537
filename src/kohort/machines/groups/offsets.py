"""Committed offsets: kept by group, checked, answered."""

from collections.abc import Iterator, Mapping
from typing import Final

from kohort.model.records.groups import OffsetCommitRecord, RemoveOffsetRecord

GroupOffsets = Mapping[tuple[str, int], OffsetCommitRecord]
"""The last commit by topic and partition."""


class Offsets:
    def __init__(self) -> None:
        self._by_group: Final[dict[str, dict[tuple[str, int], OffsetCommitRecord]]] = {}

    def of_group(self, group_id: str) -> GroupOffsets:
        return self._by_group.get(group_id, {})

    def put(self, record: OffsetCommitRecord) -> None:
        self._by_group.setdefault(record.group_id, {})[record.topic, record.partition] = record

    def remove(self, record: RemoveOffsetRecord) -> None:
        offsets = self._by_group.get(record.group_id, {})
        offsets.pop((record.topic, record.partition), None)
        if not offsets:
            self._by_group.pop(record.group_id, None)

    def snapshot(self) -> Iterator[OffsetCommitRecord]:
        for offsets in self._by_group.values():
            yield from offsets.values()
