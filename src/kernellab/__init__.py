"""KernelLab: an AI scientist for compute kernels. Its API: optimize(), verify(), measure(), study(), paper(), @task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernellab.core.version import VERSION

if TYPE_CHECKING:
    from kernellab.api import measure, optimize, paper, study, task, verify

__version__ = VERSION
_API = ("measure", "optimize", "paper", "study", "task", "verify")
__all__ = ["__version__", "measure", "optimize", "paper", "study", "task", "verify"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """The API is imported when it is first used: confined processes import this package too, and need little of it."""
    if name in _API:
        from kernellab import api

        return getattr(api, name)
    if name in ("kernel", "scratch"):  # what candidate files call, for those who import it
        from kernellab import candidate

        return getattr(candidate, name)
    raise AttributeError(f"module 'kernellab' has no attribute '{name}'")
