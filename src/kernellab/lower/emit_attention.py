"""Loop form -> attention in one kernel, in Triton.

A program has a block of rows, all columns of them, and goes over the keys in steps. It keeps the largest score of each row
so far, the sum of the exponentials below it and the weighted sum; where a step has a larger score, both sums are made
smaller first. Behind a causal mask, or the end of a sequence, there is nothing to add, so the steps end there. Where there
is but one row, keys lie down the blocks, and no tensor core is needed: memory binds.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernellab.lower.attention import Attention, any_at_all, key_count, last_key
from kernellab.lower.axes import Axis
from kernellab.lower.emit_blocks import BlockWriter
from kernellab.lower.rebuild import Axes, rebuilt
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import ZERO, times_text
from kernellab.lower.tensors import Tensor
from kernellab.lower.values import Reduce, Value, walk

CHOSEN = ("QUERIES", "KEYS")
"""Rows and keys of a block."""
_SUMS = """\
top = tl.full([{height}, 1], float("-inf"), tl.float32)
below = tl.zeros([{height}, 1], tl.float32)
total = tl.zeros([{height}, WIDTH], tl.float32)"""
_STEP = """\
higher = tl.maximum(top, tl.max(scores, axis={axis}, keep_dims=True))
near = tl.where(higher == float("-inf"), 0.0, higher)
shrink = tl.exp(top - near)
weights = tl.exp(scores - near)
below = below * shrink + tl.sum(weights, axis={axis}, keep_dims=True)
top = higher"""


class AttentionWriter(BlockWriter):
    """Blocks of scores have rows down and keys across; those of values have keys down, those of keys have terms down."""

    _height, _axis = "QUERIES", 1
    """Rows of a block of scores, and which of its dims the keys are."""

    def __init__(self, name: str, found: Attention, tensors: dict[str, Tensor], short: str) -> None:
        self._down = {a: Axis(f"{a.name}b", a.extent) for a in (*found.keys, *found.terms)}
        self._values = self._turned(found.values, found.keys)
        self._key = self._turned(found.key, found.terms) if found.key is not None else None
        groups = {
            "in_m": found.rows, "in_n": found.columns, "in_k": found.keys, "in_k_down": self._turn(found.keys),
            "in_a": found.terms, "in_b": self._turn(found.terms),
        }  # fmt: skip
        super().__init__(name, found.store, tensors, short, groups)
        self._found = found
        for factor in (self._values, self._key):
            self._uses.update(c for v in (walk(factor) if factor is not None else ()) for c in v.children())

    def _turn(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(self._down[a] for a in axes)

    def _turned(self, value: Value, axes: tuple[Axis, ...]) -> Value:
        return rebuilt(value, Axes({a: self._down[a] for a in axes}))

    def _choices(self) -> tuple[str, ...]:
        return choices(self._short, self._found)

    def _body(self) -> str:
        terms = self._found.terms
        top = Scope(None, (*self._found.store.axes, *terms, *self._turn(terms)))
        self._places(top)
        self._sums(top)
        self._store(self._found.store, top)
        return top.python(1)

    def _places(self, top: Scope) -> None:
        """The program's rows and batch; of columns and terms it has all."""
        found = self._found
        self._widths(top, self._elements())
        top.add(f"tiles = tl.cdiv({times_text(a.extent for a in found.rows)}, QUERIES)")
        long_first = "tiles - 1 - " if last_key(found) is not None else ""
        top.add(f"tile = {long_first}tl.program_id(0) % tiles")
        if found.batch:
            top.add(f"at_batch = (tl.program_id(0) // tiles){self._wide}")
            self._decode(top, "at_batch", found.batch)
        at_m = f"(tile * QUERIES + tl.arange(0, QUERIES)){self._wide}[:, None]"
        self._spread(top, "at_m", at_m, "in_m", found.rows)
        self._spread(top, "at_n", f"tl.arange(0, WIDTH){self._wide}[None, :]", "in_n", found.columns)
        if found.terms:
            self._spread(top, "at_a", f"tl.arange(0, TERMS){self._wide}[None, :]", "in_a", found.terms)
            self._spread(top, "at_b", f"tl.arange(0, TERMS){self._wide}[:, None]", "in_b", self._turn(found.terms))

    def _sums(self, top: Scope) -> None:
        found = self._found
        if found.query is not None:
            top.add(f"query = {self._factor(found.query, top, 'in_a')}")
        for line in _SUMS.format(height=self._height).splitlines():
            top.add(line)
        others = {r: self._beginning(r, top) for r in found.beside if not any_at_all(r, found.scores)}
        end = self._end(top)
        loop = Scope(top, (*found.keys, *self._turn(found.keys)), f"for first in range(0, {end}, KEYS):")
        loop.add(f"at_k = (first + tl.arange(0, KEYS)){self._wide}")
        self._keys(loop)
        self._step(loop, others)
        top.add(loop)
        for value, name in ((found.top, "top"), (found.below, "below"), (found.total, "total")):
            top.name(value, name)
        for value in found.beside:
            top.name(value, others.get(value, "tl.where(below == 0.0, 0, 1)"))

    def _keys(self, loop: Scope) -> None:
        """The keys of a step: across for scores, down for values."""
        self._spread(loop, "at_key", "at_k[None, :]", "in_k", self._found.keys)
        self._spread(loop, "at_key_down", "at_k[:, None]", "in_k_down", self._turn(self._found.keys))

    def _end(self, top: Scope) -> str:
        """Where the steps end: behind the last key that a row of the block can see. One step there is always."""
        whole = times_text(a.extent for a in self._found.keys)
        last, count = last_key(self._found), key_count(self._found)
        if last is not None:
            seen = f"(tile + 1) * QUERIES{'' if last == ZERO else f' + {last.factor_text}'}"
        elif count is not None:
            seen = self._text(count, top)
        else:
            return whole
        top.add(f"end = tl.minimum(tl.maximum({seen}, 1), {whole})")
        return "end"

    def _beginning(self, other: Reduce, top: Scope) -> str:
        name = self._fresh("acc")
        kind = "tl.float32" if other.kind == "float" else "tl.int64"
        top.add(f"{name} = tl.full([{self._height}, 1], {self._start(other)}, {kind})")
        return name

    def _step(self, loop: Scope, others: Mapping[Reduce, str]) -> None:
        found = self._found
        if found.product is not None:
            self._score(loop)
            loop.name(found.product, "product")
        score = self._text(found.scores, loop)
        for value, name in others.items():
            body = f"tl.where(in_k, {self._text(value.body, loop)}, {self._start(value)})"
            loop.add(
                f"{name} = {self._joined(value, name, f'tl.{value.how}({body}, axis={self._axis}, keep_dims=True)')}"
            )
        loop.add(f'scores = tl.where(in_k, {score}, float("-inf"))')
        for line in _STEP.format(axis=self._axis).splitlines():
            loop.add(line)
        self._weigh(loop)

    def _score(self, loop: Scope) -> None:
        assert self._key is not None
        loop.add(f"key = {self._factor(self._key, loop, 'in_b')}")
        loop.add(f"product = {self._dot('query', 'key', 'tl.zeros([QUERIES, KEYS], tl.float32)')}")

    def _weigh(self, loop: Scope) -> None:
        loop.add(f"values = {self._factor(self._values, loop, 'in_k_down')}")
        if self._short:
            loop.add(f"total = {self._dot(f'weights.to(tl.{self._short})', 'values', 'total * shrink')}")
        else:
            fresh = self._dot("weights", "values", "tl.zeros([QUERIES, WIDTH], tl.float32)")
            loop.add(f"total = total * shrink + {fresh}")

    def _dot(self, left: str, right: str, total: str) -> str:
        return f"tl.dot({left}, {right}, {total})" if self._short else f"dot({left}, {right}, {total}, PRECISION)"


class OneRowWriter(AttentionWriter):
    """Keys are down in all blocks, terms and columns across."""

    _height, _axis = "1", 0

    def __init__(self, name: str, found: Attention, tensors: dict[str, Tensor]) -> None:
        super().__init__(name, found, tensors, "")
        self._groups = {"in_n": found.columns, "in_k": found.keys, "in_a": found.terms}

    def _turn(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return axes

    def _turned(self, value: Value, axes: tuple[Axis, ...]) -> Value:
        return value

    def _places(self, top: Scope) -> None:
        found = self._found
        self._widths(top, self._elements())
        if found.batch:
            top.add(f"at_batch = tl.program_id(0){self._wide}")
            self._decode(top, "at_batch", found.batch)
        self._spread(top, "at_n", f"tl.arange(0, WIDTH){self._wide}[None, :]", "in_n", found.columns)
        if found.terms:
            self._spread(top, "at_a", f"tl.arange(0, TERMS){self._wide}[None, :]", "in_a", found.terms)

    def _keys(self, loop: Scope) -> None:
        self._spread(loop, "at_key", "at_k[:, None]", "in_k", self._found.keys)

    def _score(self, loop: Scope) -> None:
        assert self._key is not None
        loop.add(f"key = {self._factor(self._key, loop, 'in_a')}")
        loop.add("product = tl.sum(query * key, axis=1, keep_dims=True)")

    def _weigh(self, loop: Scope) -> None:
        loop.add(f"values = {self._factor(self._values, loop, 'in_k')}")
        loop.add("total = total * shrink + tl.sum(weights * values, axis=0, keep_dims=True)")


def choices(short: str, found: Attention) -> tuple[str, ...]:
    """What a launch gives, besides the sizes."""
    widths = ("WIDTH", "TERMS") if found.terms else ("WIDTH",)
    if not found.rows:
        return ("KEYS", *widths)
    return (*CHOSEN, *widths) if short else (*CHOSEN, *widths, "PRECISION")
