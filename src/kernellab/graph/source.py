"""Finding what to capture in a user's file, and making it and its example inputs. Runs in the capture process.

The form is KernelBench's: a class (or a function), `get_inputs()` and, for a class with arguments, `get_init_inputs()`.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from kernellab.core.errors import TaskRefused
from kernellab.graph.any_device import device_of
from kernellab.graph.need_torch import need_torch

_CLASS = "Model"
SOLUTION = "ModelNew"
"""What KernelBench calls somebody's own version of a problem's Model."""


@dataclass(frozen=True)
class Request:
    """What to capture. `name` is a class or a function of the file, or nothing; the settings go to it and to get_inputs."""

    file: str
    name: str = ""
    init: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None
    eval_mode: bool = False
    text: str | None = None
    """The file's text, read by whoever may read it; the capture process has a user of its own."""
    backward: bool = False
    """The gradients instead of the results."""


@dataclass(frozen=True)
class Subject:
    """A module with its example inputs."""

    module: Any
    inputs: tuple[Any, ...]


def import_file(path: str, text: str | None) -> ModuleType:
    """Run the user's file as a module of its own. It may import what lies beside it."""
    if text is None:
        raise TaskRefused(f"{os.path.basename(path)} was not read", "give its text with the request")
    module = ModuleType("klab_graph_source")
    module.__file__ = path
    sys.modules[module.__name__] = module
    sys.path.insert(0, os.path.dirname(path))
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def choose(module: ModuleType, name: str) -> Any:
    """The class or function of that name; without a name the only module class, or the one called Model."""
    torch = need_torch()
    file = os.path.basename(str(module.__file__))
    if name:
        found = getattr(module, name, None)
        if found is None:
            raise TaskRefused(f"{file} has no '{name}'", f"it has {_listed(_names(module))}")
        if not callable(found):
            raise TaskRefused(f"{file}: '{name}' is no class and no function", f"it has {_listed(_names(module))}")
        return found
    classes = [c for c in _own(module) if inspect.isclass(c) and issubclass(c, torch.nn.Module)]
    preferred = [c for c in classes if c.__name__ == _CLASS] or classes
    if len(preferred) == 1:
        return preferred[0]
    if not classes:
        raise TaskRefused(
            f"{file} has no torch.nn.Module", f"name a function: FILE.py:NAME; it has {_listed(_names(module))}"
        )
    raise TaskRefused(
        f"{file} has several modules: {_listed([c.__name__ for c in classes])}",
        f"say which: FILE.py:{classes[-1].__name__}",
    )


def make(module: ModuleType, chosen: Any, request: Request) -> Subject:
    """The module in the mode that is asked for, and its inputs. Torch's default device is the caller's affair."""
    return Subject(make_module(module, chosen, request), example_inputs(module, request))


def make_module(module: ModuleType, chosen: Any, request: Request) -> Any:
    """`chosen`, which may be another file's, made with the arguments that this file gives its own."""
    torch = need_torch()
    torch.manual_seed(0)
    if inspect.isclass(chosen):
        made = chosen(*_init(module), **_accepted(chosen, request.init)) if request.init is None else chosen(
            **_accepted(chosen, request.init)
        )  # fmt: skip
        if not isinstance(made, torch.nn.Module):
            raise TaskRefused(
                f"{chosen.__name__} is no torch.nn.Module", "derive it from torch.nn.Module, or name a function"
            )
    else:
        made = as_module(chosen)
    if request.eval_mode:
        made.eval()
    return made


def example_inputs(module: ModuleType, request: Request) -> tuple[Any, ...]:
    drawn = getattr(module, "get_inputs", None)
    if drawn is None:
        raise TaskRefused(
            f"{os.path.basename(request.file)} has no get_inputs()",
            "add a function get_inputs() that returns a list of tensors",
        )
    return check_inputs(drawn(**_accepted(drawn, request.inputs)))


def as_module(function: Callable[..., Any]) -> Any:
    """A function as a module without weights, for torch.export takes modules."""
    torch = need_torch()

    class Function(torch.nn.Module):  # type: ignore[misc, name-defined]
        pass

    Function.forward = staticmethod(function if _is_described(function) else lambda *inputs: function(*inputs))
    return Function()


def _is_described(function: Callable[..., Any]) -> bool:
    """Torch's own functions do not say what they take."""
    try:
        inspect.signature(function)
    except ValueError:
        return False
    return True


def check_inputs(inputs: Any) -> tuple[Any, ...]:
    """Tensors and plain values; anything else is refused by its place."""
    torch = need_torch()
    given = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    if not isinstance(given, list | tuple):
        raise TaskRefused(f"get_inputs() returns a {type(inputs).__name__}", "return a list of tensors")
    for number, value in enumerate(given):
        if not isinstance(value, torch.Tensor | bool | int | float | str | None):
            raise TaskRefused(
                f"input {number} is a {type(value).__name__}, not a tensor",
                "pass tensors one by one; make the rest attributes",
            )
        if isinstance(value, torch.Tensor):
            _check_tensor(number, value)
    if not any(isinstance(value, torch.Tensor) for value in given):
        raise TaskRefused("there is no tensor among the inputs", "get_inputs() returns a list of tensors")
    return tuple(given)


def _check_tensor(number: int, tensor: Any) -> None:
    if tensor.is_quantized:
        raise TaskRefused(f"input {number} is quantised", "hold integers and scales as plain tensors")
    if tensor.is_complex():
        raise TaskRefused(
            f"input {number} is complex", "complex numbers are not supported; use real and imaginary parts"
        )
    if tensor.numel() == 0:
        raise TaskRefused(f"input {number} has no elements: {list(tensor.shape)}", "give it a size above zero")


def check_devices(subject: Subject) -> None:
    torch = need_torch()
    tensors = [*subject.module.parameters(), *subject.module.buffers(), *subject.inputs]
    devices = sorted({str(t.device) for t in tensors if isinstance(t, torch.Tensor)})
    asked = sorted({device_of(t) for t in subject.inputs if isinstance(t, torch.Tensor)})
    devices = devices if len(asked) < 2 else asked
    if len(devices) > 1:
        raise TaskRefused(
            f"inputs and weights are on several devices: {', '.join(devices)}", "make them all on one device"
        )


def told(error: BaseException, file: str) -> str:
    """An error of the user's code with the innermost line of their file."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    where = f"{os.path.basename(file)}:{frames[-1].lineno}: " if frames else ""
    if isinstance(error, SyntaxError) and error.filename == file:
        where = f"{os.path.basename(file)}:{error.lineno}: "
        return f"{where}SyntaxError: {error.msg}"
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{where}{type(error).__name__}: {first[:400]}"


def _init(module: ModuleType) -> tuple[Any, ...]:
    drawn = getattr(module, "get_init_inputs", None)
    given = drawn() if drawn else ()
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def _accepted(function: Any, settings: dict[str, Any] | None) -> dict[str, Any]:
    """Those settings that the function has a parameter for. A module class without an __init__ of its own takes none."""
    if inspect.isclass(function) and function.__init__ is need_torch().nn.Module.__init__:
        return {}
    parameters = inspect.signature(function).parameters
    every = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return {k: v for k, v in (settings or {}).items() if every or k in parameters}


def _own(module: ModuleType) -> list[Any]:
    return [v for v in vars(module).values() if getattr(v, "__module__", "") == module.__name__]


def _names(module: ModuleType) -> list[str]:
    found = [v.__name__ for v in _own(module) if hasattr(v, "__name__")]
    return [n for n in found if n not in ("get_inputs", "get_init_inputs")]


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "nothing"
