"""The catalog's records as keys and values of a log: the key says which kind and version, the value is postcard.

A version is never changed once a release has written it. A record that gets another shape gets another key, and the
old one is still read here, and turned into what the catalog knows today.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kohort.model.records.catalog import (
    BrokerConfigsRecord,
    BrokerRecord,
    CatalogRecord,
    ClusterRecord,
    GroupConfigsRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kohort.wire.batch_writer import BatchWriter
from kohort.wire.errors import DecodeError
from kohort.wire.postcard import Codec, codec
from kohort.wire.record_batch import Batch
from kohort.wire.records import decode_records

_VERSION: Final = 0
_KINDS: Final[dict[int, type]] = {
    1: ClusterRecord,
    2: BrokerRecord,
    3: ProducerIdsRecord,
    4: BrokerConfigsRecord,
    5: TopicRecord,
    6: RemoveTopicRecord,
    7: GroupConfigsRecord,
}
_CODECS: Final[dict[bytes, Codec[Any]]] = {bytes((kind, _VERSION)): codec(each) for kind, each in _KINDS.items()}
_KEYS: Final[dict[type, bytes]] = {each: bytes((kind, _VERSION)) for kind, each in _KINDS.items()}


def write(writer: BatchWriter, records: Iterable[CatalogRecord]) -> None:
    for record in records:
        writer.write(*encode(record))


def decode_batch(batch: Batch) -> Iterator[CatalogRecord]:
    for record in decode_records(batch.data):
        yield decode(record.key, record.value)


def encode(record: CatalogRecord) -> tuple[bytes, bytes]:
    key = _KEYS[type(record)]
    return key, _CODECS[key].encode(record)


def decode(key: bytes | None, value: bytes | None) -> CatalogRecord:
    """DecodeError for a record that this kohort does not know: a later one wrote it, or it is none."""
    if key not in _CODECS or value is None:
        raise DecodeError(f"no catalog record has the key {key!r}: it may be of a later kohort")
    record: CatalogRecord = _CODECS[key].decode(value, 0)[0]
    return record
