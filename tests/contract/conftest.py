"""Each test of the contract runs once for every store there is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.houses import FilesHouse, House, MemoryHouse, SimulatedHouse


@pytest.fixture(params=["memory", "simulated files", "files"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    house = opened(request.param, tmp_path)
    yield house
    house.close()


def opened(kind: str, directory: Path) -> House:
    match kind:
        case "memory":
            return MemoryHouse()
        case "files":
            return FilesHouse(directory)
        case _:
            return SimulatedHouse()
