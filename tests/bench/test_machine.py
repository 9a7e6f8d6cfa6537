"""What touching memory costs can be told of any size, also of none."""

from pathlib import Path

from bench.machine import touch_memory


def test_touching_nothing_costs_nothing(tmp_path: Path) -> None:
    assert touch_memory(tmp_path, 0) == 0.0


def test_what_was_touched_is_told_by_the_megabyte_and_leaves_no_file(tmp_path: Path) -> None:
    assert 0.0 < touch_memory(tmp_path, 8 << 20) < 1_000
    assert list(tmp_path.iterdir()) == []
