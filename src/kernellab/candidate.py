"""What a candidate file may call: kernel("name")[grid](...) and scratch(shape, dtype). Works inside the builder only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_kernel: Callable[..., Any] | None = None
_scratch: Callable[..., Any] | None = None


def bind(kernel_hook: Callable[..., Any] | None, scratch_hook: Callable[..., Any] | None) -> None:
    """Called by the recorder around each launch()."""
    global _kernel, _scratch
    _kernel, _scratch = kernel_hook, scratch_hook


def kernel(name: str, **options: Any) -> Any:
    """The function `name` of SOURCE, ready to be launched. CUDA C++ takes cooperative=True and cluster=(x, y, z)."""
    if _kernel is None:
        raise RuntimeError("kernel() works only inside launch(), while KernelLab records it")
    return _kernel(name, **options)


def scratch(shape: int | tuple[int, ...], dtype: str = "float32", zero: bool = False) -> Any:
    """A work buffer whose contents are undefined at every call, or zero (a GPU's only; clearing it is part of the call)."""
    if _scratch is None:
        raise RuntimeError("scratch() works only inside launch(), while KernelLab records it")
    return _scratch(shape, dtype, zero)
