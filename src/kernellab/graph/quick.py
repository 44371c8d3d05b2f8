"""Torch's own Python functions for the operators of a graph, where they do exactly the same: what people's code calls.

An operator that is called by its full name (`torch.ops.aten.mul.Tensor`) costs two or three times as much as `torch.mul`, on
the processor microseconds a call. A baseline that is called so would lose to the very module that it stands for.
Covered: one is taken only if, on tensors without data, it ends in the same operator with the same arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

from kernellab.graph.record import Sizes, TensorType


def quick(torch: Any, operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The function to call in the operator's place with arguments such as these (tensors are without data), or itself."""
    name = operator._schema.name.partition("::")[2]
    for home in (torch, torch.Tensor):
        function = getattr(home, name, None)
        if isinstance(function, BuiltinFunctionType | MethodDescriptorType) and _same(
            torch, function, operator, args, kwargs
        ):
            return function
    return operator


def without_data(torch: Any, found: TensorType, sizes: Sizes) -> Any:
    return torch.empty(found.shape(sizes), dtype=getattr(torch, found.dtype), device="meta")


def _same(torch: Any, function: Any, operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    from torch.utils._python_dispatch import TorchDispatchMode

    heard: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    class Listening(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append((func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    def called(made: Any) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
        heard.clear()
        with torch.no_grad(), Listening():
            made(*args, **kwargs)
        return list(heard)

    try:
        return _alike(torch, called(function), called(operator))
    except Exception:  # noqa: BLE001  another signature, or nothing that works without data: then it is not taken
        return False


def _alike(torch: Any, first: Any, second: Any) -> bool:
    """The same calls on the same numbers, of the same types. Tensors that are made on the way are others each time."""
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(_alike(torch, a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_alike(torch, first[k], second[k]) for k in first)
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return (first.shape, first.dtype, first.stride()) == (second.shape, second.dtype, second.stride())
    plain = isinstance(first, bool | int | float | str) and type(first) is type(second)
    return first is second or (plain and first == second)
