"""Statements in the scopes of loops: each value is written once, in the outermost loop that has all its axes.

A scope stands for the inside of a loop, of a branch, or of the whole function. What is computed under a branch stays
there: an element that must not be read outside its bounds is read nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernellab.lower.axes import Axis
from kernellab.lower.values import Value


class Scope:
    """`head` opens it ("for (...) {"); lines are text or scopes inside it."""

    def __init__(
        self, parent: Scope | None, axes: Iterable[Axis], head: str = "", branch: bool = False, only: str = ""
    ) -> None:
        """`only`: what must be true for anything in it to be read."""
        self._only = only
        self.parent, self.head, self.branch, self.pragma = parent, head, branch, ""
        self.bound: frozenset[Axis] = frozenset(axes) | (parent.bound if parent else frozenset())
        self.lines: list[str | Scope] = []
        self._names: dict[Value, str] = {}

    def known(self, value: Value) -> str | None:
        scope: Scope | None = self
        while scope is not None:
            if value in scope._names:
                return scope._names[value]
            scope = scope.parent
        return None

    def name(self, value: Value, text: str) -> str:
        self._names[value] = text
        return text

    def home(self, value: Value) -> Scope:
        """The outermost scope around this one where the value can be computed."""
        return self.within(value.free)

    def within(self, free: frozenset[Axis]) -> Scope:
        """The outermost scope around this one that binds these axes."""
        scope = self
        while not scope.branch and scope.parent is not None and free <= scope.parent.bound:
            scope = scope.parent
        return scope

    def condition(self) -> str:
        """What must be true here, as text."""
        parts, scope = [], self
        while scope is not None:
            parts += [scope._only] if scope._only else []
            scope = scope.parent  # type: ignore[assignment]
        return " & ".join(reversed(parts))

    def python(self, depth: int) -> str:
        """By indentation, as Python has it; without the head."""
        return "\n".join(
            f"{'    ' * depth}{line.head}\n{line.python(depth + 1)}"
            if isinstance(line, Scope)
            else "    " * depth + line
            for line in self.lines
        )

    def add(self, line: str | Scope) -> None:
        self.lines.append(line)

    def text(self, depth: int) -> str:
        """With braces, as C has it."""
        inner = "\n".join(
            line.text(depth + 1) if isinstance(line, Scope) else "    " * (depth + 1) + line for line in self.lines
        )
        pad = "    " * depth
        before = f"{pad}{self.pragma}\n" if self.pragma else ""
        return f"{before}{pad}{self.head} {{\n{inner}\n{pad}}}"
