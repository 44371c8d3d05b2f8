"""Under which distributions a captured module can be tried: its outputs are finite, and no luck is needed to judge them.

It is drawn, and looked at, at the largest edge shape, and where that says little at the smallest. Weights that are large
everywhere are drawn once for each way of drawing them: between them and the inputs nothing is planted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from kernellab.core.errors import TaskRefused
from kernellab.core.hardware import available_bytes
from kernellab.graph.asked import in_order
from kernellab.graph.evaluate import evaluate
from kernellab.graph.record import Output
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.expected import Array, Expected
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.modules.draws import (
    ALL_KINDS,
    BARE,
    FAINT,
    INSTEAD,
    KINDS,
    OWN,
    SPARSE,
    TURNING,
    UNEVEN,
    WEIGHTS,
    more_kinds,
    weighs_as_own,
)
from kernellab.tasks.modules.excepted import Excepted, ends_of, excepts
from kernellab.tasks.modules.exceptions import except_for_certain
from kernellab.tasks.modules.host_arrays import tensors
from kernellab.tasks.modules.needs import answer_bytes, witness_bytes
from kernellab.tasks.modules.oracle import TorchOracle
from kernellab.tasks.modules.record import ModuleRecord
from kernellab.tasks.modules.shapes import work
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.modules.uses import Uses
from kernellab.tasks.oracle import needs_luck
from kernellab.tasks.spec import Dims, Task, dims_label, elements

SEED = 20260
_DRAWS_PLANTED, _DRAWS_EXCEPTED = 8, 2
_UNDECIDED = 1024
"""One number in so many may as well be endless: rounding decides somewhere."""
_LARGE = 1 << 20
"""Elements of a weight that is not drawn anew for every try."""
TORCHS_OWN = (RuntimeError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, MemoryError)
"""What torch raises where a graph does not fit the inputs that are drawn here; a graph may come from anybody."""


def usable(record: ModuleRecord) -> tuple[str, ...]:
    """The distributions under which the outputs are finite, in float64 and in the module's own types; or what there is
    instead of one."""
    more = more_kinds(record.graph)
    every = (*ALL_KINDS, *(kind for either in more for kind in either))
    tries = _Tries(record, module_task(record.model_copy(update={"distributions": every})))
    tries.refuse_too_large()
    tries.refuse_unknown_range()
    tries.refuse_no_order()
    either_of = [*((kind, *INSTEAD.get(kind, ())) for kind in KINDS), *more]
    found = [next((kind for kind in kinds if kind == OWN or tries.good(kind)), "") for kinds in either_of]
    return tuple(dict.fromkeys(kind for kind in found if kind))


def _open(expected: Expected) -> int:
    """How many numbers may as well be endless."""
    endless = ~(np.isfinite(expected.low) & np.isfinite(expected.high))
    return int(np.count_nonzero(endless & np.isfinite(expected.value)))


class _Tries:
    def __init__(self, record: ModuleRecord, task: Task) -> None:
        graph = record.graph
        self._graph, self._task = graph, task
        self._dims = max(task.edge, key=lambda dims: work(graph, dims))
        self._smallest = min(task.edge, key=task.least_bytes)
        self._weights: dict[tuple[str, str, tuple[int, ...]], Array] = {}
        self._tensors: dict[int, Any] = {}
        self._oracle = TorchOracle(graph, record.precision, self._device())

    def refuse_too_large(self) -> None:
        """Sizes that are fixed may be large at any shape; who takes more memory than there is, is ended without a word."""
        on_device, has = self._oracle.is_there(), available_bytes()
        where = "beside a GPU" if on_device else "on the processor"
        needed = (witness_bytes if on_device else answer_bytes)(self._graph, self._dims)
        if needed > has:
            raise TaskRefused(
                f"{self._task.name}: judging it {where} takes about {needed / 1e9:.3g} GB of memory, {has / 1e9:.3g} are "
                f"available, even at a small shape ({dims_label(self._dims)}): answers are computed in float64",
                "make the sizes in its file smaller, or take a machine with more memory",
            )

    def refuse_unknown_range(self) -> None:
        """Where nobody knows what inputs are like, any numbers are drawn; a graph that has no answers to those is no
        task."""
        unseen = [i.name for i in self._graph.inputs if i.role == "input" and i.type.is_float and i.seen is None]
        if unseen and not self._finite(OWN, self._dims, self._drawn(OWN, self._dims)):
            raise TaskRefused(
                f"{self._task.name}: its example inputs are too large to be looked at ({', '.join(unseen)}), and numbers of "
                "any size and sign give outputs that are not finite",
                "write its sizes as numbers at the top of the file, so that a smaller example can be made, or give one",
            )

    def refuse_no_order(self) -> None:
        """Among numbers in no order a search finds anything, and nobody could tell right from wrong."""
        if not self._ordered(self._drawn(OWN, self._dims)):
            raise TaskRefused(
                f"{self._task.name}: on inputs like its own it searches among numbers that do not ascend",
                "sort them in the module, or make what is searched an input",
            )

    def _ordered(self, inputs: list[Array]) -> bool:
        """Whether what is searched ascends. Inputs are drawn so; what is computed of them may not be."""
        refs = {(ref.ref, ref.part): ref for node in self._graph.nodes if (ref := in_order(node)) is not None}
        if not refs:
            return True
        outputs = tuple(Output(ref=ref, type=self._graph.types[key]) for key, ref in refs.items())
        found = evaluate(self._graph.model_copy(update={"outputs": outputs}), tensors(self._graph, inputs))
        return all(bool((values.diff(dim=-1) >= 0).all()) for values in found)

    def good(self, kind: str) -> bool:
        """What is planted differs from draw to draw, and at small shapes all of an input may be."""
        tries = [(self._dims, SEED)]
        tries += [(self._smallest, seed) for seed in range(_DRAWS_PLANTED) if kind in (*TURNING, *WEIGHTS, "offset")]
        tries += [(self._dims, seed) for seed in range(_DRAWS_EXCEPTED) if excepts(kind)]
        finite = all(self._answered(kind, dims, self._drawn(kind, dims, seed)) for dims, seed in tries)
        finite = finite and (not excepts(kind) or self._finite(kind, self._dims, self._excepted(kind)))
        finite = finite and (not any(self._endless) or all(self._told_apart(kind, *one) for one in tries))
        return finite and (not (excepts(kind) or kind in (SPARSE, BARE, UNEVEN, FAINT)) or self._steady(kind))

    def _answered(self, kind: str, dims: Dims, inputs: list[Array]) -> bool:
        return self._finite(kind, dims, inputs) and self._ordered(inputs)

    def _told_apart(self, kind: str, dims: Dims, seed: int) -> bool:
        """Whether it is decided what is endless and what a number: which of two equal scores is left out is open, and an
        interval cannot say "this or nothing". Exceptions hold equal ones; elsewhere rounding decides for a few."""
        expected = self._expected(dims, self._drawn(kind, dims, seed))
        few = 0.0 if excepts(kind) else 1 / _UNDECIDED
        return all(_open(e) <= few * e.value.size for e in expected if not e.exact)

    def _steady(self, kind: str) -> bool:
        """Whether no luck is needed to judge an honest kernel there. Where it is, inputs that nobody promised are no reason
        to refuse the task."""
        expected = self._expected(self._dims, self._drawn(kind, self._dims))
        return not any(needs_luck(self._task, self._dims, e) for e in expected)

    def _finite(self, kind: str, dims: Dims, inputs: list[Array]) -> bool:
        try:
            values = self._oracle.plain(self._given(inputs))
        except TORCHS_OWN:
            if kind == OWN:
                raise
            if kind not in TURNING:
                self._finite(OWN, dims, self._drawn(OWN, dims))  # what fails there too is told
            return False  # it takes numbers of a range alone, or an index went through arithmetic on its way
        return all(self._as_own(number, v) for number, v in enumerate(values) if is_float(v.dtype))

    def _as_own(self, number: int, values: Array) -> bool:
        """Whether these are numbers, or infinities as the module gives them for its own inputs (scores that it leaves out):
        elsewhere there are numbers, or nothing could be judged."""
        finite = np.isfinite(values)
        if finite.all():
            return True
        endless = {float(v) for v in np.unique(values[~finite])}
        return bool(finite.any()) and not math.isnan(sum(endless)) and endless <= self._endless[number]

    @cached_property
    def _endless(self) -> list[set[float]]:
        """Which infinities the module's own inputs give, output by output: by its reference, then in its own types."""
        inputs = self._drawn(OWN, self._dims)
        values = self._oracle.plain(self._given(inputs))
        return [{float(e) for e in (math.inf, -math.inf) if is_float(v.dtype) and (v == e).any()} for v in values]

    def _device(self) -> str:
        """Large ones are tried on a GPU, where there is one."""
        large = elements(self._task.inputs, self._dims) >= _LARGE
        return "cuda" if large and self._graph.floats_alone else "cpu"

    def _expected(self, dims: Dims, inputs: list[Array]) -> list[Expected]:
        return self._oracle.expect(dims, self._given(inputs))

    def _given(self, inputs: list[Array]) -> list[Any]:
        """Weights that are not drawn anew were taken to where answers are made, once."""
        return [self._tensors.get(id(values), values) for values in inputs]

    def _drawn(self, kind: str, dims: Dims, seed: int = SEED) -> list[Array]:
        keys = self._large_weights(kind, dims)
        kept = {name: self._weights[key] for name, key in keys.items() if key in self._weights}
        inputs = draw_inputs(self._task, dims, kind, np.random.default_rng(seed), kept=kept)
        self._keep(keys, {b.name: a for b, a in zip(self._task.inputs, inputs, strict=True)})
        return inputs

    def _large_weights(self, kind: str, dims: Dims) -> dict[str, tuple[str, str, tuple[int, ...]]]:
        """By name: what their drawing depends on."""
        found = {}
        for entry, buffer in zip(self._graph.inputs, self._task.inputs, strict=True):
            shape = buffer.shape(dims)
            if entry.role == "weight" and math.prod(shape) >= _LARGE:
                found[entry.name] = (entry.name, "" if weighs_as_own(kind, entry) else kind, shape)
        return found

    def _keep(self, keys: Mapping[str, tuple[str, str, tuple[int, ...]]], drawn: Mapping[str, Array]) -> None:
        """Those of the first distribution, and of the present one."""
        self._weights = {key: held for key, held in self._weights.items() if not key[1] or key in keys.values()}
        self._weights |= {key: drawn[name] for name, key in keys.items()}
        held = {id(values): values for values in self._weights.values()}
        taken = {key: tensor for key, tensor in self._tensors.items() if key in held}
        self._tensors = taken | {key: self._oracle.there(held[key]) for key in held.keys() - taken.keys()}

    def _excepted(self, kind: str) -> list[Array]:
        """All that exceptions may be, however rarely, is there."""
        rng, inputs = np.random.default_rng(SEED), self._drawn(kind, self._dims)
        excepted, uses = Excepted(self._graph), Uses(self._graph)
        for values, entry in zip(inputs, self._graph.inputs, strict=True):
            reach = excepted.reach(kind, entry) if is_float(values.dtype) else None
            if reach is not None:
                except_for_certain(values, rng, reach, ends_of(entry), uses.steps(entry.name))
        return inputs
