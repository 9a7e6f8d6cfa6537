"""What deciding a command comes to: the records to write, and the answer once they are durable."""

from typing import NamedTuple

from kohort.model.records.catalog import CatalogRecord


class Outcome(NamedTuple):
    records: tuple[CatalogRecord, ...]
    answer: object
