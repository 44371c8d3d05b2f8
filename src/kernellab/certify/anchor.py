"""The anchor: a hash over the reference's own answers on a fixed probe, equal on every machine that computes the same.

The probe is drawn from the task's first distributions, with nothing planted, at its small edge shapes with a fixed seed;
float inputs keep eight significant bits, which every dtype holds and no libm's last digit reaches. Exact tasks: the
outputs' bytes. Others: the float64 answers differ in their last bits from one NumPy build to the next (order of
summation, vector exp), so each is rounded to 2^-20 of its scale's binade. Values on a grid (exact sums and products)
would sit on ordinary rounding boundaries, so these are shifted by the golden section, to which no fraction of small
denominator comes near. An element that still lies within 2^-20 of a boundary makes the probe unfit, and the next seed is
taken. So answers may move by 2^-40 of their scale, 4096 ULP of float64, and the hash stays.

Not covered: a reference that changed by less than one part in a million of an element's scale; other shapes and
distributions than the probe's; baselines. A NumPy that draws other numbers from the seed is told apart (`inputs`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from kernellab.certify.certificate import Anchor
from kernellab.core.errors import UsageError
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Dims, Task, dims_label, elements

_BITS = 20
_MARGIN = 2.0**-20
_INPUT_BITS = 8
_SECTION = 0.3819660112501051  # the golden section: far from every fraction with a small denominator
_MOST_ELEMENTS = 1 << 16
_DISTRIBUTIONS = 2
_SEEDS = 16
METHODS = {True: "bits", False: "2^-20 of scale, golden offset"}


@dataclass(frozen=True)
class _Probe:
    cases: list[str]
    elements: int
    inputs: str
    outputs: str
    fit: bool


def make_anchor(task: Task) -> Anchor:
    """The task's anchor, with the first seed whose answers all lie well inside their rounding intervals."""
    for seed in range(_SEEDS):
        probe = _probe(task, seed)
        if probe.fit:
            return _anchor(task, seed, probe)
    raise UsageError(
        f"task '{task.name}': its answers lie on rounding boundaries whatever is drawn, so no anchor would be stable",
        "set exact=True if the outputs must match bit for bit; else give the task a scale=",
    )


def anchor_again(task: Task, seed: int) -> Anchor:
    """The anchor as this machine computes it today, to be held against a recorded one."""
    return _anchor(task, seed, _probe(task, seed))


def _anchor(task: Task, seed: int, probe: _Probe) -> Anchor:
    return Anchor(
        method=METHODS[task.exact], seed=seed, cases=probe.cases, elements=probe.elements, inputs=probe.inputs,
        outputs=probe.outputs,
    )  # fmt: skip


def _probe(task: Task, seed: int) -> _Probe:
    given, answers = hashlib.sha256(), hashlib.sha256()
    cases, elements, fit = [], 0, True
    for number, (dims, distribution) in enumerate(_cases(task)):
        rng = np.random.Generator(np.random.PCG64([seed, number]))
        inputs = [_coarse(a) for a in draw_inputs(task, dims, distribution, rng, plain=True)]
        cases.append(f"{dims_label(dims)} {distribution}")
        for array in inputs:
            given.update(_bytes(array))
        for expected in expect(task, dims, inputs):
            elements += expected.value.size
            if expected.exact:
                answers.update(_bytes(expected.value))
                continue
            rounded, inside = rounded_answers(expected.value, expected.scale)
            answers.update(_bytes(rounded))
            fit = fit and inside
    return _Probe(cases, elements, given.hexdigest(), answers.hexdigest(), fit)


def _cases(task: Task) -> list[tuple[Dims, str]]:
    """Small edge shapes under the first distributions, as long as they stay small together."""
    chosen: list[tuple[Dims, str]] = []
    total = 0
    for dims in sorted(task.edge, key=task.least_bytes):
        total += elements((*task.inputs, *task.outputs), dims)
        if chosen and total > _MOST_ELEMENTS:
            break
        chosen += [(dims, name) for name in list(task.distributions)[:_DISTRIBUTIONS]]
    return chosen


def rounded_answers(value: Array, scale: Array) -> tuple[Array, bool]:
    """Whole numbers of 2^-20 of each element's binade with that binade, and whether all are well inside their interval.

    Infinities and NaN get binades of their own; what has no scale is zero.
    """
    wide, size = np.asarray(value, np.float64), np.asarray(scale, np.float64)
    usual = np.isfinite(wide) & np.isfinite(size) & (size > 0)
    safe = np.where(usual, size, 1.0)
    mantissa, binade = np.frexp(safe / _SECTION)
    with np.errstate(all="ignore"):
        steps = np.ldexp(np.where(usual, wide, 0.0), _BITS - binade) + _SECTION
    whole = np.floor(steps)
    away = np.minimum(steps - whole, 1 - (steps - whole))
    edge = np.minimum(mantissa - 0.5, 1 - mantissa)  # of the binade itself
    odd = np.where(np.isnan(wide), 3, np.where(np.isinf(wide), np.where(wide > 0, 1, 2), 0))
    pairs = np.stack([np.where(usual, whole, odd), np.where(usual, binade, 1 << 20)]).astype(np.int64)
    return pairs, bool(np.all(away[usual] > _MARGIN) and np.all(edge[usual] > _MARGIN))


def _coarse(array: Array) -> Array:
    """Eight significant bits of every float: exact in all dtypes, the same whatever libm drew them with."""
    if not is_float(array.dtype):
        return array
    mantissa, exponent = np.frexp(array.astype(np.float64))
    with np.errstate(invalid="ignore"):
        kept = np.ldexp(np.round(np.ldexp(mantissa, _INPUT_BITS)), exponent - _INPUT_BITS)
    return np.where(np.isfinite(mantissa), kept, array.astype(np.float64)).astype(array.dtype)


def _bytes(array: Array) -> bytes:
    """Little-endian, whatever this machine is."""
    flat = np.ascontiguousarray(array)
    order = flat.dtype.newbyteorder("<") if flat.dtype.kind in "iuf" else flat.dtype
    return flat.astype(order, copy=False).tobytes()
