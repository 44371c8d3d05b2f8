"""What outputs and scratch hold before a call, drawn by the process that makes the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from kernellab.build.base import Built
from kernellab.run import cpu
from kernellab.run.arena import Arena
from kernellab.run.base import Call, RefillingRunner
from kernellab.run.host_samples import HostSamples
from kernellab.run.samples import Samples
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.dtypes import is_float, limits
from kernellab.tasks.spec import Array

pytestmark = pytest.mark.backend_c
KEEPS = "void k(const void *x, void *y, long n) { }"
CARDS = 8
"""As many outputs show every kind; of three of them there are two."""
N = 1501
"""Elements: more than a block of a pattern holds, and no whole number of lines."""


class Bed:
    def __init__(self, outputs: Arena, calls: list[Call], worker: Samples) -> None:
        self.calls, self._outputs, self._worker = calls, outputs, worker

    def rounds(self, *rounds: list[int]) -> list[Array]:
        """The outputs of every call after these rounds, which leave their guards alone."""
        self._worker.run_rounds(rounds, 5.0)
        taken = self._outputs.take_all([call.outputs[0] for call in self.calls])
        assert {side for _, side in taken} == {""}
        return [array for array, _ in taken]

    def write(self, number: int, value: object) -> None:
        self._outputs.array(self.calls[number].outputs[0])[...] = value


@pytest.fixture
def bed(sandbox: Sandbox, build: Callable[..., Built]):  # type: ignore[no-untyped-def]
    @contextmanager
    def opened(
        source: str = KEEPS, launch: str | None = None, dtype: str = "float32", calls: int = CARDS, sizes: tuple[int, ...] = ()
    ) -> Iterator[Bed]:  # fmt: skip
        inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
        made = [
            Call({"N": n}, (inputs.declare((n,), "float32"),), (outputs.declare((n,), dtype),))
            for n in sizes or (N,) * calls
        ]
        inputs.open()
        outputs.open()
        shapes = tuple({call.dims["N"]: call.dims for call in made}.values())
        built = build(source, launch, shapes=shapes) if launch else build(source, shapes=shapes)
        worker = cpu.start(sandbox, built, inputs, outputs, made, 1, [0])
        outputs.fill_all([call.outputs[0] for call in made], [0] * len(made))  # what loads first has wiped the guards
        try:
            yield Bed(outputs, made, worker)
        finally:
            worker.close()
            inputs.close()
            outputs.close()

    return opened


def kinds(arrays: list[Array]) -> dict[str, int]:
    """How many arrays hold nothing but numbers of such a kind; one may be of several."""
    found = dict.fromkeys(("zeros", "faint", "ordinary", "large"), 0)
    for array in arrays:
        with np.errstate(invalid="ignore"):
            values = array.astype(np.float64)
        sizes = np.abs(values)
        top = float(np.finfo(np.float64).max) if array.dtype == np.float64 else 2.0 ** _top(array.dtype)
        found["zeros"] += not array.view(f"u{array.dtype.itemsize}").any()
        found["faint"] += bool((sizes < limits(array.dtype).tiny).all())
        found["ordinary"] += bool(((sizes >= 2**-8) & (sizes < 2**8)).all())
        found["large"] += bool((np.isfinite(values) & (sizes >= top / 2)).all())
    return found


def _top(dtype: np.dtype) -> int:  # type: ignore[type-arg]
    """The power of two above every number."""
    return 1 << (8 * dtype.itemsize - 2 - limits(dtype).nmant)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_outputs_hold_zeros_numbers_of_every_size_and_an_earlier_answer(dtype: str, bed: Callable[..., Bed]) -> None:
    everything = list(range(CARDS))
    with bed(dtype=dtype) as it:
        for number in everything:
            it.write(number, 256 + 2 * number)
        found = it.rounds(everything, everything)
    counts = kinds(found)
    assert counts["zeros"] >= 1
    assert counts["faint"] >= 2
    assert counts["ordinary"] >= 2
    assert counts["large"] >= 2
    held = [array.view(f"u{array.dtype.itemsize}") for array in found]
    others = [np.array(256 + 2 * number, dtype).view(held[0].dtype) for number in everything]
    earlier = [(to, number) for to, bits in enumerate(held) for number in everything if (bits == others[number]).all()]
    assert any(to != number for to, number in earlier), "what another call left, whole"


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_integers_are_zeros_flags_small_and_large_ones(dtype: str, bed: Callable[..., Bed]) -> None:
    everything = list(range(CARDS))
    assert not is_float(dtype)
    with bed(dtype=dtype) as it:
        found = [a.astype(np.int64) for a in it.rounds(everything, everything)]
    wraps = 256 if dtype == "uint8" else 0
    sizes = [np.minimum(np.abs(a), np.abs(wraps - a)) if wraps else np.abs(a) for a in found]
    assert sum(bool((size == 0).all()) for size in sizes) >= 1
    assert sum(bool((size <= 1).all()) for size in sizes) >= 2
    assert sum(bool((size <= 127).all()) for size in sizes) >= 4
    if not wraps:
        assert sum(bool((size > 1 << (8 * np.dtype(dtype).itemsize - 2)).all()) for size in sizes) >= 2


def test_a_buffer_holds_one_pattern_or_many_numbers_of_either_sign(bed: Callable[..., Bed]) -> None:
    """Of a hundred draws neither is missing, nor a sign."""
    with bed(calls=128) as it:
        found = it.rounds(list(range(128)), [0])
    ordinary = [a for a in found if kinds([a])["ordinary"]]
    assert {len(np.unique(a)) > 100 for a in ordinary} == {True, False}
    assert any((a > 0).any() and (a < 0).any() for a in ordinary)
    assert len({a[0] for a in ordinary if len(np.unique(a)) == 1}) > 1


def test_the_only_output_gets_a_longer_ones_or_none_and_always_other_contents(bed: Callable[..., Bed]) -> None:
    with bed(sizes=(8, 16)) as it:
        for _ in range(CARDS):
            it.write(0, 1000)
            it.write(1, 2000)
            short, long = it.rounds([0, 1], [0])
            assert (short != 1000).any()
            assert (long != 2000).any(), "there is no longer one, and no other as long"


def test_nothing_is_left_before_the_first_round_nor_behind_the_last(bed: Callable[..., Bed]) -> None:
    with bed(calls=2) as it:
        it.write(0, 5)
        assert (it.rounds([0, 1])[0] == 5).all()
    with bed("void k(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = 7; }", calls=2) as it:
        assert all((array == 7).all() for array in it.rounds([0], [1, 0]))


SCRATCH = """
void k(float *y, const float *t, float *u, long at, long n) {
    for (long i = 0; i < n; i++) y[at * n + i] = t[i];
    u[0] = 5;
}"""
TAKES = """
def launch(x, y):
    for at in range(8):
        t = scratch(100)
        kernel("k")(y, t, t, at, 100)
"""


def test_scratch_holds_something_else_in_every_process_and_after_leftovers(bed: Callable[..., Bed]) -> None:
    """Eight pieces of it: all cards of a deck."""
    seen = []
    with bed(SCRATCH, TAKES, sizes=(800, 800)) as it:
        for rounds in ([[0]], [[0]], [[0], [0]], [[1], [0, 0]]):
            seen.append(it.rounds(*rounds)[0].reshape(8, 100).copy())
    for piece in seen[:3]:
        bits = piece.view(np.uint32)
        assert sum(not row.any() for row in bits) >= 1, "zeros"
        assert sum(bool((row == 0xFFFFFFFF).all()) for row in bits) >= 2, "ones"
        assert len(np.unique(bits)) >= 4, "and numbers"
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert seen[one].tobytes() != seen[other].tobytes()
    assert (seen[3][:, 0] == 5).all(), "between two calls without leftovers it stays"
    assert not (seen[2][:, 0] == 5).all()


def test_who_can_refill_says_so() -> None:
    assert issubclass(Samples, RefillingRunner)
    assert not issubclass(HostSamples, RefillingRunner)
