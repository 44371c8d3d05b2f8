"""What a candidate file may call: kernel("name")[grid](...) and scratch(shape, dtype). Works inside the builder only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_kernel: Callable[[str], Any] | None = None
_scratch: Callable[..., Any] | None = None


def bind(kernel_hook: Callable[[str], Any] | None, scratch_hook: Callable[..., Any] | None) -> None:
    """Called by the recorder around each launch()."""
    global _kernel, _scratch
    _kernel, _scratch = kernel_hook, scratch_hook


def kernel(name: str) -> Any:
    """The C function `name` of SOURCE, ready to be launched."""
    if _kernel is None:
        raise RuntimeError("kernel() works only inside launch(), while KernelLab records it")
    return _kernel(name)


def scratch(shape: int | tuple[int, ...], dtype: str = "float32") -> Any:
    """A work buffer whose contents are undefined at every call."""
    if _scratch is None:
        raise RuntimeError("scratch() works only inside launch(), while KernelLab records it")
    return _scratch(shape, dtype)
