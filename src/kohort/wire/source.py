"""The Python source of one function, written line by line and compiled: what encoders.py and bounds.py build upon."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """A function to be. Functions that call each other share one namespace, which holds what their code names."""

    def __init__(self, name: str, parameters: str, namespace: dict[str, Any]) -> None:
        self.name = name
        self.namespace = namespace
        self._lines = [f"def {name}({parameters}):"]
        self._depth = 1

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """What is written meanwhile is the body of this statement."""
        self.line(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str, value: object = None) -> str:
        """A name that the functions of this namespace use nowhere else; the compiled code finds the value there."""
        name = f"{stem}{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def compiled(self, origin: str) -> Callable[..., Any]:
        """The function. `origin` stands in tracebacks in the place of a file."""
        exec(compile("\n".join(self._lines) + "\n", f"<{origin} {self.name}>", "exec"), self.namespace)
        function: Callable[..., Any] = self.namespace[self.name]
        return function
