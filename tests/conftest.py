"""What holds for every test: those that need Apache Kafka's own jars are skipped where there are none, and no property
is refuted by a busy machine."""

import pytest
from hypothesis import settings

from tests import kafka_peer

settings.register_profile("kohort", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("kohort")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if kafka_peer.SCRIPT.exists():
        return
    for item in items:
        if item.get_closest_marker("kafka"):
            item.add_marker(pytest.mark.skip(reason=kafka_peer.ABSENT))
