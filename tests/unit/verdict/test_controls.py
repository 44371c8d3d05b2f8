from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernellab.core.errors import TaskRefused
from kernellab.graph.steady import steady_budget
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.inputs import STANDARD, draw_inputs, draw_normal, sparse
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Buffer, Task
from kernellab.tasks.sums import sum_scale
from kernellab.verdict.cases import screen_cases
from kernellab.verdict.controls import prove
from kernellab.verdict.numeric import within
from kernellab.verdict.wrong_kernels import CONTROLS, PRECISION


def make(reference: Any, **changes: Any) -> Task:
    fields: dict[str, Any] = {
        "name": "t",
        "about": "",
        "inputs": (Buffer("x", ("M", "N")),),
        "outputs": (Buffer("y", ("M", "N")),),
        "reference": reference,
        "tune": ({"M": 64, "N": 64},),
        "held_out": ({"M": 30, "N": 70},),
        "edge": ({"M": 1, "N": 1}, {"M": 7, "N": 13}, {"M": 16, "N": 33}),
        "distributions": STANDARD,
    }
    return Task(**{**fields, **changes})


def refused(task: Task) -> TaskRefused:
    with pytest.raises(TaskRefused) as caught:
        prove(task)
    assert caught.value.fix
    return caught.value


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", TASKS)
def test_every_built_in_task_is_proven(name: str) -> None:
    assert prove(TASKS[name]) == len(CONTROLS)
    assert prove(TASKS[name].on("cuda")) == len(CONTROLS)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("control", CONTROLS)
def test_every_control_is_caught_on_every_built_in_task_at_the_largest_edge(control: str, name: str) -> None:
    task = TASKS[name]
    dims = max(task.edge, key=task.least_bytes)
    inputs = draw_inputs(task, dims, "normal", np.random.default_rng(5))
    expected = expect(task, dims, inputs)
    outputs = CONTROLS[control](task, dims, inputs, expected)
    if outputs is None:
        assert control in PRECISION
        assert any(b.dtype != "float32" for b in (*task.inputs, *task.outputs))
        return
    assert not all(within(got, wanted) for got, wanted in zip(outputs, expected, strict=True))


def test_a_plain_elementwise_task_is_proven() -> None:
    assert prove(make(lambda x: np.tanh(x) + x)) == len(CONTROLS)


TERMS = tuple(Buffer(name, ("M", "N")) for name in "abcd")
SUMS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda a, b, c, d: a + b + c + d, lambda *terms: sum(np.abs(t) for t in terms)),
    "products": (lambda a, b, c, d: a * b - c * d, lambda a, b, c, d: np.abs(a * b) + np.abs(c * d)),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("tune", [{"M": 64, "N": 64}, {"M": 4096, "N": 4096}])
def test_cancelling_terms_need_a_scale_or_luck_would_judge(name: str, tune: dict[str, int]) -> None:
    reference, scale = SUMS[name]
    task = make(reference, inputs=TERMS, tune=(tune,), edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}))
    found = refused(task)
    assert "luck would judge" in str(found)
    assert "scale=" in found.fix
    assert prove(replace(task, scale=scale)) == len(CONTROLS)


def test_a_baseline_that_overflows_is_no_yardstick() -> None:
    def naive(x: Array) -> Array:
        return np.asarray(x / (1 + np.exp(-x)))

    assert "luck would judge" in str(refused(make(naive)))
    assert prove(make(naive, scale=np.abs)) == len(CONTROLS)


def test_a_reference_that_fails_at_a_searched_shape_is_refused_in_words() -> None:
    def small_only(x: Array) -> Array:
        assert x.size < 4096, "too large for me"
        return np.tanh(x) + x

    assert "the reference fails: AssertionError: too large for me" in refused(make(small_only)).what


def test_long_sums_are_looked_at_without_long_work() -> None:
    drawn: list[int] = []

    def draw(rng: np.random.Generator, buffer: Buffer, dims: dict[str, int]) -> Array:
        drawn.append(dims["M"] * dims["N"])
        return draw_normal(rng, buffer, dims)

    rows = {
        "outputs": (Buffer("y", ("M",)),),
        "reduction": lambda d: d["N"],
        "distributions": {"normal": draw, "again": draw},
    }
    task = make(lambda x: x.sum(axis=1), tune=({"M": 8, "N": 1 << 22},), scale=lambda x: np.abs(x).sum(axis=1), **rows)
    assert prove(task) == len(CONTROLS)
    assert max(drawn) < 1 << 20
    assert sum(drawn) < 1 << 22


def row_sums(terms: int, **changes: Any) -> Task:
    said: dict[str, Any] = {
        "outputs": (Buffer("y", ("M",)),), "scale": lambda x: np.abs(x).sum(axis=1), "reduction": lambda d: d["N"],
        "tune": ({"M": 8, "N": terms},), "held_out": ({"M": 9, "N": terms},),
    }  # fmt: skip
    return make(lambda x: x.sum(axis=1), **{**said, **changes})


@pytest.mark.heavy
def test_long_sums_need_inputs_that_make_precision_visible() -> None:
    assert prove(row_sums(512)) == len(CONTROLS)
    found = refused(row_sums(32768))
    assert "in sums of 32768 terms (M=8,N=32768) a kernel that does 'TF32 inputs' would pass" in found.what
    assert "sparse(" in found.fix
    assert prove(row_sums(32768, distributions={**STANDARD, "sparse": sparse("x")})) == len(CONTROLS)


def test_a_scale_that_follows_the_terms_needs_no_count_of_them() -> None:
    exact = {"reduction": None, "scale": lambda x: sum_scale(x, axis=1)}
    assert prove(row_sums(32768, distributions={**STANDARD, "sparse": sparse("x")}, **exact)) == len(CONTROLS)


def test_inputs_without_bits_to_lose_prove_nothing_about_precision() -> None:
    def draw_whole(rng: np.random.Generator, buffer: Buffer, dims: dict[str, int]) -> Array:
        return rng.integers(-9, 10, buffer.shape(dims)).astype(np.float32)

    whole = {"distributions": {"whole": draw_whole, "again": draw_whole}}
    assert prove(make(lambda x: np.tanh(x / 3), **whole)) == len(CONTROLS)


def test_a_scale_that_hides_ten_bits_is_refused() -> None:
    hidden = make(lambda x: np.tanh(x) + x, scale=lambda x: 2000 * (np.abs(x) + 1))
    assert "would pass every case" in refused(hidden).what


@pytest.mark.parametrize("function", [np.subtract, np.multiply, np.hypot, np.maximum])
def test_functions_that_round_once_need_no_scale(function: Any) -> None:
    assert prove(make(lambda a, b: function(a, b), inputs=TERMS[:2])) == len(CONTROLS)


def spoil(x: Array) -> Array:
    x[...] = 0
    return x


def stateful() -> Any:
    calls = []

    def reference(x: Array) -> Array:
        calls.append(1)
        return x + len(calls)

    return reference


def spoiling_baseline(x: Array, y: Array) -> None:
    y[...] = 0


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (make(lambda x: np.zeros_like(x)), "does not depend on input 'x'"),
        (make(lambda x: x), "'copy an input' would pass every case"),
        (make(stateful(), baselines={"numpy": lambda x, y: None}), "two answers for one input"),
        (make(lambda x: x + np.nan), "no finite value"),
        (make(lambda x: 1 / 0), "the reference fails: ZeroDivisionError"),
        (make(lambda x: x[:1] + 1), "gives shape"),
        (make(lambda x: (x, x), baselines={"numpy": spoiling_baseline}), "returns 2 outputs"),
        (make(np.tanh, baselines={"numpy": spoiling_baseline}), "fit the budget"),
        (make(lambda x: x + 1, scale=lambda x: 1e9 + x), "scale= is so large"),
        (make(lambda x: x + 1, bytes_moved=lambda d: 0), "bytes_moved says 0 bytes"),
        (make(lambda x: x + 1, bytes_moved=lambda d: -5), "bytes_moved says -5 bytes"),
        (make(lambda x: x + 1, bytes_moved=lambda d: 1 << 40), "bytes_moved says"),
        (make(lambda x: x + 1, bytes_moved=lambda d: d["K"]), "bytes_moved fails: KeyError"),
        (make(lambda x: x + 1, flops=lambda d: -1), "flops is negative"),
        (make(lambda x: x + 1, reduction=lambda d: 0), "reduction says 0 terms"),
        (make(lambda x: x + 1, reduction=lambda d: 1 << 40), "reduction says"),
        (
            make(lambda x, b: x + 1, inputs=(Buffer("x", ("M", "N")), Buffer("b", ("N",)))),
            "does not depend on input 'b'",
        ),
        (
            make(
                lambda x: x + 1,
                distributions={"a": lambda r, b, d: np.ones(b.shape(d)), "b": draw_normal},
                edge=({"M": 1, "N": 1},),
            ),
            None,
        ),
        (
            make(lambda x: x + 1, distributions={"a": lambda r, b, d: np.ones(3), "b": draw_normal}),
            "drawing inputs fails",
        ),
    ],
)
def test_a_task_whose_judge_could_be_fooled_is_refused(task: Task, words: str | None) -> None:
    error = refused(task)
    assert words is None or words in error.what


@pytest.mark.parametrize(
    ("name", "halo"), [("stencil3x3", 0), ("stencil5x5", 0), ("stencil5x5", 1), ("stencil5x5_bf16", 1)]
)
def test_a_halo_too_small_is_refused(name: str, halo: int) -> None:
    """At large shapes the oracle itself would be wrong at the seams."""
    error = refused(replace(TASKS[name], halo=halo))
    assert f"rows depend on more than {halo} rows on either side" in error.what
    assert "halo" in error.fix


@pytest.mark.parametrize("halo", [2, 3, 9, None])
def test_a_halo_of_enough_rows_is_accepted(halo: int | None) -> None:
    assert prove(replace(TASKS["stencil5x5"], halo=halo)) == len(CONTROLS)


def test_rows_that_all_depend_on_each_other_have_no_halo() -> None:
    assert "rows depend on more than 1 rows" in refused(make(lambda x: x + x.sum(axis=0), halo=1)).what
    terms = {"reduction": lambda d: d["M"], "scale": lambda x: np.abs(x) + np.abs(x).sum(axis=0)}
    assert prove(make(lambda x: x + x.sum(axis=0), halo=None, **terms)) == len(CONTROLS)


def test_a_task_that_looks_at_how_many_rows_there_are_has_no_halo() -> None:
    assert "rows depend on more than 0 rows" in refused(make(lambda x: np.tanh(x) + x.shape[0], halo=0)).what


def test_a_reference_that_cannot_take_fewer_rows_is_refused_in_words() -> None:
    def whole_only(x: Array) -> Array:
        assert x.shape[0] in (1, 7, 16), "not these many rows"
        return np.tanh(x) + x

    assert "band by band" in refused(make(whole_only, halo=1, edge=({"M": 7, "N": 13}, {"M": 16, "N": 33}))).what


def test_a_negative_flop_count_is_refused_in_words_about_flops() -> None:
    assert "flops" in refused(make(lambda x: x + 1, flops=lambda d: -1)).what


def test_a_baseline_that_disagrees_with_the_reference_is_refused() -> None:
    def half(x: Array, y: Array) -> None:
        y[...] = np.tanh(x).astype(np.float16)

    error = refused(make(np.tanh, baselines={"numpy": half}))
    assert "so far off" in error.what
    assert "a baseline that is more exact" in error.fix


@pytest.mark.heavy
def test_proving_is_repeatable() -> None:
    task = TASKS["stencil3x3"]
    assert prove(task, seed=3) == prove(task, seed=3)
    assert screen_cases(task) == screen_cases(task)


def test_a_task_with_a_scalar_output_is_proven_or_refused_but_never_crashes() -> None:
    task = make(lambda x: np.abs(x).sum(), outputs=(Buffer("y", ()),), reduction=lambda d: d["M"] * d["N"])
    with contextlib.suppress(TaskRefused):
        assert prove(task) == len(CONTROLS)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_16_bit_task_of_ones_own_is_proven_and_a_fooled_one_refused(dtype: str) -> None:
    buffers = {"inputs": (Buffer("x", ("M", "N"), dtype),), "outputs": (Buffer("y", ("M", "N"), dtype),)}
    assert prove(make(lambda x: np.tanh(x) + x, **buffers)) == len(CONTROLS)
    assert "'copy an input'" in refused(make(lambda x: x, **buffers)).what
    assert "does not depend" in refused(make(lambda x: np.zeros_like(x), **buffers)).what
    assert "scale= is so large" in refused(make(lambda x: x + 1, scale=lambda x: 1e7 + x, **buffers)).what


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_kept_in_16_bits_by_the_baseline_itself_are_seen(dtype: str) -> None:
    """The trusted implementation gets float32 arrays, so one that insists on 16 bits has lost digits and shows it."""

    def insists(x: Array, y: Array) -> None:
        y[...] = (x.astype(dtype) + np.array(64, dtype)).astype(np.float32) - 64

    buffers = {"inputs": (Buffer("x", ("M", "N"), dtype),), "outputs": (Buffer("y", ("M", "N"), dtype),)}
    error = refused(make(lambda x: x, baselines={"numpy": insists}, **buffers))
    assert "fit the budget" in error.what or "copy an input" in error.what


def test_what_a_long_sum_may_honestly_lose_is_no_luck_until_half_precision_is_near() -> None:
    assert steady_budget(4.0, ieee=True) == 256.0
    assert steady_budget(100.0, ieee=True) == 1024.0
    assert steady_budget(1028.0, ieee=True) == 1028.0, "four million terms"
    assert steady_budget(5000.0, ieee=True) == 2048.0, "refused: half precision would fit"
    assert steady_budget(5000.0, ieee=False) == 64 * 5000.0
