"""What fused kernels compute, by NumPy: every value of the loop form on a grid of all its axes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernellab.lower.axes import Axis, Index, Looked, Quotient
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store, tensor_name
from kernellab.lower.sizes import Size
from kernellab.lower.values import Apply, Guard, Load, Number, Place, Reduce, Value

_UNARY: dict[str, Any] = {
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
    "erf": np.vectorize(math.erf), "not": np.logical_not, "isnan": np.isnan, "isinf": np.isinf,
    "float": lambda x: np.asarray(x, np.float64), "int": lambda x: np.asarray(x).astype(np.int64),
    "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
}  # fmt: skip
_BINARY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "pow": np.power,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
    "rem": np.fmod, "quot": lambda a, b: np.fix(np.divide(a, b)).astype(np.int64), "fmod": np.fmod, "atan2": np.arctan2,
    "hypot": np.hypot, "copysign": np.copysign,
}  # fmt: skip
_REDUCE: dict[str, Any] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "argmax": np.argmax,
    "argmin": np.argmin,
}


class Grid:
    """Axes as dims of arrays: the first axis of a kernel is the first dim, what is reduced over comes behind."""

    def __init__(self, tensors: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> None:
        self._tensors, self._sizes = tensors, sizes
        self._order: list[Axis] = []

    def made(self, store: Store, shape: tuple[int, ...]) -> np.ndarray:
        self._order = list(store.axes)
        value = self._value(store.value)
        out = np.full(shape, np.nan)
        places = [np.broadcast_to(self._index(i), self._whole()) for i in store.index]
        out[tuple(places)] = np.broadcast_to(value, self._whole())
        return out

    def _whole(self) -> tuple[int, ...]:
        return tuple(a.extent.at(self._sizes) for a in self._order)

    def _size(self, size: Size) -> int:
        return size.at(self._sizes)

    def _index(self, index: Index) -> Any:
        whole: Any = self._size(index.offset)
        for term, factor in index.terms:
            whole = whole + self._term(term) * self._size(factor)
        return whole

    def _term(self, term: Any) -> Any:
        if isinstance(term, Axis):
            dims = [1] * len(self._order)
            innermost = len(dims) - 1 - self._order[::-1].index(term)
            dims[innermost] = -1
            return np.arange(self._size(term.extent)).reshape(dims)
        if isinstance(term, Looked):
            return np.asarray(self._value(term.value)).astype(np.int64)
        whole = self._index(term.of)
        by = self._size(term.by)
        return whole // by if isinstance(term, Quotient) else whole % by

    def _value(self, value: Value) -> Any:
        with np.errstate(all="ignore"):
            return self._found(value)

    def _found(self, value: Value) -> Any:
        if isinstance(value, Number):
            return value.value
        if isinstance(value, Place):
            return self._index(value.indices()[0])
        if isinstance(value, Load):
            return self._read(value)
        if isinstance(value, Guard):
            inside: Any = True
            for index, extent in value.bounds:
                place = self._index(index)
                inside = inside & (place >= 0) & (place < self._size(extent))
            return np.where(inside, self._value(value.body), self._value(value.other))
        if isinstance(value, Reduce):
            return self._reduced(value)
        assert isinstance(value, Apply)
        args = [self._value(c) for c in value.children()]
        if value.function == "where":
            return np.where(*args)
        return (_UNARY.get(value.function) or _BINARY[value.function])(*args)

    def _read(self, value: Load) -> Any:
        """Outside its tensor anything may be read: a guard lets none of it through."""
        tensor = self._tensors[value.tensor]
        places = [np.clip(self._index(i), 0, n - 1) for i, n in zip(value.indices(), tensor.shape, strict=True)]
        return tensor[tuple(np.asarray(p) for p in places)] if places else tensor[()]

    def _reduced(self, value: Reduce) -> Any:
        """Only what is reduced over is spread out: an axis that the body does not depend on stays one long."""
        depth = len(self._order)
        self._order += value.axes
        body = self._value(value.body)
        body = np.broadcast_to(body, np.broadcast_shapes(np.shape(body), (*[1] * depth, *self._whole()[depth:])))
        if value.how.startswith("arg"):
            body = body.reshape(*body.shape[:depth], -1)
            found = _REDUCE[value.how](body, axis=depth)
        else:
            found = _REDUCE[value.how](body, axis=tuple(range(depth, len(self._order))))
        del self._order[depth:]
        return found


def computed(fusion: Fusion, inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> list[np.ndarray]:
    """The outputs, kernel by kernel."""
    tensors = dict(inputs)
    for stores in fusion.kernels:
        for store in stores:
            shape = tuple(e.at(sizes) for e in fusion.graph.shape(store.tensor))
            tensors[tensor_name(store.tensor)] = Grid(tensors, sizes).made(store, shape)
    return [tensors[tensor_name((o.ref.ref, o.ref.part))] for o in fusion.graph.record.outputs]
