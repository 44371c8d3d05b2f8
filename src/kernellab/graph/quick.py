"""Torch's own Python functions for the operators of a graph, where they do exactly the same: what people's code calls.

An operator that is called by its full name (`torch.ops.aten.mul.Tensor`) costs two or three times as much as `torch.mul`, on
the processor microseconds a call. A baseline that is called so would lose to the very module that it stands for.
Covered: one is taken only if it has the operator's name and goes to the same ones with the same arguments, all of them where
one operator is made of several; that is seen on tensors without data. Names are no proof: torch._C._nn.cross_entropy_loss
takes no mean unless it is told to, the operator does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

from kernellab.graph.record import Sizes, TensorType


def quick(torch: Any, operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The function to call in the operator's place with arguments such as these (tensors are without data), or itself."""
    name = operator._schema.name.partition("::")[2]
    for home in (torch, torch._C._nn, torch.Tensor):
        function = getattr(home, name, None)
        if isinstance(function, BuiltinFunctionType | MethodDescriptorType) and _same(
            torch, function, operator, args, kwargs
        ):
            return function
    return operator


def without_data(torch: Any, found: TensorType, sizes: Sizes) -> Any:
    return torch.empty(found.shape(sizes), dtype=getattr(torch, found.dtype), device="meta")


def _same(torch: Any, function: Any, operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    first, second = (_heard(torch, one, operator, args, kwargs) for one in (function, operator))
    return first is not None and second is not None and _alike(first, second)


def _heard(
    torch: Any, function: Any, operator: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> list[Any] | None:  # fmt: skip
    """The operators that a call goes to, in order, each with its arguments; with the operator itself all is said. A tensor
    that one of them made is a number: how many were made before."""
    calls: list[Any] = []
    made = itertools.count()

    class Listening(torch.Tensor):  # type: ignore[misc]
        inner: Any
        known_as: Any
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            calls.append((func, _each(args, Listening, _known_as), _each(named, Listening, _known_as)))
            if func is operator:
                raise _Heard
            result = func(*_each(args, Listening, _inner), **_each(named, Listening, _inner))
            return _each(result, torch.Tensor, lambda tensor: wrapped(tensor, next(made)))

    def wrapped(tensor: Any, known_as: Any = None) -> Any:
        found = torch.Tensor._make_subclass(Listening, tensor)
        found.inner, found.known_as = tensor, tensor if known_as is None else known_as
        return found

    try:
        with torch.no_grad():
            function(*_each(list(args), torch.Tensor, wrapped), **_each(kwargs, torch.Tensor, wrapped))
    except _Heard:
        return calls
    except Exception:  # noqa: BLE001  another signature, or nothing to be had without data: then it is not taken
        return None
    return calls


class _Heard(Exception):
    """The operator itself was called."""


def _known_as(tensor: Any) -> Any:
    return tensor.known_as


def _inner(tensor: Any) -> Any:
    return tensor.inner


def _each(value: Any, kind: Any, change: Callable[[Any], Any]) -> Any:
    """The same with every tensor of a kind changed."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        return {k: _each(v, kind, change) for k, v in value.items()}
    return type(value)(_each(v, kind, change) for v in value) if type(value) in (list, tuple) else value


def _alike(first: Any, second: Any) -> bool:
    """The same operator on the same tensors and numbers, of the same types."""
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(_alike, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_alike(first[k], second[k]) for k in first)
    plain = isinstance(first, bool | int | float | str) and type(first) is type(second)
    return first is second or (plain and first == second)
