"""Which arithmetic the judge accepts in place of float32, for sums of 64 to 131,072 terms: python benchmarks/precision.py

Kernels are emulated in NumPy and judged by the oracle itself, under every distribution of the task, several seeds each. Two
tables come out: the share of the budget that the worst honest case takes (at most 1: it passes everywhere), and the share
that low precision takes where it shows most (above 1: it is caught), with the distribution that catches it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from kernellab.tasks import STANDARD, Buffer, Dims, Task, product_scale, sparse, sum_scale
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import error_ulp, expect
from kernellab.tasks.spec import Array

LENGTHS = (64, 1024, 16384, 131072)
ELEMENTS = 1 << 18
Add = Callable[[Array], Array]
"""Float32 terms [rows, K] -> float32 sums [rows]."""


def running(t: Array) -> Array:
    return np.asarray(np.cumsum(t, axis=1, dtype=np.float32)[:, -1])


def backwards(t: Array) -> Array:
    return running(t[:, ::-1])


def largest_first(t: Array) -> Array:
    return running(np.take_along_axis(t, np.argsort(-np.abs(t), axis=1, kind="stable"), axis=1))


def smallest_first(t: Array) -> Array:
    return running(np.take_along_axis(t, np.argsort(np.abs(t), axis=1, kind="stable"), axis=1))


def pairwise(t: Array) -> Array:
    return np.asarray(np.ascontiguousarray(t).sum(axis=1, dtype=np.float32))


def in_lanes(lanes: int) -> Add:
    def add(t: Array) -> Array:
        padded = np.pad(t, ((0, 0), (0, -t.shape[1] % lanes))).reshape(len(t), -1, lanes)
        return running(np.cumsum(padded, axis=1, dtype=np.float32)[:, -1])

    return add


def kahan(t: Array) -> Array:
    total, lost = np.zeros(len(t), np.float32), np.zeros(len(t), np.float32)
    for column in np.ascontiguousarray(t.T):
        part = column - lost
        following = total + part
        lost, total = (following - total) - part, following
    return total


def in_double(t: Array) -> Array:
    return np.asarray(t.sum(axis=1, dtype=np.float64).astype(np.float32))


ORDERS: dict[str, Add] = {
    "float32, running sum": running, "float32, backwards": backwards, "float32, largest first": largest_first,
    "float32, smallest first": smallest_first, "float32, pairwise": pairwise, "float32, 8 lanes": in_lanes(8),
    "float32, 16 lanes": in_lanes(16), "float32, Kahan": kahan, "double": in_double,
}  # fmt: skip

ONE_BY_ONE = ("float32, running sum", "float32, backwards", "float32, largest first", "float32, smallest first")
"""Beyond the longest of LENGTHS such sums may lose what half precision loses; they are not vouched for."""


def to_tf32(x: Array) -> Array:
    bits = x.astype(np.float32).view(np.uint32)
    return np.asarray(((bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)).view(np.float32))


def to_bf16(x: Array) -> Array:
    return np.asarray(x.astype(ml_dtypes.bfloat16).astype(np.float32))


def to_f16(x: Array) -> Array:
    return np.asarray(x.astype(np.float16).astype(np.float32))


Cut = Callable[[Array], Array]


@dataclass(frozen=True)
class Split:
    """An operand as the sum of `parts` numbers of fewer bits; of the products those whose places add up to less."""

    cut: Cut
    parts: int

    def of(self, x: Array) -> list[Array]:
        found: list[Array] = []
        with np.errstate(all="ignore"):
            for _ in range(self.parts):
                found.append(self.cut(np.where(np.isfinite(x), x, 0)))
                x = x - found[-1]
        return found

    def whole(self, x: Array) -> Array:
        return np.asarray(np.where(np.isfinite(x), sum(reversed(self.of(x))), x).astype(np.float32))

    def terms(self, a: Array, b: Array) -> Iterator[Array]:
        """The products of parts, smallest first; each is exact in float32."""
        left, right = self.of(a), self.of(b)
        for order in reversed(range(self.parts)):
            for i in range(order + 1):
                yield left[i] * right[order - i]


HONEST = {"tf32x3": Split(to_tf32, 2), "bf16x6": Split(to_bf16, 3)}
LOW = {"tf32": Split(to_tf32, 1), "bf16": Split(to_bf16, 1), "bf16x3": Split(to_bf16, 2), "f16": Split(to_f16, 1)}
Kernel = Callable[..., tuple[Array, ...]]


@dataclass(frozen=True)
class Subject:
    task: Task
    dims: Callable[[int], Dims]
    honest: dict[str, Kernel]
    low: dict[str, Kernel]
    lengths: tuple[int, ...] = LENGTHS
    draws: int = 1
    """How often a seed draws: a task with one sum shows one error a draw."""


def draw_uniform(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    return rng.random(buffer.shape(dims), dtype=np.float32)


def _task(name: str, inputs: tuple[Buffer, ...], outputs: tuple[Buffer, ...], **fields: Any) -> Task:
    small = dict.fromkeys("MNK", 3)
    return Task(name=name, about="", inputs=inputs, outputs=outputs, tune=(small,), held_out=({**small, "K": 5},),
                edge=(small,), distributions={**STANDARD, "uniform": draw_uniform, "sparse": sparse(inputs[0].name)},
                **fields)  # fmt: skip


def row_sum(counted: bool) -> Subject:
    """With a scale that follows the terms, or with no more than their number."""

    def reference(x: Array) -> Array:
        return np.asarray(x.sum(axis=1))

    def scale(x: Array) -> Array:
        return sum_scale(x, 1)

    said: dict[str, Any] = {"scale": scale} if counted else {
        "scale": lambda x: np.abs(x).sum(axis=1), "reduction": lambda dims: dims["K"]
    }  # fmt: skip
    task = _task("sum" if counted else "sum-by-reduction", (Buffer("x", ("M", "K")),), (Buffer("y", ("M",)),),
                 reference=reference, **said)  # fmt: skip
    honest: dict[str, Kernel] = {name: (lambda x, add=add: (add(x),)) for name, add in ORDERS.items()}
    honest |= {name: (lambda x, s=s: (sum(in_lanes(16)(p) for p in reversed(s.of(x))),)) for name, s in HONEST.items()}
    low: dict[str, Kernel] = {name: (lambda x, s=s: (in_lanes(16)(s.whole(x)),)) for name, s in LOW.items()}
    low["tf32 result"] = lambda x: (to_tf32(in_double(x)),)
    return Subject(task, lambda k: {"M": max(8, ELEMENTS // k), "N": 1, "K": k}, honest, low)


def product() -> Subject:
    def reference(a: Array, b: Array) -> Array:
        return np.asarray(a @ b)

    task = _task("product", (Buffer("a", ("M", "K")), Buffer("b", ("K", "N"))), (Buffer("c", ("M", "N")),),
                 reference=reference, scale=product_scale)  # fmt: skip

    def columns(a: Array, b: Array, one: Callable[[Array, Array], Array]) -> tuple[Array, ...]:
        return (np.stack([one(a, b[:, n]) for n in range(b.shape[1])], axis=1),)

    def parts(s: Split) -> Kernel:
        def one(a: Array, b: Array) -> Array:
            return np.asarray(sum(in_lanes(16)(t) for t in s.terms(a, np.broadcast_to(b, a.shape))))

        return lambda a, b: columns(a, b, one)

    honest: dict[str, Kernel] = {
        name: (lambda a, b, add=add: columns(a, b, lambda p, q: add(p * q))) for name, add in ORDERS.items()
    }
    honest |= {name: parts(s) for name, s in HONEST.items()}
    low: dict[str, Kernel] = {name: parts(s) for name, s in LOW.items()}
    return Subject(task, lambda k: {"M": max(8, ELEMENTS // k // 4), "N": 3, "K": k}, honest, low)


def _exponentials(logs: Array) -> Array:
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def normalised(
    task: Task, logs: Callable[..., Array], dims: Callable[[int], Dims], lengths: tuple[int, ...]
) -> Subject:
    """Weights exp(log) / sum: softmax rows, particle filters (one row, with its effective sample size)."""
    several = len(task.outputs) > 1

    def result(e: Array, total: Array, squares: Array) -> tuple[Array, ...]:
        w = e / total[:, None]
        return (w[0], total * total / squares) if several else (w,)

    def adding(add: Add) -> Kernel:
        def kernel(*inputs: Array) -> tuple[Array, ...]:
            e = _exponentials(logs(*inputs))
            return result(e, add(e), add(e * e))

        return kernel

    def of_terms(cut: Cut) -> Kernel:
        return adding(lambda e: in_double(cut(e)))

    def of_weights(cut: Cut) -> Kernel:
        exact = adding(in_double)
        return lambda *inputs: tuple(cut(out) for out in exact(*inputs))

    def of_inputs(cut: Cut) -> Kernel:
        exact = adding(in_double)
        return lambda *inputs: exact(*(cut(a) for a in inputs))

    honest: dict[str, Kernel] = {name: adding(add) for name, add in ORDERS.items()}
    honest |= {f"{name} terms": of_terms(s.whole) for name, s in HONEST.items()}
    low: dict[str, Kernel] = {f"{name} inputs": of_inputs(s.whole) for name, s in LOW.items() if name != "bf16x3"}
    low |= {f"{name} terms": of_terms(s.whole) for name, s in LOW.items()}
    low["tf32 result"] = of_weights(to_tf32)
    return Subject(task, dims, honest, low, lengths, 8 if several else 1)


def stencil() -> Subject:
    task = TASKS["stencil5x5"]
    exact: Kernel = lambda x: (np.asarray(task.reference(x.astype(np.float64)).astype(np.float32)),)  # noqa: E731
    honest: dict[str, Kernel] = {"float32": lambda x: (np.asarray(task.reference(x)),), "double": exact}
    honest |= {name: (lambda x, s=s: exact(s.whole(x))) for name, s in HONEST.items()}
    low: dict[str, Kernel] = {name: (lambda x, s=s: exact(s.whole(x))) for name, s in LOW.items()}
    low["tf32 result"] = lambda x: (to_tf32(exact(x)[0]),)
    return Subject(task, lambda k: {"H": 256, "W": 256, "C": 1}, honest, low, (25,))


def subjects() -> list[Subject]:
    return [
        row_sum(True), row_sum(False), product(),
        normalised(TASKS["softmax"], lambda x: x, lambda k: {"M": max(8, ELEMENTS // k), "N": k}, LENGTHS),
        normalised(
            TASKS["particle_filter"], lambda x, lw, z: (lw - np.float32(0.5) * (z - x) ** 2)[None], lambda k: {"N": k},
            (*LENGTHS, 1 << 20),
        ),
        stencil(),
    ]  # fmt: skip


def share(kernel: Kernel, inputs: list[Array], expected: list[Any]) -> float:
    """The largest part of its budget that an output takes."""
    with np.errstate(all="ignore"):
        outputs = kernel(*inputs)
    pairs = zip(outputs, expected, strict=True)
    return max(error_ulp(np.asarray(got, e.low.dtype), e.value, e.scale)[1] / e.budget_ulp for got, e in pairs)


def measure(subject: Subject, k: int, seeds: int) -> dict[str, dict[str, float]]:
    """By arithmetic, by distribution: the worst share of all seeds."""
    dims = subject.dims(k)
    kernels = {**subject.honest, **subject.low}
    if k > LENGTHS[-1]:
        del kernels["float32, Kahan"]  # a million steps of Python each
    found: dict[str, dict[str, float]] = {name: {} for name in kernels}
    for distribution in subject.task.distributions:
        for seed in range(seeds * (subject.draws if k <= 16384 else 1)):
            inputs = draw_inputs(subject.task, dims, distribution, np.random.default_rng([seed, k]))
            expected = expect(subject.task, dims, inputs)
            for name, kernel in kernels.items():
                worst = max(share(kernel, inputs, expected), found[name].get(distribution, 0.0))
                found[name][distribution] = worst
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--only", default="", help="operators whose name holds this")
    given = options.parse_args()
    wrong = 0
    print(
        "| operator | terms | arithmetic | share of the budget | under | verdict |\n| --- | --- | --- | --- | --- | --- |"
    )
    for subject in subjects():
        if given.only not in subject.task.name:
            continue
        for k in subject.lengths:
            for name, by in measure(subject, k, given.seeds).items():
                where = max(by, key=by.__getitem__)
                passed = by[where] <= 1
                right = passed == (name in subject.honest and (k <= LENGTHS[-1] or name not in ONE_BY_ONE))
                wrong += not right
                verdict = ("passes" if passed else "caught") if right else "WRONG"
                print(f"| {subject.task.name} | {k} | {name} | {by[where]:.3g} | {where} | {verdict} |", flush=True)
    print(f"\n{wrong} wrong verdicts", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
