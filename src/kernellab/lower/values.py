"""What a kernel computes at a point of its axes: a tree of values. Equal values are one object.

A tree says nothing of order, place or type of the machine: that is for a form to choose and an emitter to write.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

from kernellab.lower.axes import Axis, Index, Looked, terms_inside
from kernellab.lower.sizes import Size

Kind = Literal["float", "int", "bool"]
Bound = tuple[Index, Size]
V = TypeVar("V", bound="Value")
_SIMPLE: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
}
NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
"""What a reduction begins with, and what changes nothing in it."""
_COMPARES = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "isnan", "isinf")
_KNOWN: WeakValueDictionary[Any, Value] = WeakValueDictionary()


class Value:
    """`free`: the axes that it depends on."""

    __slots__ = ("__weakref__", "fields", "free", "kind")
    fields: tuple[Any, ...]
    free: frozenset[Axis]
    kind: Kind

    def children(self) -> tuple[Value, ...]:
        return ()

    def indices(self) -> tuple[Index, ...]:
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.fields}"


def _made(cls: type[V], fields: tuple[Any, ...], free: set[Axis], kind: Kind) -> V:
    key = (cls, *fields)
    found = _KNOWN.get(key)
    if found is None:
        found = cls()
        found.fields, found.free, found.kind = fields, frozenset(free), kind
        _KNOWN[key] = found
    return found  # type: ignore[return-value]


def _index_axes(indices: Iterator[Index] | tuple[Index, ...]) -> set[Axis]:
    return {axis for index in indices for axis in index.axes}


class Load(Value):
    """An element of a tensor, by its indices in the tensor's own shape."""

    __slots__ = ()

    @property
    def tensor(self) -> str:
        return str(self.fields[0])

    def indices(self) -> tuple[Index, ...]:
        return self.fields[1]  # type: ignore[no-any-return]

    def children(self) -> tuple[Value, ...]:
        return tuple(looked(self.indices()))


class Number(Value):
    __slots__ = ()

    @property
    def value(self) -> float | int | bool:
        return self.fields[0]  # type: ignore[no-any-return]


class Place(Value):
    """An index as a number."""

    __slots__ = ()

    def indices(self) -> tuple[Index, ...]:
        return self.fields

    def children(self) -> tuple[Value, ...]:
        return tuple(looked(self.fields))


class Apply(Value):
    """A function of values at the same point."""

    __slots__ = ()

    @property
    def function(self) -> str:
        return str(self.fields[0])

    def children(self) -> tuple[Value, ...]:
        return self.fields[1:]


class Reduce(Value):
    """Over axes of its own: "sum", "prod", "max", "min", or "argmax" and "argmin": the first place in the one axis."""

    __slots__ = ()

    @property
    def how(self) -> str:
        return str(self.fields[0])

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.fields[1]  # type: ignore[no-any-return]

    @property
    def body(self) -> Value:
        return self.fields[2]  # type: ignore[no-any-return]

    def children(self) -> tuple[Value, ...]:
        return (self.body,)


class Guard(Value):
    """`body` where every index lies inside its extent, else `other`. The body is not read outside."""

    __slots__ = ()

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return self.fields[0]  # type: ignore[no-any-return]

    @property
    def body(self) -> Value:
        return self.fields[1]  # type: ignore[no-any-return]

    @property
    def other(self) -> Value:
        return self.fields[2]  # type: ignore[no-any-return]

    def indices(self) -> tuple[Index, ...]:
        return tuple(index for index, _ in self.bounds)

    def children(self) -> tuple[Value, ...]:
        return (*looked(self.indices()), self.body, self.other)


def looked(indices: tuple[Index, ...]) -> Iterator[Value]:
    """The values that indices are looked up with."""
    for index in indices:
        for term in terms_inside(index):
            if isinstance(term, Looked):
                yield term.value


def load(tensor: str, indices: tuple[Index, ...], kind: Kind) -> Load:
    return _made(Load, (tensor, indices), _index_axes(indices), kind)


def number(value: float | int | bool) -> Number:
    kind: Kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"
    found = _KNOWN.get(("number", repr(value), kind))
    if found is None:
        found = Number()
        found.fields, found.free, found.kind = (value,), frozenset(), kind
        _KNOWN[("number", repr(value), kind)] = found
    return found  # type: ignore[return-value]


def size_value(size: Size) -> Value:
    """A size as a number."""
    return place(Index.of(size))


def place(index: Index) -> Value:
    if not index.terms and index.offset.number is not None:
        return number(index.offset.number)
    return _made(Place, (index,), index.axes, "int")


def apply(function: str, *args: Value) -> Value:
    if all(isinstance(a, Number) for a in args):
        folded = _folded(function, [a.value for a in args])  # type: ignore[attr-defined]
        if folded is not None:
            return number(folded)
    short = _shorter(function, args)
    if short is not None:
        return short
    return _made(Apply, (function, *args), {x for a in args for x in a.free}, _kind(function, args))


def reduce(how: str, axes: tuple[Axis, ...], body: Value) -> Reduce:
    kind: Kind = "int" if how.startswith("arg") else body.kind
    return _made(Reduce, (how, axes, body), set(body.free) - set(axes), kind)


def guard(bounds: tuple[Bound, ...], body: Value, other: Value) -> Value:
    left = tuple((i, e) for i, e in bounds if not i.inside(e))
    if not left:
        return body
    free = {*_index_axes(tuple(i for i, _ in left)), *body.free, *other.free}
    return _made(Guard, (left, body, other), free, body.kind)


def walk(*values: Value) -> Iterator[Value]:
    """Every value once, what it is made of before it."""
    done: set[Value] = set()
    stack: list[tuple[Value, bool]] = [(v, False) for v in reversed(values)]
    while stack:
        value, ready = stack.pop()
        if value in done:
            continue
        if ready:
            done.add(value)
            yield value
        else:
            stack.append((value, True))
            stack += [(c, False) for c in reversed(value.children()) if c not in done]


def reductions_in(*values: Value) -> list[Reduce]:
    return [v for v in walk(*values) if isinstance(v, Reduce)]


def unguarded(values: Iterable[Value]) -> Iterator[Reduce]:
    """Reductions that stand behind no bound."""
    found, left = set[Value](), list(values)
    while left:
        value = left.pop()
        if value in found or isinstance(value, Guard):
            continue
        found.add(value)
        left += value.children()
        if isinstance(value, Reduce):
            yield value


def _kind(function: str, args: tuple[Value, ...]) -> Kind:
    if function in _COMPARES:
        return "bool"
    if function in ("float", "int"):
        return function  # type: ignore[return-value]
    kinds = {a.kind for a in (args[1:] if function == "where" else args)}
    return "float" if "float" in kinds else "int" if "int" in kinds else "bool"


def _folded(function: str, args: list[Any]) -> Any:
    if function == "float":
        return float(args[0])
    if function == "div" and args[1]:
        return float(args[0]) / float(args[1])
    if function == "rsqrt" and args[0] > 0:
        return 1.0 / math.sqrt(args[0])
    return _SIMPLE[function](*args) if function in _SIMPLE else None


def _shorter(function: str, args: tuple[Value, ...]) -> Value | None:
    """What needs no operation. Floats times zero keep their NaN, and stay."""
    if function in ("float", "int") and args[0].kind == function:
        return args[0]
    values = [a.value if isinstance(a, Number) else None for a in args]
    if function == "add" and 0 in values and all(a.kind == args[0].kind for a in args):
        return args[1 - values.index(0)]
    if function == "sub" and values[1] == 0 and args[0].kind == args[1].kind:
        return args[0]
    if function == "mul" and 1 in values and all(a.kind == args[0].kind for a in args):
        return args[1 - values.index(1)]
    if function == "div" and values[1] == 1 and args[0].kind == "float":
        return args[0]
    if function == "where" and args[1] is args[2]:
        return args[1]
    if function == "and" and True in values:
        return args[1 - values.index(True)]
    if function == "ne" and values[1] == 0 and (told := _from_bool(args[0])) is not None:
        return told
    return None


def _from_bool(value: Value) -> Value | None:
    """What is true or false, where a number is made of that."""
    if value.kind == "bool":
        return value
    made = isinstance(value, Apply) and value.function in ("float", "int")
    return _from_bool(value.children()[0]) if made else None
