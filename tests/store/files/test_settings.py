"""What a broker may take of memory, as numbers of WAL segments."""

import pytest

from kohort.model.settings import BrokerSettings
from kohort.store.files.settings import FilesSettings, settings_within


def test_the_default_of_the_setting_is_the_stores_own() -> None:
    assert settings_within(BrokerSettings().kohort_memory_bytes) == FilesSettings()


@pytest.mark.parametrize(("megabytes", "segments", "cached"), [(64, 2, 0), (128, 4, 1), (1024, 32, 12)])
def test_segments_share_the_memory_and_some_stay_for_readers(megabytes: int, segments: int, cached: int) -> None:
    settings = settings_within(megabytes << 20)
    assert (settings.wal_segments, settings.cached_segments) == (segments, cached)


def test_one_segment_can_always_be_written_while_another_is_settled() -> None:
    assert settings_within(1).wal_segments == 2
