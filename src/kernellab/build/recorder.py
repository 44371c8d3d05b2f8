"""Runs a candidate's Python on stand-ins and writes down what it launches. Runs inside the build sandbox only.

Covered: nothing here is trusted by the laboratory; a candidate that takes this process over can only change the data
that leaves it, and that data is checked on arrival (plan.py) and compiled elsewhere.
"""

from __future__ import annotations

import inspect
import itertools
import json
import math
import os
from collections.abc import Callable
from typing import Any

from kernellab import candidate

MOST_PARAMETERS, MOST_CHOICES = 64, 1024
_MOST_FLAGS = 256
_ITEMSIZE = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "uint32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "uint8": 1,
    "int8": 1,
}


class Invalid(Exception):
    """launch() refused this combination of parameters."""


class Failed(Exception):
    """Compiling or recording failed for a reason that needs no name of an exception before it."""


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


class Recording:
    """What one launch() launched so far; `make` makes its scratch buffers."""

    def __init__(self, make: type[StandIn] = StandIn) -> None:
        self._make = make
        self.steps: list[dict[str, Any]] = []
        self.sizes: list[int] = []
        self.zeroed: list[int] = []

    def scratch(self, shape: int | tuple[int, ...], dtype: str = "float32", zero: bool = False) -> StandIn:
        extents = (shape,) if isinstance(shape, int) else tuple(int(s) for s in shape)
        dtype = getattr(dtype, "__name__", str(dtype))
        if dtype not in _ITEMSIZE or any(e < 1 for e in extents):
            raise Invalid(f"scratch({shape}, {dtype}): extents must be positive, dtype one of {', '.join(_ITEMSIZE)}")
        stand_in = self._make({"kind": "scratch", "index": len(self.sizes)}, extents, dtype)
        if zero:
            self.zeroed.append(len(self.sizes))
        self.sizes.append(stand_in.nbytes)
        return stand_in

    def plan(self) -> dict[str, Any]:
        return {"scratch": self.sizes, "zeroed": self.zeroed, "steps": self.steps}


class CLauncher:
    """kernel("name")(...) or kernel("name")[grid](...): a C function, once or once for each grid point."""

    def __init__(self, recording: Recording, name: str, grid: list[int] | None = None) -> None:
        self._recording, self._name, self._grid = recording, name, grid

    def __getitem__(self, key: Any) -> CLauncher:
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
        return CLauncher(self._recording, self._name, [int(g) for g in grid])

    def __call__(self, *args: Any) -> None:
        step = {"kernel": self._name, "grid": self._grid, "args": [argument(a) for a in args]}
        self._recording.steps.append(step)


class BlockLauncher:
    """kernel("name")[grid, block, shared](...): shared (bytes of dynamic shared memory) may be left out."""

    def __init__(
        self, recording: Recording, name: str, cooperative: bool = False, cluster: int | tuple[int, ...] = ()
    ) -> None:
        self._recording = recording
        self._step: dict[str, Any] = {"kernel": str(name), "cooperative": bool(cooperative)}
        if cluster:
            self._step["cluster"] = _extents(cluster, "cluster")

    def __getitem__(self, key: Any) -> BlockLauncher:
        parts = key if isinstance(key, tuple) else (key,)
        if not 2 <= len(parts) <= 3:
            raise Invalid("a CUDA launch is kernel(name)[grid, block] or kernel(name)[grid, block, shared]")
        shared = int(parts[2]) if len(parts) == 3 else 0
        shaped = BlockLauncher(self._recording, self._step["kernel"])
        extents = {"grid": _extents(parts[0], "grid"), "block": _extents(parts[1], "block"), "shared": shared}
        shaped._step = {**self._step, **extents}
        return shaped

    def __call__(self, *args: Any) -> None:
        if "block" not in self._step:
            raise Invalid("a CUDA launch needs a grid and a block: kernel(name)[grid, block](...)")
        self._recording.steps.append({**self._step, "args": [argument(a) for a in args]})


def _extents(value: Any, what: str) -> list[int]:
    extents = [int(v) for v in (value if isinstance(value, (tuple, list)) else (value,))]
    if not 1 <= len(extents) <= 3 or min(extents) < 1:
        raise Invalid(f"a {what} has one to three positive extents, not {extents}")
    return extents


def argument(value: Any) -> dict[str, Any]:
    if isinstance(value, StandIn):
        return value._reference
    if isinstance(value, bool) or hasattr(value, "__index__"):
        return {"kind": "int", "value": int(value)}
    if isinstance(value, float) or hasattr(value, "__float__"):
        if not math.isfinite(value):
            raise Failed(
                f"a launch argument is {value}, and plans hold finite numbers: write INFINITY or NAN in SOURCE"
            )
        return {"kind": "float", "value": float(value)}
    raise TypeError(f"a launch argument must be a buffer, an int or a float, not {type(value).__name__}")


LAUNCHERS: dict[str, Callable[..., Any]] = {"plain": CLauncher, "blocks": BlockLauncher}
"""By how a kernel is started: like a function, or in a grid of blocks."""


def record_case(
    launch: Callable[..., Any],
    buffers: list[dict[str, Any]],
    params: dict[str, Any],
    launcher: Callable[..., Any] = CLauncher,
    make: type[StandIn] = StandIn,
) -> dict[str, Any]:
    """One plan: launch() on the stand-ins of one shape. `launcher` makes what kernel(...) gives."""
    recording = Recording(make)
    stand_ins = [make({"kind": "buffer", "index": i}, tuple(b["shape"]), b["dtype"]) for i, b in enumerate(buffers)]
    candidate.bind(lambda name, **options: launcher(recording, name, **options), recording.scratch)
    try:
        launch(*stand_ins, **params)
    finally:
        candidate.bind(None, None)
    return recording.plan()


def load(text: str, name: str) -> dict[str, Any]:
    """Execute the candidate file; its globals are what it defines."""
    scope: dict[str, Any] = {
        "__name__": "candidate", "__file__": name, "kernel": candidate.kernel, "scratch": candidate.scratch,
    }  # fmt: skip
    exec(compile(text, name, "exec"), scope)
    return scope


def describe(scope: dict[str, Any]) -> dict[str, Any]:
    """The data of a candidate: C source, flags, parameter space, the tasks it names."""
    tasks = scope.get("TASKS", ())
    described = {
        "source": str(scope["SOURCE"]) if "SOURCE" in scope else "",
        "flags": [str(f) for f in _few(scope.get("FLAGS", []), _MOST_FLAGS, "FLAGS")],
        "space": _space(scope.get("SPACE", {})),
        "tasks": [tasks] if isinstance(tasks, str) else [str(t) for t in _few(tasks, MOST_PARAMETERS, "TASKS")],
        "about": inspect.cleandoc(str(scope.get("__doc__") or "")),
    }
    for key, value in described.items():
        _writable(value, "the docstring" if key == "about" else key.upper())
    return described


def _writable(value: Any, what: str) -> None:
    """Failed where a record could not hold it: NaN, an infinity, half of a character."""
    if isinstance(value, dict):
        for name, choices in value.items():
            _writable(name, what)
            _writable(choices, f"{what}['{name[:40]}']")
    elif isinstance(value, (list, tuple)):
        for one in value:
            _writable(one, what)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Failed(f"{what} holds {value}: give finite numbers, or a word that SOURCE knows")
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as err:
            half = f"\\u{ord(value[err.start]):04x}"
            raise Failed(f"{what} holds a lone surrogate, {half}: it is half of a character") from None


def _space(space: Any) -> dict[str, list[Any]]:
    """SPACE as plain data. What it holds may never end: no more is taken than is allowed."""
    pairs = _few(space.items() if hasattr(space, "items") else space, MOST_PARAMETERS, "SPACE", "names")
    return {str(n): _few(v, MOST_CHOICES, "SPACE", f"choices of '{str(n)[:40]}'") for n, v in pairs}


def _few(values: Any, most: int, what: str, noun: str = "entries") -> list[Any]:
    """At most so many of them; one more is looked at, to say that there are more."""
    found = list(itertools.islice(values, most + 1))
    if len(found) > most:
        raise Failed(f"{what} has more than {most} {noun}")
    return found


def record(request: dict[str, Any]) -> dict[str, Any]:
    """Everything the compiler and the runner need, or why there is nothing."""
    launcher = LAUNCHERS[request.get("launcher", "plain")]
    return record_with(request, lambda launch, buffers, params: record_case(launch, buffers, params, launcher), True)


def record_with(
    request: dict[str, Any],
    record_one: Callable[[Callable[..., Any], list[dict[str, Any]], dict[str, Any]], dict[str, Any]],
    needs_source: bool,
) -> dict[str, Any]:
    """Record the one shape of the request twice with `record_one`: a launch() that changes its mind is refused."""
    try:
        scope = load(request["text"], request["name"])
    except Exception as err:  # noqa: BLE001  candidate code: any failure is the candidate's
        return {"status": "build-failed", "reason": f"the file does not run: {say(err)}"}
    if "launch" not in scope or not callable(scope["launch"]):
        return {"status": "build-failed", "reason": "the file has no launch() function"}
    try:
        described = describe(scope)
        json.dumps(described)
    except Failed as err:
        return {"status": "build-failed", "reason": str(err)}
    except Exception as err:  # noqa: BLE001  candidate data
        return {"status": "build-failed", "reason": f"SOURCE, FLAGS, SPACE or TASKS is not plain data: {say(err)}"}
    if needs_source and not described["source"].strip():
        return {"status": "build-failed", "reason": "the file has no SOURCE with C code"}
    try:
        accepted = _accepted(scope["launch"], request["params"])
        plan = record_one(scope["launch"], request["buffers"], accepted)
        if plan != record_one(scope["launch"], request["buffers"], accepted):
            return {"status": "build-failed", "reason": "launch() records another plan when it is called again"}
    except Failed as err:
        return {"status": "build-failed", "reason": str(err)}
    except (Invalid, ValueError) as err:
        return {"status": "invalid", "reason": str(err) or "launch() refused the parameters"}
    except Exception as err:  # noqa: BLE001  candidate code
        return {"status": "build-failed", "reason": f"launch() fails: {say(err)}"}
    return {"status": "recorded", **described, "plan": plan}


def _accepted(launch: Callable[..., Any], params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that launch() wants to know about; the others reach SOURCE alone."""
    wanted = inspect.signature(launch).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in wanted.values()):
        return params
    return {k: v for k, v in params.items() if k in wanted}


def say(err: Exception) -> str:
    """An exception in the candidate's code, with the candidate's own line."""
    where = ""
    trace = err.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == "candidate":
            where = f" (line {trace.tb_lineno})"
        trace = trace.tb_next
    if isinstance(err, Failed):
        return f"{err}{where}"
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
    except Failed as err:
        return {"status": "build-failed", "reason": str(err)}
    except Exception as err:  # noqa: BLE001  candidate code
        return {"status": "build-failed", "reason": f"the file does not run: {say(err)}"}
