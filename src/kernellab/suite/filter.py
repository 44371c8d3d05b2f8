"""The filter: one problem, imported at a size that the device can take, and looked at for everything that makes it no test.

Covered: the problem's code runs in the capture sandbox alone; whatever is wrong with it is a class with its evidence.
Not covered: a graph that takes more memory than the machine has ends this process; the worker that runs it is replaced.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.graph.record import GraphRecord
from kernellab.suite.checked import NOT_A_TASK, CheckedProblem, Finding, ProblemClass
from kernellab.suite.operators import linear_collapse, operator_class
from kernellab.suite.tolerance import accepted
from kernellab.targets.base import platform
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.expected import Array
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.record import ModuleRecord
from kernellab.tasks.modules.shapes import derive, work
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.modules.wishes import Wishes
from kernellab.tasks.oracle import run_reference
from kernellab.tasks.spec import Dims, Task, dims_label
from kernellab.tasks.suites.base import Problem
from kernellab.verdict.controls import examine

_MOST_JUDGED = 1 << 20
"""Elements of all values at the smallest shape, beyond which a processor would judge for minutes."""
_MOST_LOOKED_AT, _MOST_MULTIPLIED = 1 << 24, 1 << 22
"""Elements of all values of a call that is made to look at its outputs; fewer where each is a long sum of products."""
_SAME = 1e-6
_CAUSES: dict[str, ProblemClass] = {"broken": "broken", "training": "training-mode", "random": "dropout"}


@dataclass(frozen=True)
class Filtered:
    """`record`: the module as a task; None where it cannot be one."""

    checked: CheckedProblem
    record: ModuleRecord | None = None


def check_problem(
    importer: Importer, problem: Problem, wishes: Wishes, device: str, both_modes: bool = True
) -> Filtered:
    """A problem that is random or in training mode is looked at in evaluation mode too, and keeps its class.

    Not so thoroughly without `both_modes`: whoever is about to search only wants to know that there is nothing to search."""
    started = time.monotonic()
    try:
        found = _imported(importer, problem, wishes, device)
    except UsageError as fault:
        refused = Finding(is_a=_class_of(fault), evidence=fault.what)
        found = Filtered(CheckedProblem(name=problem.name, findings=(refused,)))
        if refused.is_a in ("training-mode", "dropout") and not wishes.eval_mode:
            other = _in_evaluation_mode if both_modes else _seen_in_evaluation_mode
            found = other(importer, problem, wishes, device, refused)
    seconds = round(time.monotonic() - started, 3)
    return replace(found, checked=found.checked.model_copy(update={"seconds": seconds}))


def _class_of(fault: UsageError) -> ProblemClass:
    return _CAUSES.get(fault.cause, "refused") if isinstance(fault, TaskRefused) else "broken"


def _in_evaluation_mode(
    importer: Importer, problem: Problem, wishes: Wishes, device: str, refused: Finding
) -> Filtered:
    """As it is it cannot be a task: there is no record, but the rest of the evidence is the other mode's."""
    try:
        other = _imported(importer, problem, replace(wishes, eval_mode=True), device).checked
        said = "in evaluation mode it is a task" if other.is_a not in NOT_A_TASK else "nor is it one in evaluation mode"
    except UsageError as fault:
        other, said = CheckedProblem(name=problem.name), f"nor is it one in evaluation mode: {fault.what}"
    first = Finding(is_a=refused.is_a, evidence=f"{refused.evidence}; {said}")
    return Filtered(other.model_copy(update={"findings": (first, *other.findings)}))


def _seen_in_evaluation_mode(
    importer: Importer, problem: Problem, wishes: Wishes, device: str, refused: Finding
) -> Filtered:
    """What operators it has; neither its inputs nor its judge are tried."""
    try:
        graph = importer.capture(_meant(problem, device), replace(wishes, eval_mode=True))
        other = _known(problem, graph, replace(wishes, eval_mode=True))
    except UsageError:
        other = CheckedProblem(name=problem.name)
    said = "'klab suite check' says whether it is a task in evaluation mode"
    first = Finding(is_a=refused.is_a, evidence=f"{refused.evidence}; {said}")
    return Filtered(other.model_copy(update={"findings": (first,)}))


def _meant(problem: Problem, device: str) -> Problem:
    """At the sizes that it has on such a device."""
    larger = problem.on_accelerator if platform(device).accelerator else None
    return replace(problem, request=larger) if larger is not None else problem


def _known(problem: Problem, graph: GraphRecord, wishes: Wishes, reduced: bool = False) -> CheckedProblem:
    return CheckedProblem(
        name=problem.name, operators=operator_class(graph), graph=graph.digest, sizes=_sizes(graph),
        reduced=reduced, eval_mode=wishes.eval_mode,
    )  # fmt: skip


def _imported(importer: Importer, problem: Problem, wishes: Wishes, device: str) -> Filtered:
    accelerator = platform(device).accelerator
    problem = _meant(problem, device)
    graph = own = importer.capture(problem, wishes)
    reduced = None
    meant_for_processors = problem.on_accelerator is not None
    if not accelerator and not meant_for_processors and _least(graph) > _MOST_JUDGED:
        reduced = importer.smaller(problem, wishes)
        graph = importer.capture(reduced, wishes) if reduced else graph
    known = _known(problem, own, wishes, reduced is not None)
    if too_large := _too_large(graph, device):
        return Filtered(known.model_copy(update={"findings": (too_large,)}))
    record = importer.complete(graph, reduced or problem, wishes)
    return _looked_at(known, record, own, device)


def _least(graph: GraphRecord) -> int:
    """Elements of all values at the smallest shape that is derived."""
    try:
        return min(work(graph, dims) for dims in derive(graph).edge) if graph.symbols else work(graph, {})
    except TaskRefused:
        return 0  # told when the record is made


def _sizes(graph: GraphRecord) -> str:
    return dims_label(graph.example)


def _too_large(graph: GraphRecord, device: str) -> Finding | None:
    """Inputs and outputs, and a second set of outputs, must fit the device at the timed shape."""
    found = platform(device)
    groups = derive(graph, 1 << 36) if found.accelerator else derive(graph)
    dims = groups.tune[0] if graph.symbols else {}
    held = [i.type for i in graph.inputs] + [o.type for o in graph.outputs] * 2
    needs = sum(_bytes(t.dtype) * math.prod(t.shape(dims)) for t in held)
    has = int(found.memory_gb() * 1e9)
    if needs <= 0.8 * has:
        return None
    evidence = f"a call needs {needs / 1e9:.3g} GB of inputs and outputs, the device has {has / 1e9:.3g}"
    return Finding(is_a="too-large", evidence=evidence)


def _bytes(dtype: str) -> int:
    return {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "int16": 2}.get(dtype, 1)


def _looked_at(known: CheckedProblem, record: ModuleRecord, own: GraphRecord, device: str) -> Filtered:
    """A module that is a task: what its outputs show, and whether its judge proves itself."""
    task = module_task(record).on(device)
    timed = task.tune[0]
    draws = _outputs(task.by_processor(), _quick(task, record.graph, timed))  # the device may be timing another one
    findings = [*_constant(draws), *accepted(draws)]
    if collapse := linear_collapse(own):
        findings.append(Finding(is_a="linear-collapse", evidence=collapse))
    remarks: tuple[str, ...] = ()
    try:
        remarks = examine(task).remarks
    except TaskRefused as fault:
        if not any(f.is_a == "constant" for f in findings):
            findings.append(Finding(is_a="refused", evidence=fault.what))
    checked = known.model_copy(
        update={"findings": tuple(findings), "timed": dims_label(timed), "remarks": remarks}
    )  # fmt: skip
    return Filtered(checked, record)


def _quick(task: Task, graph: GraphRecord, timed: Dims) -> Dims:
    """The timed shape, or the largest other one that is quickly computed."""
    shapes = sorted((*task.tune, *task.held_out, *task.edge), key=lambda dims: work(graph, dims), reverse=True)
    most = _MOST_MULTIPLIED if operator_class(graph) in ("product", "convolution", "attention") else _MOST_LOOKED_AT
    return next((dims for dims in (timed, *shapes) if work(graph, dims) <= most), shapes[-1])


def _outputs(task: Task, dims: Dims) -> list[list[Array]]:
    """Two answers in float64, to inputs that differ and weights that do not."""
    name = next(iter(task.distributions))
    first = draw_inputs(task, dims, name, np.random.default_rng(0))
    other = draw_inputs(task, dims, name, np.random.default_rng(1))
    second = [a if b.weight else o for a, o, b in zip(first, other, task.inputs, strict=True)]
    return [list(run_reference(task, inputs)) for inputs in (first, second)]


def _constant(draws: list[list[Array]]) -> list[Finding]:
    first, second = draws
    if all(_equal(a, b) for a, b in zip(first, second, strict=True)):
        value = float(np.asarray(first[0], dtype=np.float64).flat[0])
        one = all(_equal(a, np.full_like(a, a.flat[0])) for a in first)
        what = f"every element is {value:.6g}" if one else "the same output"
        return [Finding(is_a="constant", evidence=f"{what} whatever the inputs: two draws agree within {_SAME:g}")]
    return []


def _equal(a: Array, b: Array) -> bool:
    if not is_float(a.dtype):
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        size = float(np.nanmax(np.abs(a), initial=0.0))
        gap = np.abs(a - b)
        return bool(((gap <= _SAME * size) | (np.isnan(a) & np.isnan(b)) | (a == b)).all())
