"""A step of a candidate at some sizes, for many choices of its parameters at once: programs, blocks, bytes, a guess of time.

Every value is an array with one entry a combination. The guess is rough on purpose: it says what is tight (memory, work, too
few programs, launches), and a model learns how far to believe it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernellab.graph.extents import evaluate, symbols_of
from kernellab.lower.facts import StepFacts, Traffic
from kernellab.search.prior.rates import Rates

Floats = NDArray[np.float64]
_TILES, _WHOLE, _LOOPS = ("tile", "tile_loop", "scan_tile"), ("row", "tile"), ("row_loop", "scan")
_DEFAULTS = {"BLOCK": 1024.0, "LANES": 32.0, "PIECE": 16.0, "WARPS": 4.0, "BLOCK_M": 64.0, "BLOCK_N": 64.0,
             "BLOCK_K": 32.0, "STAGES": 3.0, "GROUP_M": 8.0, "PROGRAMS": 264.0}  # fmt: skip
_IN_FLIGHT = 3e6
"""Bytes on their way that keep the memory of a large device busy."""
_PARTS = 3.0
"""Of a float32 number that is split."""
_STEP_S = 1e-6
"""Of one trip to memory."""


@dataclass(frozen=True)
class StepLoad:
    """What one step asks of a device. `block`: elements that a program has at a time; `pieces`: how many times."""

    programs: Floats
    block: Floats
    pieces: Floats
    warps: Floats
    per_thread: Floats
    resident: Floats
    waves: Floats
    full: Floats
    waste: Floats
    shared: Floats
    bytes: Floats
    work: Floats
    seconds: Floats


class Sizes:
    """The numbers that texts of sizes stand for; a parameter that is a size makes them arrays."""

    def __init__(self, dims: Mapping[str, int], params: Mapping[str, Floats], count: int) -> None:
        self._dims, self._params, self._count = dims, params, count

    def at(self, text: str) -> Floats:
        free = sorted(symbols_of(text) & self._params.keys())
        if not free:
            return np.full(self._count, float(evaluate(text, self._dims)))
        rows = np.stack([self._params[name] for name in free])
        known, where = np.unique(rows, axis=1, return_inverse=True)
        values = [evaluate(text, {**self._dims, **dict(zip(free, map(int, one), strict=True))}) for one in known.T]
        return np.array(values, np.float64)[where.reshape(-1)]

    def param(self, name: str, step: StepFacts) -> Floats:
        fixed = (step.fixed or {}).get(name, _DEFAULTS.get(name, 1.0))
        return (
            self._params[name] if name in step.choices and name in self._params else np.full(self._count, float(fixed))
        )


def step_load(step: StepFacts, sizes: Sizes, rates: Rates) -> StepLoad:
    programs, block, pieces, waste, shared = _blocks(step, sizes)
    warps = sizes.param("WARPS", step)
    threads = warps * rates.lanes
    per_thread = block / threads
    live = 1.0 + min(4, len(step.read))
    registers = np.clip(24 + per_thread * (1.0 if step.product else live), 24, 255)
    resident = np.minimum.reduce([
        rates.threads / threads, rates.registers / (registers * threads), rates.shared / np.maximum(shared, 1024.0),
        np.full_like(threads, 32.0),
    ])  # fmt: skip
    resident = np.maximum(1.0, np.floor(resident))
    waves = programs / (rates.units * resident)
    moved, flying = (
        _bytes(step, sizes),
        np.minimum(programs, rates.units * resident) * np.maximum(block, shared / 4) * 4,
    )
    work = np.full_like(programs, step.work) * waste
    busy = np.minimum(1.0, programs / rates.units)
    memory = moved * _again(step) / (rates.bandwidth * np.minimum(1.0, flying / _IN_FLIGHT + 1e-3))
    rate = rates.flops
    if step.product:
        batch, rows, columns, terms = (sizes.at(t) for t in step.product)
        work, rate = 2 * batch * rows * columns * terms * waste, rates.tensor_flops / 8
    full = waves / np.ceil(waves)
    compute = work / (rate * busy * np.maximum(full, 0.05))
    waiting = np.ceil(waves) * pieces * _STEP_S
    parts = [memory, compute, waiting] if rates.lanes > 1 else [moved / rates.bandwidth, work / rates.flops]
    seconds = rates.launch_s + np.maximum.reduce(parts)
    return StepLoad(
        programs, block, pieces, warps, per_thread, resident, waves, full, waste, shared, moved, work, seconds
    )


def _blocks(step: StepFacts, sizes: Sizes) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Programs, elements of a block, pieces one after the other, what rounding up wastes, bytes of shared memory."""
    if step.product:
        return _product_blocks(step, sizes)
    rows, length, block = sizes.at(step.rows), np.maximum(1.0, sizes.at(step.length)), sizes.param("BLOCK", step)
    none = np.zeros_like(rows)
    block = block * sizes.param("GROUPS", step) if step.form == "grid" else block
    if step.form in _TILES:
        beside, lanes, piece = (
            np.maximum(1.0, sizes.at(step.lanes)),
            sizes.param("LANES", step),
            sizes.param("PIECE", step),
        )
        piece = _power(length) if step.form in _WHOLE else piece
        across, pieces = np.ceil(beside / lanes), np.ceil(length / piece)
        waste = across * lanes / beside * pieces * piece / length
        return rows / beside * across, lanes * piece, pieces, waste, none
    if step.form in _WHOLE:
        return rows, _power(length), np.ones_like(rows), _power(length) / length, none
    if step.form == "spread":
        shares = np.ceil(length / block)
        programs = np.maximum(shares, np.minimum(sizes.param("PROGRAMS", step), rows * shares))
        return programs, block, np.ceil(rows * shares / programs), shares * block / length, none
    if step.form in _LOOPS:
        pieces = np.ceil(length / block)
        return rows, block, pieces, pieces * block / length, none
    programs = np.ceil(rows / block)
    return programs, block, length, programs * block / np.maximum(1.0, rows), none


def _product_blocks(step: StepFacts, sizes: Sizes) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    assert step.product is not None
    batch, rows, columns, terms = (sizes.at(t) for t in step.product)
    m, n, k, stages = (sizes.param(name, step) for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "STAGES"))
    down, across, pieces = np.ceil(rows / m), np.ceil(columns / n), np.ceil(terms / k)
    waste = down * m / rows * across * n / columns * pieces * k / np.maximum(1.0, terms)
    element = _PARTS * 2 if step.form == "product_in_parts" else float(min((t.bytes for t in step.read), default=4))
    return batch * down * across, m * n, pieces, waste, stages * (m + n) * k * element


def _bytes(step: StepFacts, sizes: Sizes) -> Floats:
    found: Floats = np.sum([_moved(t, sizes) for t in (*step.read, *step.written)], axis=0)
    return found


def _moved(traffic: Traffic, sizes: Sizes) -> Floats:
    found: Floats = sizes.at(traffic.elements) * traffic.bytes
    return found


def _again(step: StepFacts) -> float:
    """How often a row is gone over where it is not kept."""
    return 1.0 + 0.5 * min(3, step.reductions) if step.form in ("row_loop", "tile_loop") else 1.0


def _power(length: Floats) -> Floats:
    found: Floats = 2.0 ** np.ceil(np.log2(np.maximum(1.0, length)))
    return found
