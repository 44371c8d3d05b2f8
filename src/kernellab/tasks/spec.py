"""The task: what is to be computed, on which shapes, against what, and how much it must move.

A task is data plus a few small functions. It is written by the user and trusted like any script of theirs;
what is checked is whether its judge could be fooled (verdict/controls.py), not whether it is malicious.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.core.hardware import memory_bytes
from kernellab.core.ids import digest
from kernellab.core.targets import sizes_key
from kernellab.graph.record import GraphRecord
from kernellab.tasks.dtypes import DTYPES, SMALL_INTEGERS, in_float32, is_float, is_short, np_dtype, split_name
from kernellab.tasks.expected import Array, Oracle
from kernellab.tasks.tunable import Tunable

Dims = dict[str, int]
Draw = Callable[[np.random.Generator, "Buffer", Dims], Array]

DrawOne = Callable[[np.random.Generator, np.random.Generator, "Buffer", Dims], Array]

_GROUPS = ("tune", "held_out", "edge")
ON_GPU = "cuda"
"""The key of a task's shapes for GPUs of any kind; the word is part of every fingerprint."""

__all__ = [
    "DTYPES",
    "ON_GPU",
    "Array",
    "Buffer",
    "Dims",
    "Draw",
    "Sizes",
    "Task",
    "Together",
    "Tunable",
    "dims_label",
    "parse_dims",
]


@dataclass(frozen=True)
class Together:
    """A draw of inputs that have places in common. `one` takes a second generator for those; each input gets it in the
    same state."""

    one: DrawOne

    def __call__(self, rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
        return self.one(rng, rng, buffer, dims)

    def at(self, places: int) -> Draw:
        return lambda rng, buffer, dims: self.one(rng, np.random.default_rng(places), buffer, dims)


@dataclass(frozen=True)
class Buffer:
    """One input or output. Extents are integers, names of dims, or arithmetic over them ("2*N+1").

    `constant` says that the contents stay the same between calls in real use (a table, a filter), so a kernel
    may keep what it derived from them; everything else changes at every call. `weight`: a parameter of a captured module;
    an output may happen not to depend on one (a bias that a normalisation takes away).
    """

    name: str
    extents: tuple[str | int, ...]
    dtype: str = "float32"
    constant: bool = False
    weight: bool = False

    def shape(self, dims: Dims) -> tuple[int, ...]:
        return tuple(e if isinstance(e, int) else _extent(e, dims) for e in self.extents)

    def nbytes(self, dims: Dims) -> int:
        return math.prod(self.shape(dims)) * np_dtype(self.dtype).itemsize


def elements(buffers: Iterable[Buffer], dims: Dims) -> int:
    """How many elements the buffers hold together."""
    return sum(math.prod(b.shape(dims)) for b in buffers)


@dataclass(frozen=True)
class Sizes:
    """Shapes for one kind of device, where the task's own would not keep it busy."""

    tune: tuple[Dims, ...]
    held_out: tuple[Dims, ...]
    edge: tuple[Dims, ...]

    def __post_init__(self) -> None:
        for group in _GROUPS:
            object.__setattr__(self, group, tuple(dict(d) for d in getattr(self, group)))


IEEE = "ieee"


@dataclass(frozen=True)
class Captured:
    """Of a task made from a captured graph: the graph, who computes what is expected, the digest of the record that says
    everything about it, and the graph in words. `varied`: distributions of which one drawing shows little."""

    graph: GraphRecord
    oracle: Oracle
    digest: str
    text: str
    varied: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """See docs/tasks.md for every field with an example.

    reference   float64 NumPy in, float64 NumPy out (a tuple for several outputs): the oracle
    baselines   what a user would pick instead: name -> f(*inputs, *outputs), writing the outputs in place.
                "numpy" gets NumPy arrays; names that start with "torch" get torch tensors over the same memory.
                Without "numpy" the reference itself, run in the task's own dtype, takes its place; that
                implementation is also the trusted one whose error sets the budget. 16-bit floats reach "numpy" as
                float32 arrays and its results are rounded once, as in an honest kernel.
    gpu_baselines   the same for a GPU: name -> f(*input tensors) -> output tensor or tuple, plain allocating torch code.
                "torch" is run eager, as a CUDA graph and compiled; other names are vendor paths, run as they are.
                In both, a Tunable is a function with knobs, tried at every setting of them.
    tune, held_out, edge   shapes searched on, shapes no proposer sees, odd and tiny shapes
    sizes       other shapes for a kind of device (ON_GPU); `on(kind)` is the task with those
    quick       a shape large enough to time and small enough to judge often (default: the smallest of `tune`)
    distributions   name -> draw(rng, buffer, dims); the first is the one that is timed
    scale       float64 magnitude of the terms behind each output element, where cancellation makes |output| too
                small a yardstick for rounding error (default: |output|); tasks/sums.py has it for sums
    shared      what of each output's scale, over the magnitude of its values, is for a factor that a whole row (last axis)
                has in common, such as the error of the sum it was divided by: f(*outputs in float64) -> one number a
                row, None for an output without. The errors of neighbours may not differ by it.
    plain       a second trusted implementation in the task's own dtype, evaluated in the plainest order (one running
                sum): f(*inputs) -> outputs. Where inputs make plain summation lose digits, honest kernels may too.
    reduction   how many input elements are summed into an output element (rounding grows with the square root of those
                that are not zero), where `scale` does not say what the sum may lose
    halo        rows (first axis of every buffer) of the outputs depend on so many rows of the inputs on either side
                and no others: large shapes are then judged band by band. None: on anything.
    exact       outputs must match bit for bit
    precision   what the arithmetic may cost: "ieee" (the dtype's own), or "tf32", "bf16", "f16" for the operands of products
    captured    what a task made from a PyTorch module has besides; None for hand-written ones
    """

    name: str
    about: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    reference: Callable[..., Any]
    tune: tuple[Dims, ...]
    held_out: tuple[Dims, ...]
    edge: tuple[Dims, ...]
    distributions: Mapping[str, Draw]
    baselines: Mapping[str, Callable[..., None]] = field(default_factory=dict)
    bytes_moved: Callable[[Dims], int] | None = None
    flops: Callable[[Dims], int] | None = None
    scale: Callable[..., Any] | None = None
    reduction: Callable[[Dims], int] | None = None
    plain: Callable[..., Any] | None = None
    exact: bool = False
    halo: int | None = None
    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    gpu_baselines: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    quick: Dims | None = None
    precision: str = IEEE
    captured: Captured | None = None
    shared: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "outputs", tuple(self.outputs))
        if self.captured is None and "numpy" not in self.baselines:
            object.__setattr__(self, "baselines", {"numpy": _in_own_dtype(self.reference), **self.baselines})
        for group in _GROUPS:
            object.__setattr__(self, group, tuple(dict(d) for d in getattr(self, group)))
        _check(self)
        if self.captured is None and not self.exact and any(is_short(b.dtype) for b in (*self.inputs, *self.outputs)):
            rounding_once = in_float32(self.baselines["numpy"], len(self.inputs))
            object.__setattr__(self, "baselines", {**self.baselines, "numpy": rounding_once})

    def on(self, kind: str) -> Task:
        """The task with its shapes, and its oracle, for this kind of device: a copy, or itself where it has neither."""
        captured = replace(self.captured, oracle=self.captured.oracle.on(kind)) if self.captured else None
        sizes = self.sizes.get(kind) or self.sizes.get(sizes_key(kind))
        if sizes is None:
            return replace(self, captured=captured) if captured else self
        # `plain` excuses one running sum over everything, which no kernel of such a device does
        shaped = replace(self, tune=sizes.tune, held_out=sizes.held_out, edge=sizes.edge, plain=None)
        return replace(shaped, captured=captured)

    def by_processor(self) -> Task:
        """The same shapes, with the oracle on the processor: two devices round float64 sums differently, and a proof
        compares every bit."""
        return (
            replace(self, captured=replace(self.captured, oracle=self.captured.oracle.on("cpu")))
            if self.captured
            else self
        )

    @property
    def family(self) -> str:
        """What it shares with its variants of other dtypes."""
        return split_name(self.name)[0]

    @property
    def oracle(self) -> Oracle | None:
        return self.captured.oracle if self.captured else None

    @property
    def varied(self) -> tuple[str, ...]:
        """Distributions whose drawings have little in common."""
        return self.captured.varied if self.captured else ()

    @property
    def trusted(self) -> str:
        """The baseline whose own error is part of the budget."""
        return "torch" if self.captured else "numpy"

    @property
    def quick_shape(self) -> Dims:
        return self.quick or min(self.tune, key=self.least_bytes)

    @property
    def dim_names(self) -> tuple[str, ...]:
        return tuple(self.tune[0])

    def least_bytes(self, dims: Dims) -> int:
        """Bytes that any kernel must move: every input read once, every output written once, unless stated."""
        if self.bytes_moved is not None:
            return int(self.bytes_moved(dims))
        return sum(b.nbytes(dims) for b in (*self.inputs, *self.outputs))

    def least_flops(self, dims: Dims) -> int:
        return int(self.flops(dims)) if self.flops is not None else 0

    def fingerprint(self) -> str:
        """Changes when the task changes: its data and the source text of its functions. A captured module has no such text:
        its record stands for all of it."""
        if self.captured is not None:
            shapes = [list(self.tune), list(self.held_out), list(self.edge)]
            return digest({"module": self.captured.digest, "name": self.name, "shapes": shapes})
        functions = [self.reference, self.scale, self.plain, self.bytes_moved, self.flops, self.reduction]
        extra: dict[str, Any] = {}  # absent where unused: records of tasks without them stay valid
        if self.sizes:
            extra["sizes"] = {k: [list(s.tune), list(s.held_out), list(s.edge)] for k, s in self.sizes.items()}
        if self.halo is not None:
            extra["halo"] = self.halo
        if self.shared is not None:
            extra["shared"] = _source(self.shared)
        if self.gpu_baselines:
            extra["gpu_baselines"] = {k: _source(f) for k, f in self.gpu_baselines.items()}
        groups = {"cpu": self.baselines, "gpu": self.gpu_baselines}
        knobs = {f"{g} {k}": f.knobs for g, fs in groups.items() for k, f in fs.items() if isinstance(f, Tunable)}
        if knobs:
            extra["knobs"] = {k: {knob: list(values) for knob, values in v.items()} for k, v in knobs.items()}
        return digest(
            {
                **extra,
                "name": self.name,
                "inputs": [[b.name, list(b.extents), b.dtype, b.constant] for b in self.inputs],
                "outputs": [[b.name, list(b.extents), b.dtype, b.constant] for b in self.outputs],
                "shapes": [list(self.tune), list(self.held_out), list(self.edge)],
                "exact": self.exact,
                "functions": [_source(f) for f in functions],
                "baselines": {k: _source(f) for k, f in self.baselines.items()},
                "distributions": {k: _source(f) for k, f in self.distributions.items()},
            }
        )


def dims_label(dims: Mapping[str, int]) -> str:
    """ "M=4096,N=512": how a shape is written everywhere, on the command line too."""
    return ",".join(f"{k}={v}" for k, v in dims.items())


def shape_key(dims: Mapping[str, int]) -> str:
    """A shape's label with its names sorted: the same whether it comes from a task or from a record."""
    return dims_label(dict(sorted(dims.items())))


def in_order(dims: Mapping[str, int], task: Task) -> Dims:
    """A shape as the task writes it (records sort their keys)."""
    return {name: dims[name] for name in task.dim_names}


_LONGEST = 1 << 48
"""No extent is longer: such a buffer has no place in any machine."""


def parse_dims(text: str, task: Task) -> Dims:
    """Read a shape from the command line: "M=4096,N=512" or "4096x512" in the task's order."""
    names = task.dim_names
    try:
        if "=" in text:
            pairs = [(k.strip(), int(v)) for k, v in (part.split("=") for part in text.split(","))]
            dims = dict(pairs) if len(dict(pairs)) == len(pairs) else {}
        else:
            dims = dict(zip(names, (int(v) for v in text.lower().split("x")), strict=True))
    except ValueError:
        dims = {}
    if set(dims) != set(names) or not all(1 <= v <= _LONGEST for v in dims.values()):
        example = task.tune[0]
        short = "x".join(str(v) for v in example.values())
        raise UsageError(
            f"'{text[:80]}' is not a shape of task {task.name}",
            f"write it like {short} or {dims_label(example)}, in whole numbers from 1 on",
        )
    needs, has = task.least_bytes(dims), memory_bytes()
    if needs > has:
        raise UsageError(f"one call at {text} needs {needs / 1e9:.4g} GB, and this machine has {has / 1e9:.4g}",
                         "choose a smaller shape")  # fmt: skip
    return {n: dims[n] for n in names}


def _in_own_dtype(reference: Callable[..., Any]) -> Callable[..., None]:
    """The reference on the task's own arrays, as a baseline that writes its outputs in place."""
    arity = sum(p.default is p.empty for p in inspect.signature(reference).parameters.values())

    def with_numpy(*buffers: Array) -> None:
        result = reference(*buffers[:arity])
        for out, value in zip(buffers[arity:], result if isinstance(result, tuple) else (result,), strict=True):
            out[...] = value

    return with_numpy


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> CodeType:
    return compile(expression, "<extent>", "eval")


def _extent(expression: str, dims: Dims) -> int:
    try:
        value = eval(_compiled(expression), {"__builtins__": {}}, dict(dims))
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"gives {value!r}, not a whole number")
    except (NameError, SyntaxError, TypeError, ValueError, ArithmeticError, AttributeError) as err:
        raise TaskRefused(
            f"extent '{expression}' cannot be computed from {dims_label(dims)}: {err}",
            "use integers, the names of the task's dims, and + - * //",
        ) from None
    return value


def _source(function: Callable[..., Any] | None) -> str:
    if function is None:
        return ""
    if isinstance(function, Tunable):
        return _source(function.function)
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return getattr(function, "__qualname__", repr(function))


def _check(task: Task) -> None:
    if not task.name.replace("_", "").replace("-", "").isalnum():
        raise _refusal(task, "the name may hold letters, digits, '-' and '_' only", "rename the task")
    if not task.inputs or not task.outputs:
        raise _refusal(task, "needs at least one input and one output", "add Buffer(...) entries to inputs and outputs")
    names = [b.name for b in (*task.inputs, *task.outputs)]
    if len(set(names)) != len(names) or not all(n.isidentifier() for n in names):
        raise _refusal(task, f"buffer names {names} must be distinct identifiers", "rename the buffers")
    for buffer in (*task.inputs, *task.outputs):
        if buffer.dtype not in (*DTYPES, *(SMALL_INTEGERS if task.captured else ())):
            fix = f"use one of {', '.join(DTYPES)}"
            raise _refusal(task, f"buffer '{buffer.name}' has dtype {buffer.dtype}", fix)
    if not task.exact and not task.captured and any(not is_float(b.dtype) for b in task.outputs):
        raise _refusal(task, "has integer outputs", "set exact=True: integers are compared bit for bit")
    _check_knobs(task)
    _check_shapes(task, Sizes(task.tune, task.held_out, task.edge), "")
    for kind, sizes in task.sizes.items():
        _check_shapes(task, sizes, f"{kind} ")
    if task.quick is not None:
        _check_shapes(task, Sizes((task.quick,), task.held_out, task.edge), "quick ")
    rows = {tuple(b.extents[:1]) for b in (*task.inputs, *task.outputs)}
    if task.halo is not None and (task.halo < 0 or len(rows) != 1 or not rows <= {(n,) for n in task.dim_names}):
        raise _refusal(task, "has a halo, but its buffers do not share a first axis that is a dim", "drop halo=")
    if len(task.distributions) < 2 and not task.exact:
        raise _refusal(
            task,
            "has fewer than two input distributions",
            "add offset, heavy-tailed or large inputs (kernellab.tasks.inputs)",
        )


def _check_knobs(task: Task) -> None:
    """The two baselines that stand for more than themselves have none; elsewhere settings are few."""
    for baselines, plain in ((task.baselines, "numpy"), (task.gpu_baselines, "torch")):
        for name, baseline in baselines.items():
            if not isinstance(baseline, Tunable):
                continue
            if name == plain:
                raise _refusal(
                    task, f"the baseline '{name}' has knobs", "that one is a plain function; rename the other"
                )
            if fault := baseline.fault():
                raise _refusal(task, f"the baseline '{name}' {fault[0]}", fault[1])


def _check_shapes(task: Task, sizes: Sizes, kind: str) -> None:
    for group in _GROUPS:
        shapes: tuple[Dims, ...] = getattr(sizes, group)
        if not shapes:
            raise _refusal(task, f"has no {kind}{group} shapes", "give at least 1: a judge without them can be fooled")
        for dims in shapes:
            if set(dims) != set(task.dim_names):
                what = f"{kind}{group} shape {dims} does not have the dims {task.dim_names}"
                raise _refusal(task, what, "name every dim in every shape")
            for buffer in (*task.inputs, *task.outputs):
                if any(e < 1 for e in buffer.shape(dims)):
                    raise _refusal(task, f"buffer '{buffer.name}' is empty at {dims_label(dims)}", "drop that shape")
    if any(d in sizes.tune for d in sizes.held_out):
        what = f"a {kind}held-out shape is also a tuning shape"
        raise _refusal(task, what, "held-out shapes must be ones no proposer ever sees")


def _refusal(task: Task, what: str, fix: str) -> TaskRefused:
    return TaskRefused(f"task '{task.name}': {what}", fix)
