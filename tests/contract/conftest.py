"""Each test of the contract runs once for every store there is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.houses import House, MemoryHouse


@pytest.fixture(params=["memory"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    house = MemoryHouse()
    yield house
    house.close()
