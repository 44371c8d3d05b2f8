"""Runs a candidate's Python on stand-ins and writes down what it launches. Runs inside the build sandbox only.

Covered: nothing here is trusted by the laboratory; a candidate that takes this process over can only change the data
that leaves it, and that data is checked on arrival (plan.py) and compiled elsewhere.
"""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Callable
from typing import Any

from kernellab import candidate

_ITEMSIZE = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "uint32": 4,
    "float16": 2,
    "int16": 2,
    "uint8": 1,
    "int8": 1,
}


class Invalid(Exception):
    """launch() refused this combination of parameters."""


class StandIn:
    """A buffer without data: shape, dtype, strides (in elements)."""

    def __init__(self, reference: dict[str, Any], shape: tuple[int, ...], dtype: str) -> None:
        self._reference = reference
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)
        self.size = math.prod(shape)
        self.itemsize = _ITEMSIZE[dtype]
        self.nbytes = self.size * self.itemsize
        self.strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"StandIn(shape={self.shape}, dtype={self.dtype})"


class _Launcher:
    def __init__(self, steps: list[dict[str, Any]], name: str, grid: list[int] | None = None) -> None:
        self._steps, self._name, self._grid = steps, name, grid

    def __getitem__(self, key: Any) -> _Launcher:
        parts = key if isinstance(key, tuple) else (key,)
        if parts and isinstance(parts[0], (tuple, list)):
            grid, extra = list(parts[0]), parts[1:]
        elif len(parts) == 3 and parts[2] == 0:
            grid, extra = [parts[0]], parts[1:]
        else:
            grid, extra = list(parts), ()
        flat = [v for e in extra for v in (e if isinstance(e, (tuple, list)) else (e,))]
        if any(v not in (0, 1) for v in flat):
            raise Invalid("a C kernel has no blocks or shared memory: write kernel(name)[grid](...) and loop inside")
        if not 1 <= len(grid) <= 3:
            raise Invalid(f"a grid has one to three extents, not {len(grid)}")
        return _Launcher(self._steps, self._name, [int(g) for g in grid])

    def __call__(self, *args: Any) -> None:
        self._steps.append({"kernel": self._name, "grid": self._grid, "args": [_argument(a) for a in args]})


def _argument(value: Any) -> dict[str, Any]:
    if isinstance(value, StandIn):
        return value._reference
    if isinstance(value, bool) or hasattr(value, "__index__"):
        return {"kind": "int", "value": int(value)}
    if isinstance(value, float) or hasattr(value, "__float__"):
        return {"kind": "float", "value": float(value)}
    raise TypeError(f"a launch argument must be a buffer, an int or a float, not {type(value).__name__}")


def record_case(launch: Callable[..., Any], buffers: list[dict[str, Any]], params: dict[str, Any]) -> dict[str, Any]:
    """One plan: launch() on the stand-ins of one shape."""
    steps: list[dict[str, Any]] = []
    sizes: list[int] = []

    def make_scratch(shape: int | tuple[int, ...], dtype: str = "float32") -> StandIn:
        extents = (shape,) if isinstance(shape, int) else tuple(int(s) for s in shape)
        dtype = getattr(dtype, "__name__", str(dtype))
        if dtype not in _ITEMSIZE or any(e < 1 for e in extents):
            raise Invalid(f"scratch({shape}, {dtype}): extents must be positive, dtype one of {', '.join(_ITEMSIZE)}")
        stand_in = StandIn({"kind": "scratch", "index": len(sizes)}, extents, dtype)
        sizes.append(stand_in.nbytes)
        return stand_in

    stand_ins = [StandIn({"kind": "buffer", "index": i}, tuple(b["shape"]), b["dtype"]) for i, b in enumerate(buffers)]
    candidate.bind(lambda name: _Launcher(steps, name), make_scratch)
    try:
        launch(*stand_ins, **params)
    finally:
        candidate.bind(None, None)
    return {"scratch": sizes, "steps": steps}


def load(text: str, name: str) -> dict[str, Any]:
    """Execute the candidate file; its globals are what it defines."""
    scope: dict[str, Any] = {
        "__name__": "candidate", "__file__": name, "kernel": candidate.kernel, "scratch": candidate.scratch,
    }  # fmt: skip
    exec(compile(text, name, "exec"), scope)
    return scope


def describe(scope: dict[str, Any]) -> dict[str, Any]:
    """The data of a candidate: C source, flags, parameter space, the tasks it names."""
    space = {str(k): list(v) for k, v in dict(scope.get("SPACE", {})).items()}
    tasks = scope.get("TASKS", ())
    return {
        "source": str(scope["SOURCE"]) if "SOURCE" in scope else "",
        "flags": [str(f) for f in scope.get("FLAGS", [])],
        "space": space,
        "tasks": [tasks] if isinstance(tasks, str) else [str(t) for t in tasks],
        "about": inspect.cleandoc(str(scope.get("__doc__") or "")),
    }


def record(request: dict[str, Any]) -> dict[str, Any]:
    """Everything the compiler and the runner need, or why there is nothing."""
    try:
        scope = load(request["text"], request["name"])
    except Exception as err:  # noqa: BLE001  candidate code: any failure is the candidate's
        return {"status": "build-failed", "reason": f"the file does not run: {_say(err)}"}
    if "launch" not in scope or not callable(scope["launch"]):
        return {"status": "build-failed", "reason": "the file has no launch() function"}
    try:
        described = describe(scope)
        json.dumps(described)
    except Exception as err:  # noqa: BLE001  candidate data
        return {"status": "build-failed", "reason": f"SOURCE, FLAGS, SPACE or TASKS is not plain data: {_say(err)}"}
    if not described["source"].strip():
        return {"status": "build-failed", "reason": "the file has no SOURCE with C code"}
    accepted = _accepted(scope["launch"], request["params"])
    plans = []
    try:
        for buffers in request["cases"]:
            plan = record_case(scope["launch"], buffers, accepted)
            if plan != record_case(scope["launch"], buffers, accepted):
                return {"status": "build-failed", "reason": "launch() records another plan when it is called again"}
            plans.append(plan)
    except (Invalid, ValueError) as err:
        return {"status": "invalid", "reason": str(err) or "launch() refused the parameters"}
    except Exception as err:  # noqa: BLE001  candidate code
        return {"status": "build-failed", "reason": f"launch() fails: {_say(err)}"}
    return {"status": "recorded", **described, "plans": plans}


def _accepted(launch: Callable[..., Any], params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that launch() wants to know about; the others reach SOURCE alone."""
    wanted = inspect.signature(launch).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in wanted.values()):
        return params
    return {k: v for k, v in params.items() if k in wanted}


def _say(err: Exception) -> str:
    where = ""
    trace = err.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == "candidate":
            where = f" (line {trace.tb_lineno})"
        trace = trace.tb_next
    if isinstance(err, SyntaxError):
        where = f" (line {err.lineno})"
        return f"SyntaxError: {err.msg}{where}"
    return f"{type(err).__name__}: {err}{where}"


def main(fds: list[int]) -> int:
    """Sandbox entry: request on the first descriptor, reply on the second."""
    request = json.loads(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
    handler = describe_only if request.get("only") == "describe" else record
    os.pwrite(fds[1], json.dumps(handler(request)).encode(), 0)
    return 0


def describe_only(request: dict[str, Any]) -> dict[str, Any]:
    try:
        described = describe(load(request["text"], request["name"]))
        json.dumps(described)
        return {"status": "described", **described}
    except Exception as err:  # noqa: BLE001  candidate code
        return {"status": "build-failed", "reason": f"the file does not run: {_say(err)}"}
