"""Every task proves its own judge: kernels that must fail, fed to the same comparison that judges candidates.

A task is refused when a wrong or imprecise kernel would pass all its cases, when an input does not matter, when the
reference is not a function of its inputs, or when its byte model would switch the time floor off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from kernellab.core.errors import TaskRefused
from kernellab.tasks.dtypes import limits
from kernellab.tasks.expected import Expected
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import expect, needs_luck, run_reference, run_trusted
from kernellab.tasks.spec import IEEE, Array, Buffer, Dims, Task, dims_label, elements
from kernellab.verdict.cases import Case, screen_cases
from kernellab.verdict.numeric import decided, same_values, within
from kernellab.verdict.unreached import unreached
from kernellab.verdict.wrong_kernels import CONTROLS, DECISIVE, FINER_THAN_TF32, PRECISION, Control

_T = TypeVar("_T")
_AMPLE, _QUICK = 4096, 1 << 20  # elements
_HEAVY = 1 << 22  # elements at the smallest shape
_MOST_ROUNDS = 128
_ROUNDS_CAPTURED = 3  # its scale follows from rules, and what lies between input and output may be large
_LONG = 1024  # terms: up to there the errors of TF32 do not average out below the floor of a sum so long


Drawn = tuple[Case, list[Array], list[Expected]]
"""A case with its inputs and what is expected of the outputs."""


@dataclass(frozen=True)
class Proof:
    """How many controls were tried, what a reader of the task should know of its judge, and on which cases they were."""

    controls: int
    remarks: tuple[str, ...] = ()
    drawn: tuple[Drawn, ...] = ()


def prove(task: Task, seed: int = 0) -> int:
    """Raise TaskRefused unless every control is caught; returns how many controls were tried."""
    return examine(task, seed).controls


def examine(task: Task, seed: int = 0) -> Proof:
    """The same, with what there is to remark.

    A captured module is taken as it is: where its outputs cannot show the precision of what is on the way, or do not depend
    on a weight, the proof remarks on it. For a hand-written task both are reasons to refuse. A module that is large at any
    shape is proved at its largest edge shape, and at all of them only where that leaves something to remark.
    """
    task = task.by_processor()
    _honest_model(task)
    cases, few = screen_cases(task), screen_cases(task, few=True)
    if task.captured and len(few) < len(cases) and min(_work(task, dims) for dims in task.edge) >= _HEAVY:
        with suppress(TaskRefused):
            proof = _examined(task, seed, few)
            if not proof.remarks:
                return proof
    return _examined(task, seed, cases)


def _examined(task: Task, seed: int, cases: Sequence[Case]) -> Proof:
    """The more cases there are the less can pass, and the less there is to remark."""
    remarks: list[str] = []
    drawn = []
    for number, case in enumerate(cases):
        rng = np.random.default_rng([seed, number])
        inputs = _attempt(
            task, "drawing inputs", partial(draw_inputs, task, case.dims, case.distribution, rng, case.plain)
        )
        before = [a.copy() for a in inputs]
        expected = _attempt(task, "the reference", partial(expect, task, case.dims, inputs))
        drawn.append((case, inputs, expected))
        _same_again(task, case, inputs, before, expected)
    remarks += _not_wide_everywhere(task, drawn)
    _same_in_bands(task, drawn)
    _trusted_passes(task, drawn)
    remarks += _sensitive(task, drawn)
    remarks += unreached(task, (inputs for _, inputs, _ in drawn))
    chosen = {n: c for n, c in CONTROLS.items() if task.precision == IEEE or n not in FINER_THAN_TF32}
    for name, control in chosen.items():
        if task.captured and name in FINER_THAN_TF32:
            remarks += _blind(name, control, task, drawn)
        elif _unseen(control, task, drawn):
            raise TaskRefused(
                f"task '{task.name}': a kernel that does '{name}' would pass every case",
                "use inputs and outputs of ordinary size, more shapes and distributions; look at scale=",
            )
    _sharp_in_long_sums(task, seed)
    _steady(task, seed, drawn)
    return Proof(len(chosen), tuple(remarks), tuple(drawn))


def _unseen(control: Control, task: Task, drawn: list[Drawn]) -> bool:
    """Whether a wrong kernel passes wherever it can be tried, and can be tried at all."""
    tried = False
    for case, inputs, expected in drawn:
        passed = _passes(control, task, case.dims, inputs, expected)
        if passed is False:
            return False
        tried = tried or passed is True
    return tried


def _blind(name: str, control: Control, task: Task, drawn: list[Drawn]) -> list[str]:
    """Which outputs cannot show that bits were lost on the way: another output that can says nothing of them."""
    lossy: dict[str, bool] = {}
    decisions = name in DECISIVE and all(e.exact for e in drawn[0][2])  # nothing but integers and booleans to tell by
    for case, inputs, expected in drawn:
        with np.errstate(all="ignore"):
            right = [e.value.astype(b.dtype) for e, b in zip(expected, task.outputs, strict=True)]
        made = control(task, case.dims, inputs, expected)
        for buffer, got, exact, wanted in zip(task.outputs, made or right, right, expected, strict=True):
            decided = wanted.exact and made is not None and decisions
            if decided or (not wanted.exact and not same_values(got, exact)):
                lossy[buffer.name] = lossy.get(buffer.name, True) and within(got, wanted)
    blind = [name for name, passes in lossy.items() if passes]
    of = "" if len(blind) == len(lossy) else f" of {', '.join(repr(n) for n in blind)}"
    return [f"precision{of} cannot be judged: a kernel that does '{name}' would pass every case"] if blind else []


def _attempt(task: Task, what: str, action: Callable[[], _T]) -> _T:
    """The boundary to the user's task code."""
    try:
        return action()
    except TaskRefused:
        raise
    except Exception as err:
        raise TaskRefused(
            f"task '{task.name}': {what} fails: {type(err).__name__}: {err}", "correct the task file"
        ) from err


def _honest_model(task: Task) -> None:
    for dims in (*task.tune, *task.held_out):
        least = _attempt(task, "bytes_moved", partial(task.least_bytes, dims))
        outputs = sum(b.nbytes(dims) for b in task.outputs)
        given = elements(task.inputs, dims)
        terms = _attempt(task, "reduction", partial(task.reduction or _one, dims))
        if not 1 <= terms <= given:
            raise TaskRefused(
                f"task '{task.name}': reduction says {terms} terms at {dims_label(dims)}, there are {given} inputs",
                "reduction is how many input elements are summed into one output element",
            )
        touched = sum(b.nbytes(dims) for b in (*task.inputs, *task.outputs))
        if _attempt(task, "flops", partial(task.least_flops, dims)) < 0:
            raise TaskRefused(
                f"task '{task.name}': flops is negative at {dims_label(dims)}", "count what any kernel must do"
            )
        if not outputs <= least <= 8 * touched:
            raise TaskRefused(
                f"task '{task.name}': bytes_moved says {least} bytes at {dims_label(dims)}, but the outputs alone hold "
                f"{outputs} and all buffers {touched}",
                "count every byte that any kernel must read or write, once",
            )


def _one(dims: Dims) -> int:
    return 1


def _same_again(task: Task, case: Case, inputs: list[Array], before: list[Array], expected: list[Expected]) -> None:
    again = run_reference(task, inputs)
    if any(not same_values(a, b) for a, b in zip(inputs, before, strict=True)):
        raise TaskRefused(f"task '{task.name}': a function of the task changes its inputs", "work on copies")
    for buffer, value, wanted in zip(task.outputs, again, expected, strict=True):
        if not same_values(value.astype(wanted.value.dtype), wanted.value):
            raise TaskRefused(
                f"task '{task.name}': the reference gives two answers for one input ({case.label})",
                "make the reference deterministic",
            )
        if not wanted.exact and not np.isfinite(np.asarray(wanted.value)).any():
            raise TaskRefused(
                f"task '{task.name}': the reference gives no finite value at {case.label}",
                "drop that distribution or correct the reference",
            )
        if not task.captured and not wanted.exact and not _sane_scale(wanted):
            if task.scale is None:
                raise _luck(task, buffer, wanted, case.label)
            raise TaskRefused(
                f"task '{task.name}': scale= is so large that wrong outputs fit the budget ({case.label})",
                "scale must be the magnitude of the terms behind an element, not more",
            )


def _not_wide_everywhere(task: Task, drawn: list[Drawn]) -> list[str]:
    """A derived scale may be wide where terms cancel or a contract is loose, but not with all inputs. Remarks where it is
    with those that are timed, at the largest shape drawn here."""
    timed = max((case for case, _, _ in drawn if case.distribution == next(iter(task.distributions))),
                key=lambda case: task.least_bytes(case.dims), default=None)  # fmt: skip
    remarks = []
    for number, buffer in enumerate(task.outputs if task.captured else ()):
        sane = {case.label: _sane_scale(expected[number]) for case, _, expected in drawn}
        if timed is not None and not sane[timed.label] and any(sane.values()):
            remarks.append(f"'{buffer.name}' is judged loosely on {timed.label}: what rounding may do to it is as large as "
                           "its values")  # fmt: skip
        if not any(sane.values()):
            raise TaskRefused(
                f"task '{task.name}': what rounding may do to '{buffer.name}' is as large as its values, with all inputs: "
                "wrong outputs would pass",
                "look for values that cancel out, or an output that hardly depends on the input",
            )
    return remarks


def _sane_scale(expected: Expected) -> bool:
    """The accepted interval must be far narrower than the spread of the values themselves."""
    if expected.exact:
        return decided(expected)
    finite = np.isfinite(expected.value)
    if not finite.any():
        return True
    value = np.abs(expected.value[finite])
    low, high = (ends[finite].astype(np.float64) for ends in (expected.low, expected.high))
    with np.errstate(all="ignore"):  # of what a short type cannot hold
        width = float(np.median(high - low))
        typical = math.sqrt(float(np.mean(np.square(expected.scale[finite]))))
    if math.isfinite(expected.most_rms_ulp):  # neighbours together are held closer than each of them
        width = min(width, 2 * expected.most_rms_ulp * limits(expected.low.dtype).eps * typical)
    return bool(width <= 0.05 * max(float(value.max()), 1e-30, limits(expected.low.dtype).tiny))


def _same_in_bands(task: Task, drawn: list[Drawn]) -> None:
    """A halo that is too small would make the oracle itself wrong at large shapes."""
    for case, inputs, expected in drawn if task.halo is not None and not task.exact else ():
        row = max(1, inputs[0].size // inputs[0].shape[0])
        banded = _attempt(task, "the reference, band by band,", partial(expect, task, case.dims, inputs, (), row))
        for whole, joined in zip(expected, banded, strict=True):
            with np.errstate(all="ignore"):
                same = np.isclose(joined.value, whole.value, rtol=1e-12, atol=0, equal_nan=True)
            if not np.all(same | (joined.value == whole.value)):
                raise TaskRefused(
                    f"task '{task.name}': rows depend on more than {task.halo} rows on either side ({case.label})",
                    "correct halo=, or drop it",
                )


def _trusted_passes(task: Task, drawn: list[Drawn]) -> None:
    for case, inputs, expected in drawn:
        outputs = _attempt(task, "the numpy implementation", partial(run_trusted, task, inputs, case.dims))
        for buffer, got, wanted in zip(task.outputs, outputs, expected, strict=True):
            if not within(got, wanted):
                if wanted.wanted_ulp > wanted.budget_ulp:
                    raise _luck(task, buffer, wanted, case.label)
                raise TaskRefused(
                    f"task '{task.name}': the {task.trusted} baseline and the reference disagree on '{buffer.name}' "
                    f"at {case.label}",
                    "one of the two is wrong",
                )


def _steady(task: Task, seed: int, drawn: list[Drawn]) -> None:
    """Where terms cancel, the error of the worst element is a matter of luck, and so is a verdict that rests on it."""
    if task.exact:
        return
    dims, rounds = _ample(task)
    known = {case.distribution: expected for case, _, expected in drawn if case.dims == dims and not case.plain}
    for number, distribution in enumerate(sorted(task.distributions) * rounds):
        expected = known.pop(distribution, None) or _expected_of(task, dims, distribution, [seed, number, _AMPLE])
        for buffer, wanted in zip(task.outputs, expected, strict=True):
            if needs_luck(task, dims, wanted):
                raise _luck(task, buffer, wanted, f"{dims_label(dims)}, {distribution}")


def _expected_of(task: Task, dims: Dims, distribution: str, seed: list[int]) -> list[Expected]:
    rng = np.random.default_rng(seed)
    inputs = _attempt(task, "drawing inputs", partial(draw_inputs, task, dims, distribution, rng))
    return _attempt(task, "the reference", partial(expect, task, dims, inputs))


def _sharp_in_long_sums(task: Task, seed: int) -> None:
    """The longest sum that is quickly drawn: there a budget that grows with the length may excuse what it must not."""
    count = task.reduction
    quick = [d for d in (*task.edge, *task.tune, *task.held_out) if _work(task, d) <= _QUICK]
    if task.exact or count is None or not quick:
        return
    dims = max(quick, key=count)
    if count(dims) <= _LONG:
        return
    drawn = []
    for number, distribution in enumerate(task.distributions):
        inputs = draw_inputs(task, dims, distribution, np.random.default_rng([seed, number, _LONG]))
        drawn.append((inputs, _attempt(task, "the reference", partial(expect, task, dims, inputs))))
    for name in PRECISION:
        passed = [_passes(CONTROLS[name], task, dims, i, e) for i, e in drawn]
        tried = [p for p in passed if p is not None]
        if tried and all(tried):
            raise TaskRefused(
                f"task '{task.name}': in sums of {count(dims)} terms ({dims_label(dims)}) a kernel that does '{name}' would "
                "pass: its errors average out",
                'add inputs of few terms, such as distributions={**STANDARD, "sparse": sparse("x")} from kernellab.tasks',
            )


def _luck(task: Task, buffer: Buffer, wanted: Expected, where: str) -> TaskRefused:
    return TaskRefused(
        f"task '{task.name}': the {task.trusted} baseline is so far off in single elements of '{buffer.name}' that errors "
        f"of {max(wanted.budget_ulp, wanted.wanted_ulp):.4g} ULP would have to fit the budget ({where}): luck would judge",
        "where terms cancel or overflow, give scale=, the magnitude of the terms behind each element (for a sum, the sum of "
        "the absolute values), or a baseline that is more exact",
    )


def _ample(task: Task) -> tuple[Dims, int]:
    """The smallest shape with outputs enough to show a rare error; else the one with the most, and how often to draw it."""

    work = partial(_work, task)
    shapes = sorted((*task.edge, *task.tune), key=work)
    quick = [d for d in shapes if work(d) <= _QUICK] or shapes[:1]
    ample = (d for d in quick if elements(task.outputs, d) >= _AMPLE)
    chosen = next(ample, max(quick, key=partial(elements, task.outputs)))
    most = _MOST_ROUNDS if task.captured is None else _ROUNDS_CAPTURED
    return chosen, 1 + min(_AMPLE // max(1, elements(task.outputs, chosen)), _QUICK // max(1, work(chosen)), most)


def _work(task: Task, dims: Dims) -> int:
    return elements((*task.inputs, *task.outputs), dims)


def _sensitive(task: Task, drawn: list[Drawn]) -> list[str]:
    """Each input, drawn anew, must change the outputs by more than the budget somewhere.

    Of a captured module one of its inputs must; the others, and weights, are named.
    """
    ignored = [b for n, b in enumerate(task.inputs) if not _matters(task, n, drawn)]
    given = [b for b in task.inputs if not b.weight]
    if ignored and (not task.captured or all(b in ignored for b in given)):
        what = "any of its inputs" if task.captured else f"input '{ignored[0].name}'"
        raise TaskRefused(
            f"task '{task.name}': the output does not depend on {what}",
            "drop that input, or correct the reference: a kernel could ignore it",
        )
    return [f"the output does not depend on '{b.name}': a kernel may ignore it" for b in ignored]


def _matters(task: Task, index: int, drawn: list[Drawn]) -> bool:
    for case, inputs, expected in drawn:
        other = draw_inputs(task, case.dims, case.distribution, np.random.default_rng([9, index]))
        changed = [*inputs[:index], other[index], *inputs[index + 1 :]]
        values = run_reference(task, changed)
        cast = [v.astype(b.dtype) for v, b in zip(values, task.outputs, strict=True)]
        if any(not within(c, e) for c, e in zip(cast, expected, strict=True)):
            return True
    return False


def _passes(control: Control, task: Task, dims: Dims, inputs: list[Array], expected: list[Expected]) -> bool | None:
    outputs = control(task, dims, inputs, expected)
    if outputs is None:
        return None
    return all(within(got, wanted) for got, wanted in zip(outputs, expected, strict=True))
