"""A module run in float64, whatever types its code names, or none: x.float() of a float64 tensor stays float64, and
torch.zeros(n) is float64.

Without this a module that widens bfloat16 to float32 inside would be rounded to float32 there, and would be no oracle.
Not covered: code that decides by looking at a dtype.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernellab.graph.need_torch import need_torch


@contextmanager
def in_float64() -> Iterator[None]:
    """Every float type that an operator is asked for is float64, and so is the one that none is asked for."""
    torch = need_torch()
    from torch.utils._python_dispatch import TorchDispatchMode

    floats = (torch.float32, torch.float16, torch.bfloat16)

    class Wide(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = {
                k: torch.float64 if isinstance(v, torch.dtype) and v in floats else v for k, v in (kwargs or {}).items()
            }
            plain = tuple(torch.float64 if isinstance(a, torch.dtype) and a in floats else a for a in args)
            return function(*plain, **named)

    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Wide():  # type: ignore[no-untyped-call, unused-ignore]
            yield
    finally:
        torch.set_default_dtype(usual)


def widened(tensor: Any) -> Any:
    """A float tensor in float64; anything else as it is."""
    torch = need_torch()
    return tensor.double() if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() else tensor
