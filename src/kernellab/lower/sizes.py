"""Sizes as polynomials over the graph's symbols: added, multiplied, divided and compared without knowing the symbols.

What is no polynomial (a rounded quotient, a minimum) is a symbol of its own, named by its text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

Monomial = tuple[str, ...]
"""The symbols of a term, sorted; several times where it has a power."""


class Size:
    """An integer polynomial; immutable. Symbols are positive."""

    __slots__ = ("_hash", "_terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self._terms = tuple(sorted((m, c) for m, c in terms.items() if c))
        self._hash = hash(self._terms)

    @staticmethod
    def of(value: int | str | Size) -> Size:
        if isinstance(value, Size):
            return value
        return Size({(): value}) if isinstance(value, int) else _parsed(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self._terms == other._terms

    def __add__(self, other: Size) -> Size:
        terms = dict(self._terms)
        for monomial, factor in other._terms:
            terms[monomial] = terms.get(monomial, 0) + factor
        return Size(terms)

    def __mul__(self, other: Size) -> Size:
        terms: dict[Monomial, int] = {}
        for (a, x), (b, y) in product(self._terms, other._terms):
            monomial = tuple(sorted((*a, *b)))
            terms[monomial] = terms.get(monomial, 0) + x * y
        return Size(terms)

    def __neg__(self) -> Size:
        return Size({m: -c for m, c in self._terms})

    def __sub__(self, other: Size) -> Size:
        return self + -other

    def __repr__(self) -> str:
        return self.text

    @property
    def number(self) -> int | None:
        """Its value where no symbol is in it."""
        if not self._terms:
            return 0
        (monomial, factor), *more = self._terms
        return None if monomial or more else factor

    @property
    def symbols(self) -> set[str]:
        """Names; of the symbols that stand for other arithmetic, the names in that."""
        return {name for monomial, _ in self._terms for atom in monomial for name in _names(atom)}

    def over(self, other: Size) -> Size | None:
        """The quotient where the division leaves nothing, by something that is one term."""
        if len(other._terms) != 1:
            return ONE if self == other else None
        ((below, factor),) = other._terms
        terms: dict[Monomial, int] = {}
        for monomial, count in self._terms:
            left = list(monomial)
            for symbol in below:
                if symbol not in left:
                    return None
                left.remove(symbol)
            if count % factor:
                return None
            terms[tuple(left)] = count // factor
        return Size(terms)

    def put(self, known: Mapping[str, Size]) -> Size:
        """With these in the place of symbols."""
        whole = ZERO
        for monomial, factor in self._terms:
            whole = whole + product_of((factor, *(known.get(atom, Size({(atom,): 1})) for atom in monomial)))
        return whole

    @property
    def symbol(self) -> str:
        """Its name where it is a symbol and nothing else, else ""."""
        ((monomial, factor), *more) = self._terms or (((), 0),)
        return monomial[0] if len(monomial) == 1 and factor == 1 and not more and monomial[0].isidentifier() else ""

    def at_least(self, other: Size) -> bool:
        """Whether it is so for all sizes: the difference has no negative term where every symbol is one or more."""
        shifted = ZERO
        for monomial, factor in (self - other)._terms:
            term = Size({(): factor})
            for symbol in monomial:
                term = term * Size({(symbol,): 1, (): 1})
            shifted = shifted + term
        return all(c >= 0 for _, c in shifted._terms)

    def at(self, symbols: Mapping[str, int]) -> int:
        from kernellab.graph.extents import size

        return size(self.text, symbols)

    @property
    def text(self) -> str:
        """Arithmetic that Python and C read alike; quotients in it are Python's."""
        parts = [_term(m, c) for m, c in sorted(self._terms, key=lambda t: (t[1] < 0, -len(t[0]), t[0]))]
        return " + ".join(parts).replace("+ -", "- ") or "0"

    @property
    def factor_text(self) -> str:
        """In brackets where it needs them."""
        single = len(self._terms) == 1 and (self._terms[0][1] == 1 or not self._terms[0][0])
        return self.text if single and len(self._terms[0][0]) < 2 else f"({self.text})"

    def __iter__(self) -> Iterator[tuple[Monomial, int]]:
        return iter(self._terms)


_CALLS = {"min", "max", "abs", "int", "float", "floor", "ceil", "sqrt"}
ZERO, ONE = Size({}), Size({(): 1})


@lru_cache(maxsize=4096)
def _names(atom: str) -> frozenset[str]:
    found = {n.id for n in ast.walk(ast.parse(atom, mode="eval")) if isinstance(n, ast.Name)}
    return frozenset(found - _CALLS)


def times_text(sizes: Iterable[Size]) -> str:
    """A product as it was made, factor by factor."""
    texts = [s.factor_text for s in sizes if s != ONE]
    return " * ".join(texts) or "1"


def product_of(sizes: Iterable[Any]) -> Size:
    whole = ONE
    for size in sizes:
        whole = whole * Size.of(size)
    return whole


def _term(monomial: Monomial, factor: int) -> str:
    names = [a if a.isidentifier() else f"({a})" for a in monomial]
    if not names:
        return str(factor)
    head = "" if factor == 1 else "-" if factor == -1 else f"{factor} * "
    return head + " * ".join(names)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Size:
    return _size(ast.parse(text, mode="eval").body)


def _size(node: ast.expr) -> Size:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Size({(): node.value})
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_size(node.operand)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add):
            return _size(node.left) + _size(node.right)
        if isinstance(node.op, ast.Sub):
            return _size(node.left) - _size(node.right)
        if isinstance(node.op, ast.Mult):
            return _size(node.left) * _size(node.right)
        if isinstance(node.op, ast.FloorDiv):
            exact = _size(node.left).over(_size(node.right))
            if exact is not None:
                return exact
    return Size({(ast.unparse(node),): 1})
