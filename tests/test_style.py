"""The style that DESIGN.md asks for, where a machine can see it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "kohort"
SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base", "impl", "core"}
MAY_SAY_ASYNC = ("gateway", "carrier", "broker", "store", "console", "server.py")

FILES = sorted(SOURCE.rglob("*.py"))


def functions_of(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_is_one_room_that_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert text.count("\n") <= 600, "a file of more than 600 lines holds more than one room"
    assert path.stem not in SAY_NOTHING, "the name says nothing"
    assert ast.get_docstring(tree), "the module does not say what it is for"
    for function in functions_of(tree):
        assert function.end_lineno is not None
        length = function.end_lineno - function.lineno + 1
        assert length <= 70, f"{function.name} has {length} lines: nobody reads it without scrolling"
        if isinstance(function, ast.AsyncFunctionDef):
            room = path.relative_to(SOURCE).parts[0]
            assert room in MAY_SAY_ASYNC, f"{function.name} is async, in a room that does no I/O"
