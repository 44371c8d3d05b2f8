"""PyTorch code to be translated: found in a user's file, and held against the task that will judge the translation.

The file is the user's own and trusted like a task file: it is run here. What is checked is that both mean the same, at the
task's small shapes; a translation of something else would be rejected for ever without anyone saying why.
"""

from __future__ import annotations

import importlib.util
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Task, dims_label

_LOOSE = 1e-2
"""Of the largest value: enough for another summation or float32 throughout, far from another formula."""
_FIX = "give a file with one function of the task's inputs in their order, or an nn.Module whose forward takes them"


def check_pytorch(text: str, task: Task) -> None:
    """Raises UsageError unless the code gives the task's outputs for the task's inputs."""
    if importlib.util.find_spec("torch") is None:
        raise EnvironmentFault("PyTorch code can be checked with PyTorch only", "pip install 'kernellab[torch]'")
    function = _callable(text, task)
    rng = np.random.default_rng(0)
    for dims in sorted(task.edge, key=task.least_bytes)[-2:]:
        inputs = draw_inputs(task, dims, next(iter(task.distributions)), rng)
        got = _outputs(function, inputs, task)
        for buffer, mine, wanted in zip(task.outputs, got, expect(task, dims, inputs), strict=True):
            where = f"at {dims_label(dims)}, output {buffer.name}"
            if mine.shape != wanted.value.shape:
                raise UsageError(f"the PyTorch code is not this task: {where} has the shape {mine.shape}", _FIX)
            scale = float(np.max(np.abs(wanted.value), initial=0.0)) or 1.0
            off = float(np.max(np.abs(mine - wanted.value.astype(np.float64)), initial=0.0))
            if not off <= _LOOSE * scale:
                raise UsageError(f"the PyTorch code is not this task: {where} is off by {off:.3g} of {scale:.3g}",
                                 "translate what the task's reference computes")  # fmt: skip


def _outputs(function: Callable[..., Any], inputs: Sequence[Array], task: Task) -> list[Array]:
    import torch

    try:
        with torch.no_grad():
            made = function(*(torch.from_numpy(np.ascontiguousarray(a.astype(np.float64))) for a in inputs))
    except Exception as err:  # noqa: BLE001  the user's code: say what it says
        raise UsageError(f"the PyTorch code fails: {type(err).__name__}: {err}", _FIX) from None
    values = list(made) if isinstance(made, (tuple, list)) else [made]
    if len(values) != len(task.outputs) or not all(isinstance(v, torch.Tensor) for v in values):
        raise UsageError(f"the PyTorch code gives {len(values)} values, the task has {len(task.outputs)} outputs", _FIX)
    return [v.detach().to(torch.float64).numpy() for v in values]


def _callable(text: str, task: Task) -> Callable[..., Any]:
    """A module named Model or the only one there is; else a function named after the task, `forward`, or the only one."""
    import torch

    module = types.ModuleType("pytorch_code")
    try:
        exec(compile(text, "pytorch code", "exec"), module.__dict__)
    except Exception as err:  # noqa: BLE001  the user's code: say what it says
        raise UsageError(f"the PyTorch code cannot be run: {type(err).__name__}: {err}", _FIX) from None
    own = {k: v for k, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__}
    classes = {k: v for k, v in own.items() if isinstance(v, type) and issubclass(v, torch.nn.Module)}
    chosen = classes.get("Model") or (next(iter(classes.values())) if len(classes) == 1 else None)
    if chosen is not None:
        try:
            return chosen().double().eval()
        except TypeError as err:
            raise UsageError(f"{chosen.__name__} cannot be made without arguments: {err}", _FIX) from None
    functions = {k: v for k, v in own.items() if isinstance(v, types.FunctionType) and not k.startswith("_")}
    for name in (task.name, "forward", "reference"):
        if name in functions:
            return functions[name]
    if len(functions) == 1:
        return next(iter(functions.values()))
    found = ", ".join(functions) or "it has no function"
    raise UsageError(f"the PyTorch file does not say what to translate: {found}", _FIX)
