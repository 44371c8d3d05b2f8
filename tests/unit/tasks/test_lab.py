"""The suite: what each file states, and that each task can be judged at small sizes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.unit.graph.draws import DISTRIBUTIONS, kept_bits  # noqa: E402
from tests.unit.tasks.lab_subjects import Captured, captured, capturer, made  # noqa: E402

from kernellab.graph.capture import Capturer  # noqa: E402
from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.ops.table import row  # noqa: E402
from kernellab.graph.record import EPS  # noqa: E402
from kernellab.graph.scale import Judged, judge, propagate  # noqa: E402
from kernellab.tasks.lab import LabTask, lab_tasks, table  # noqa: E402

TASKS = lab_tasks()
HIDDEN = ("mixer_block-bf16",)
"""Where eight-bit operands of the products do not show: what they add to the residual is small. Eight-bit results do."""
ROUGH = ("small_convnet-f32",)
"""Deep enough that a result rounded to TF32 is within what may be lost on the way. Products of such operands show."""
MOST_BYTES = 24 << 30
"""Inputs and weights of a task on a GPU."""


def test_there_are_at_least_thirty_files_and_both_precisions() -> None:
    assert len({t.file for t in TASKS.values()}) >= 30
    assert {t.dtype for t in TASKS.values()} >= {"float32", "bfloat16"}


def test_at_least_ten_tasks_have_a_backward() -> None:
    assert len({t.file for t in TASKS.values() if t.backward}) >= 10


def test_the_page_about_the_suite_lists_the_folder() -> None:
    """To write it anew: python -c "from kernellab.tasks.lab import table; print(table())"."""
    page = Path(__file__).parents[3] / "docs" / "suite.md"
    assert table() in page.read_text()


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", TASKS)
def test_every_size_that_a_task_states_runs(name: str) -> None:
    """On torch's meta device, where sizes cost nothing: the GPU's own, the CPU's, held-out and edge ones."""
    task = TASKS[name]
    for sizes in ({}, task.cpu, task.small, *task.held_out, *task.edge):
        with torch.device("meta"), torch.no_grad():
            subject = made(task, sizes)
            result = subject.module(*subject.inputs)
        tensors = [*subject.inputs, *subject.module.parameters(), *subject.module.buffers()]
        assert sum(t.numel() * t.element_size() for t in tensors) <= MOST_BYTES
        assert all(y.numel() for y in (result if isinstance(result, tuple) else (result,)))


@pytest.fixture(scope="module")
def opened() -> Iterator[Capturer]:
    torch.set_num_threads(1)
    with capturer() as one:
        yield one


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_captured_and_judged(name: str, opened: Capturer) -> None:
    is_judged(captured(opened, TASKS[name]), TASKS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [t.name for t in TASKS.values() if t.backward])
def test_the_backward_of_a_task_is_captured_and_judged(name: str, opened: Capturer) -> None:
    """Against torch's autograd in float64, on every distribution; what is disguised must show in some gradient."""
    is_judged(captured(opened, TASKS[name], backward=True), TASKS[name])


def is_judged(found: Captured, task: LabTask) -> None:
    assert [n.op for n in found.record.nodes if (r := row(n.op)) is None or r.scale is None] == []
    assert found.record.symbols, "no size is free"
    shown, zeros = [], []
    for seed, distribution in enumerate(("own", *DISTRIBUTIONS)):
        inputs = found.inputs(distribution, seed)
        verdicts = judge(found.record, found.named(inputs))
        agrees_with_torch(found, verdicts, inputs)
        for verdict, got in zip(verdicts, found.honest(inputs), strict=True):
            assert verdict.accepts(got), distribution
            assert verdict.exact or verdict.budget_ulp <= 40, (distribution, verdict.budget_ulp)
        zeros.append([not v.accepts(torch.zeros_like(v.pair.value)) for v in verdicts])
        shown.append(disguises_seen(found, task, verdicts, inputs))
    assert all(any(seen) for seen in zip(*zeros, strict=True)), "zeros pass"
    assert all(any(seen) for seen in zip(*shown, strict=True)), shown


def agrees_with_torch(found: Captured, verdicts: list[Judged], inputs: list[torch.Tensor]) -> None:
    """The graph in float64 and the module in float64: two spellings of one answer."""
    pairs, _ = propagate(found.record, found.named(inputs))
    for verdict, ours, wanted in zip(verdicts, pairs, found.wide(inputs), strict=True):
        if verdict.exact:
            assert verdict.accepts(wanted)
        else:
            unit = EPS["float64"] * ours.scale * (1024 + ours.budget)
            same = (ours.value == wanted) | (ours.value.isnan() & wanted.isnan())
            assert bool((same | ((ours.value - wanted).abs() <= unit)).all())


def disguises_seen(found: Captured, task: LabTask, verdicts: list[Judged], inputs: list[torch.Tensor]) -> list[bool]:
    """Which of the cheaper computations fail here: products of rounded operands, and rounded results.

    Of float32 tasks TF32 and bfloat16, of bfloat16 tasks eight-bit floats; of whole numbers, one count moved.
    """
    given = found.named(inputs)
    bits = {"float32": (10, 7), "bfloat16": (3,)}.get(task.dtype, ())
    products = any(getattr(row(n.op), "kind", "") in ("contraction", "attention") for n in found.record.nodes)
    wide = evaluate(found.record, given)
    seen = []
    for kept in bits:
        rounded = [w.float() if w.is_floating_point() else w for w in wide]
        cheap = [
            kept_bits(kept)(w).to(v_dtype(v)) if not v.exact else w for v, w in zip(verdicts, rounded, strict=True)
        ]
        rough = task.name in ROUGH and kept == 10
        shows = not all(v.accepts(got) for v, got in zip(verdicts, cheap, strict=True))
        seen.append(shows or rough or not _floats(verdicts))
        if products and task.name not in HIDDEN:
            cheap = evaluate(found.record, given, wide=False, operands=kept_bits(kept))
            seen.append(not all(v.accepts(got) for v, got in zip(verdicts, cheap, strict=True)))
    for verdict, value in zip(verdicts, wide, strict=True):
        if verdict.exact:
            moved = value.clone()
            moved.reshape(-1)[0] = value.reshape(-1)[0] + 1 if int(value.reshape(-1)[0]) == 0 else 0
            seen.append(not verdict.accepts(moved))
    return seen


def v_dtype(verdict: Judged) -> torch.dtype:
    return getattr(torch, verdict.dtype)  # type: ignore[no-any-return]


def _floats(verdicts: list[Judged]) -> bool:
    return any(not v.exact for v in verdicts)
