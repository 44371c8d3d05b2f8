"""Making a module record: capture in the sandbox, derive the rest, and ask the module itself whether the graph is right.

Two spellings must agree before there is a task: the graph, evaluated here in float64, and the user's own module, run in
float64 in the sandbox on weights and inputs that are drawn here, at two of the derived shapes.
Covered: the user's code runs in the capture sandbox alone. Not covered: a file that is made to vouch for another graph.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from kernellab.core.errors import EnvironmentFault, TaskRefused
from kernellab.graph.capture import Capturer, read_text
from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphRecord, TensorType
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.expected import Array, Expected
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.modules.draws import KINDS, OWN
from kernellab.tasks.modules.record import ModuleRecord, Origin, ShapeGroups, Source
from kernellab.tasks.modules.shapes import derive, valid, work
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.modules.usable import SEED, TORCHS_OWN, usable
from kernellab.tasks.modules.wishes import AS_IT_IS, Wishes
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Dims, Task, dims_label
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.reduced import attempts

_ON_DEVICE = 1 << 36
_MOST_WITNESSED = 1 << 22


class Importer:
    """Imports problems one after the other through one capture sandbox, which may read `folders`."""

    def __init__(self, folders: Sequence[str]) -> None:
        loading = threading.Thread(target=_load_torch)
        loading.start()  # torch takes seconds to import, here as in the sandbox
        self.capturer = Capturer(folders)
        loading.join()

    def import_problem(self, problem: Problem, wishes: Wishes = AS_IT_IS) -> ModuleRecord:
        """The record, or TaskRefused with what is wrong and what to do."""
        return self.complete(self.capture(problem, wishes), problem, wishes)

    def capture(self, problem: Problem, wishes: Wishes = AS_IT_IS) -> GraphRecord:
        """Its graph alone, which costs the same at any size. What an example too large to be drawn would hold is looked up
        at a smaller size."""
        if problem.broken is not None:
            raise problem.broken
        graph = self.capturer.capture(_asked(problem, wishes).request)
        if any(i.seen is not None for i in graph.inputs):
            return graph
        small = self.smaller(problem, wishes)
        try:
            return graph if small is None else _with_seen(graph, self.capturer.capture(_asked(small, wishes).request))
        except TaskRefused:
            return graph

    def complete(self, graph: GraphRecord, problem: Problem, wishes: Wishes = AS_IT_IS) -> ModuleRecord:
        """A captured graph with everything else that makes it a task; the module must agree with it."""
        try:
            record = record_of(graph, problem, wishes)
            request, room = _asked(problem, wishes).request, _witnessed_bytes(record)
            agree(record, partial(self.capturer.witness, request, room=room))
        except TORCHS_OWN as err:
            first = str(err).splitlines()[0] if str(err) else type(err).__name__
            raise TaskRefused(
                f"{problem.name}: its graph does not run on drawn inputs: {first[:300]}",
                "give shapes of your own, or example inputs whose range says what is allowed",
            ) from None
        return record

    def smaller(self, problem: Problem, wishes: Wishes = AS_IT_IS) -> Problem | None:
        """The problem at the first reduced sizes at which it runs; None where there are none."""
        request = _asked(problem, wishes).request
        tries = attempts(request, request.text if request.text is not None else read_text(request.file))
        found = self.capturer.first_that_runs(tries) if tries else ""
        return replace(problem, request=tries[found][0]) if isinstance(found, int) else None

    def close(self) -> None:
        self.capturer.close()

    def __enter__(self) -> Importer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _with_seen(graph: GraphRecord, small: GraphRecord) -> GraphRecord:
    """Of inputs alone: what weights hold depends on their size."""
    seen = {i.name: i.seen for i in small.inputs if i.role == "input"}
    inputs = [i.model_copy(update={"seen": seen[i.name]}) if i.name in seen else i for i in graph.inputs]
    return graph.model_copy(update={"inputs": tuple(inputs)})


def agree(record: ModuleRecord, witness: Callable[[list[str], list[Array]], list[Array] | str]) -> None:
    """The module in float64 against the graph in float64. `witness` runs the module: given where each array goes, and it."""
    if any(i.role == "constant" for i in record.graph.inputs):
        return  # a large tensor written in the code: it cannot be drawn anew in the module
    task = module_task(record)
    places = [i.source for i in record.graph.inputs]
    for dims in _witnessed(record):
        inputs = draw_inputs(task, dims, OWN, np.random.default_rng(SEED))
        given = [_wide(a, i.type) for a, i in zip(inputs, record.graph.inputs, strict=True)]
        _compare(task, dims, witness(places, given), inputs)


def _asked(problem: Problem, wishes: Wishes) -> Problem:
    """The problem in the mode that is wished for."""
    return replace(problem, request=replace(problem.request, eval_mode=True)) if wishes.eval_mode else problem


def record_of(graph: GraphRecord, problem: Problem, wishes: Wishes = AS_IT_IS) -> ModuleRecord:
    """A captured graph with everything derived that makes it a task."""
    name = task_name(problem.name)
    like = wishes.like if wishes.like is not None and _same_sizes(graph, wishes.like) else None
    shapes = wishes.shapes or (like.shapes if like else derive(graph))
    _check_shapes(graph, shapes)
    larger = wishes.shapes or (like.device_shapes if like else derive(graph, _ON_DEVICE) if graph.symbols else shapes)
    origin = Origin(suite=problem.suite, problem=problem.name, source=source_of(problem, graph, wishes))
    record = ModuleRecord(
        version=3, name=name, graph=graph, precision=wishes.precision, distributions=KINDS, shapes=shapes,
        device_shapes=larger, origin=origin,
    )  # fmt: skip
    return record.model_copy(update={"distributions": usable(record)})


def source_of(problem: Problem, graph: GraphRecord, wishes: Wishes = AS_IT_IS) -> Source | None:
    """The problem's text, if it is to be kept, it has one and its forward pass is what was captured."""
    request = problem.request
    if not wishes.keep_text or request.backward or (request.text is None and not os.path.isfile(request.file)):
        return None
    text = request.text if request.text is not None else read_text(request.file)
    return Source(text=text, name=graph.name, init=request.init, inputs=request.inputs,
                  eval_mode=request.eval_mode or wishes.eval_mode)  # fmt: skip


def _same_sizes(graph: GraphRecord, like: ModuleRecord) -> bool:
    """Whether the free sizes of two graphs mean the same: inputs that both have are of one type, and all shapes hold."""
    types = {i.name: i.type for i in like.graph.inputs}
    same = all(i.type == types[i.name] for i in graph.inputs if i.name in types)
    groups = (like.shapes, like.device_shapes)
    shapes = [dims for g in groups for dims in (*g.tune, *g.held_out, *g.edge)] if graph.symbols else []
    names = {s.name for s in graph.symbols}
    return same and names == {s.name for s in like.graph.symbols} and all(valid(graph, dims) for dims in shapes)


def task_name(name: str) -> str:
    """A name that a task may have, and that is no built-in one's: those bring kernels of their own."""
    from kernellab.tasks.builtin import TASKS

    plain = re.sub(r"[^0-9A-Za-z_-]+", "_", name).strip("_-") or "module"
    return f"{plain}-module" if plain in TASKS else plain


def _check_shapes(graph: GraphRecord, shapes: ShapeGroups) -> None:
    names = {s.name for s in graph.symbols}
    for dims in (*shapes.tune, *shapes.held_out, *shapes.edge):
        if names and (set(dims) != names or not valid(graph, dims)):
            rules = ", ".join([*(f"{s.name} >= {s.low}" for s in graph.symbols), *graph.requires])
            raise TaskRefused(f"the module has no shape {dims_label(dims)}", f"its free sizes: {rules}")


def _witnessed(record: ModuleRecord) -> list[Dims]:
    """The smallest and the largest of the edge shapes, if they are quickly computed."""
    edges = sorted(record.shapes.edge, key=lambda dims: work(record.graph, dims))
    chosen = [edges[0], edges[-1]] if edges[0] != edges[-1] else edges[:1]
    return [dims for dims in chosen if work(record.graph, dims) <= _MOST_WITNESSED] or chosen[:1]


def _witnessed_bytes(record: ModuleRecord) -> int:
    """What the outputs take in float64: fixed sizes may be large at any shape."""
    types = [output.type for output in record.graph.outputs]
    return max(8 * sum(math.prod(found.shape(dims)) for found in types) for dims in _witnessed(record))


def _compare(task: Task, dims: Dims, found: list[Array] | str, inputs: list[Array]) -> None:
    where = f"task '{task.name}', {dims_label(dims)}"
    if isinstance(found, str):
        raise TaskRefused(
            f"{where}: the module does not run there in float64: {found}",
            "take its sizes from its inputs and its types from x.dtype, or give shapes of your own",
        )
    expected = expect(task, dims, inputs)
    if len(found) != len(expected):
        raise TaskRefused(f"{where}: the module gives {len(found)} outputs, its graph {len(expected)}", _OTHERWISE)
    for buffer, value, wanted in zip(task.outputs, found, expected, strict=True):
        if value.size != wanted.value.size or not _same(value.reshape(wanted.value.shape), wanted):
            raise TaskRefused(
                f"{where}: the module and its captured graph disagree on '{buffer.name}': what was captured is not what "
                "the module does",
                _OTHERWISE,
            )


_OTHERWISE = "look for code that takes another way for other sizes, types or values"


def _same(value: Array, wanted: Expected) -> bool:
    if wanted.exact:
        got = value.astype(wanted.value.dtype)
        differs = got != wanted.value
        return not bool((differs & ~wanted.also(got)).any() if wanted.also and differs.any() else differs.any())
    with np.errstate(all="ignore"):
        got = value.astype(wanted.low.dtype)
        inside = (got >= wanted.low) & (got <= wanted.high)
        return bool((inside | (np.isnan(value) & np.isnan(wanted.value)) | (value == wanted.value)).all())


def _wide(values: Array, found: TensorType) -> Array:
    """A buffer as the module takes it: floats in float64, bytes as booleans, one element as a single number."""
    wide = values.astype(np.float64) if is_float(values.dtype) else values
    wide = wide.astype(bool) if found.dtype == "bool" else wide
    return wide if found.extents else wide.reshape(())


def _load_torch() -> None:
    with suppress(EnvironmentFault):  # said by whoever needs it, in the thread that can
        need_torch().set_num_threads(max(1, len(os.sched_getaffinity(0))))
