"""The oracle of captured modules on a real GPU: the same answers as on the processor, and the processor where it does not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.unit.tasks.modules import graphs  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.tasks.expected import Expected  # noqa: E402
from kernellab.tasks.inputs import draw_inputs  # noqa: E402
from kernellab.tasks.modules.host_arrays import tensors  # noqa: E402
from kernellab.tasks.modules.importing import Wishes  # noqa: E402
from kernellab.tasks.modules.oracle import TorchOracle  # noqa: E402
from kernellab.tasks.modules.slices import repeating_size  # noqa: E402
from kernellab.tasks.modules.task import module_task  # noqa: E402
from kernellab.tasks.modules.usable import usable  # noqa: E402
from kernellab.tasks.oracle import expect  # noqa: E402
from kernellab.tasks.spec import Task  # noqa: E402
from kernellab.verdict.controls import prove  # noqa: E402
from kernellab.verdict.numeric import within  # noqa: E402

pytestmark = pytest.mark.gpu
GRAPHS = [graphs.linear(terms=512), graphs.maximum(), graphs.total(), graphs.masked(), graphs.fixed()]


def both(record: GraphRecord, kind: str = "") -> tuple[Task, list[Expected], list[Expected]]:
    task = module_task(graphs.module_record(record, Wishes()))
    there = task.on("cuda")
    dims = task.tune[0]
    inputs = draw_inputs(task, dims, kind or next(iter(task.distributions)), np.random.default_rng(3))
    return task, expect(replace(task, sizes={}).on("cpu"), dims, inputs), expect(there, dims, inputs)


@pytest.mark.parametrize("record", GRAPHS)
def test_values_scales_and_intervals_are_those_of_the_processor(record: GraphRecord) -> None:
    task, here, there = both(record)
    for buffer, one, other in zip(task.outputs, here, there, strict=True):
        assert one.exact == other.exact
        assert other.value.shape == one.value.shape
        far = np.abs(other.value.astype(np.float64) - one.value.astype(np.float64))
        assert (far <= 1e-11 * one.scale.astype(np.float64)).all()
        if not one.exact:
            np.testing.assert_allclose(other.scale, one.scale, rtol=1e-9)
            assert other.low.dtype == one.low.dtype == np.dtype(buffer.dtype)
            assert (other.low <= one.value).all()
            assert (other.high >= one.value).all()
            assert 0.25 < other.budget_ulp / one.budget_ulp < 4


@pytest.mark.parametrize("record", [graphs.linear(terms=2048, columns=2048), graphs.maximum(), graphs.total()])
def test_plain_outputs_are_those_of_the_processor(record: GraphRecord) -> None:
    task = module_task(graphs.module_record(record, Wishes()))
    inputs = draw_inputs(task, task.tune[0], next(iter(task.distributions)), np.random.default_rng(3))
    here, there = (TorchOracle(record, "ieee", place).plain(inputs) for place in ("cpu", "cuda"))
    half = len(here) // 2
    for number, (one, other) in enumerate(zip(here, there, strict=True)):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-9 if number < half else 1e-3, atol=1e-3)


def test_what_large_weights_can_be_tried_under_is_what_the_processor_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    record = graphs.module_record(graphs.linear(terms=1100, columns=1000), Wishes())
    there = usable(record)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert usable(record) == there


def test_what_falls_apart_does_so_on_the_device() -> None:
    for record in (graphs.linear(), graphs.maximum(), graphs.total(), graphs.masked()):
        assert repeating_size(record, "cuda") == repeating_size(record)


def test_the_fingerprint_of_a_task_does_not_depend_on_where_its_oracle_computes() -> None:
    task = replace(module_task(graphs.module_record(graphs.linear(), Wishes())), sizes={})
    assert task.on("cuda").fingerprint() == task.on("cpu").fingerprint() == task.fingerprint()


def test_where_the_device_has_no_room_the_processor_answers() -> None:
    torch.cuda.set_per_process_memory_fraction(1e-6)
    try:
        _, here, there = both(graphs.linear(rows=4096, terms=512, columns=512))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.low, other.low)
        np.testing.assert_array_equal(one.value, other.value)


@pytest.mark.parametrize("record", [graphs.linear(terms=512), graphs.total()])
def test_a_task_on_the_device_proves_its_judge(record: GraphRecord) -> None:
    """The two devices round float64 sums differently, which is no second answer of the reference."""
    assert prove(module_task(graphs.module_record(record, Wishes())).on("cuda")) > 0


@pytest.mark.parametrize("record", GRAPHS)
def test_a_case_on_the_device_accepts_torch_and_nothing_else(record: GraphRecord) -> None:
    task = module_task(graphs.module_record(record, Wishes())).on("cuda")
    dims = {s.name: 300 for s in record.symbols}
    for kind in task.distributions:
        case = task.oracle.case(dims, kind, 11)
        found = evaluate(record, tensors(record, case.inputs), wide=False)
        got = [t.reshape(1) if t.dim() == 0 else t for t in found]
        got = [t.to(torch.uint8) if t.dtype == torch.bool else t.contiguous() for t in got]
        assert case.compare(got, lambda _, wanted, there: within(there, wanted)) is not None
        if got[0].is_floating_point():
            got[0].reshape(-1)[-1] += 1.0 + got[0].abs().max()
            assert case.compare(got, lambda _, wanted, there: within(there, wanted)) is None
