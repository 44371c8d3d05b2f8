"""Sizes that may vary: torch's symbolic sizes as symbols of ours, and what torch assumed about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kernellab.graph import extents
from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphInput, Symbol

_SIZE = re.compile(r"L\['(\w+)'\](?:\[(\d+)\])?\.size\(\)\[(\d+)\]")


class NeedsFixedSizes(Exception):
    """A size is no plain arithmetic over the inputs' sizes."""


class DependsOnData(Exception):
    """A size that only the data decide."""


class FreeSizes:
    """The symbols of one exported program, named d0, d1, ... in the order in which they are met."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self._found: dict[Any, Symbol] = {}

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(self._found.values())

    def extent(self, expression: Any) -> int | str:
        """A sympy expression (or a number) as a number or as text over our symbols."""
        from torch.utils._sympy.printers import PythonPrinter

        if isinstance(expression, int):
            return expression
        if getattr(expression, "is_Integer", False):
            return int(expression)
        for symbol in sorted(expression.free_symbols, key=str):
            if symbol not in self._found:
                self._found[symbol] = self._symbol(symbol)
        text = PythonPrinter().doprint(expression)
        for symbol in expression.free_symbols:
            text = re.sub(rf"\b{symbol}\b", self._found[symbol].name, text)
        return tidy(text)

    def _symbol(self, symbol: Any) -> Symbol:
        if str(symbol).startswith(("u", "zuf")):
            raise DependsOnData(str(symbol))
        limits = self._program.range_constraints.get(symbol)
        low = int(limits.lower) if limits is not None else 2
        high = _upper(limits.upper) if limits is not None else None
        return Symbol(name=f"d{len(self._found)}", low=low, high=high, example=self._example(symbol))

    def _example(self, symbol: Any) -> int:
        torch = need_torch()
        for node in self._program.graph.nodes:
            value = node.meta.get("val")
            for n in value.shape if isinstance(value, torch.Tensor) else ():
                if getattr(getattr(n, "node", None), "expr", None) == symbol:
                    return int(n.node.hint)
        raise NeedsFixedSizes(str(symbol))

    def conditions(self, inputs: Sequence[GraphInput]) -> tuple[str, ...]:
        """What torch assumed about the sizes, over our symbols; what is always true is left out."""

        def replaced(match: re.Match[str]) -> str:
            """Torch writes a graph's inputs in lower case, and numbers those of *args."""
            name = match[1].lower() + (f"_{match[2]}" if match[2] else "")
            entry = next((i for i in inputs if i.role == "input" and i.name == name), None)
            return f"({entry.type.extents[int(match[3])]})" if entry else match[0]

        found: dict[str, None] = {}
        for code in getattr(self._program, "_guards_code", None) or ():
            try:
                for text in extents.conjuncts(_SIZE.sub(replaced, code)):
                    if extents.symbols_of_condition(text) and not self._always(text):
                        found[tidy(text)] = None
            except ValueError as err:
                raise NeedsFixedSizes(str(err)) from None
        found |= dict.fromkeys(self._more_conditions())
        return tuple(found)

    def _more_conditions(self) -> list[str]:
        """Those of a backward, which torch keeps as expressions."""
        texts = [str(self.extent(e)) for e in getattr(self._program, "more_conditions", ()) if e.free_symbols]
        try:
            return [c for text in texts for c in extents.conjuncts(text) if extents.symbols_of_condition(c)]
        except ValueError as err:
            raise NeedsFixedSizes(str(err)) from None

    def _always(self, condition: str) -> bool:
        """Equalities that hold by the names of the sizes, and bounds that the ranges say already."""
        left, equals, right = condition.partition("==")
        if equals and tidy(left) == tidy(right):
            return True
        bound = re.fullmatch(r"\(?(d\d+)\)? >= (\d+)", condition)
        low = {s.name: s.low for s in self.symbols}
        return bound is not None and low[bound[1]] >= int(bound[2])


def _upper(limit: Any) -> int | None:
    try:
        value = int(limit)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return value if value < 1 << 31 else None


def tidy(text: str) -> str:
    """Without the brackets around the whole and around single symbols."""
    text = re.sub(r"(?<![\w)])\((\w+)\)", r"\1", text.strip())
    while text.startswith("(") and text.endswith(")") and _closes_at_end(text):
        text = text[1:-1]
    return text


def _closes_at_end(text: str) -> bool:
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return i == len(text) - 1
    return False
