"""Timed buffers of a captured module on a real GPU: drawn and answered there, and every wrong element told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.unit.tasks.modules import graphs  # noqa: E402

from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.measurement.device_ring import DeviceRing  # noqa: E402
from kernellab.run.cuda import CudaDevice  # noqa: E402
from kernellab.tasks.crew import Crew  # noqa: E402
from kernellab.tasks.modules.importing import Wishes  # noqa: E402
from kernellab.tasks.modules.task import module_task  # noqa: E402
from kernellab.tasks.oracle import run_trusted  # noqa: E402

pytestmark = pytest.mark.gpu
SLOTS = 2
GRAPHS = [graphs.linear(), graphs.maximum(), graphs.masked(), graphs.roots()]


@pytest.fixture(params=GRAPHS, ids=["linear", "maximum", "masked", "roots"])
def ring(request: pytest.FixtureRequest, gpu: CudaDevice, crew: Crew) -> Iterator[DeviceRing]:
    record: GraphRecord = request.param
    task = replace(module_task(graphs.module_record(record, Wishes())), sizes={}).on("cuda")
    dims = {s.name: 129 for s in record.symbols}
    opened = DeviceRing(gpu, task, dims, SLOTS, bytes(range(32)), SLOTS, crew)
    yield opened
    opened.close()


def answer(it: DeviceRing, number: int) -> None:
    """What torch on the processor gives for the inputs that lie there."""
    for index in it.set_calls(number, SLOTS):
        call = it.calls[index]
        outputs = run_trusted(it.task, [it.inputs.read(r) for r in call.inputs], it.dims)
        for region, values in zip(call.outputs, outputs, strict=True):
            it.sides[0].write(region, values)


def test_honest_results_pass_and_every_call_is_judged(ring: DeviceRing) -> None:
    for number in (0, 1, 0):
        filling = ring.fill(number, SLOTS, 0)
        answer(ring, number)
        assert ring.check(number, filling) == (None, SLOTS)


def test_no_number_is_told_on_the_device_where_it_is_asked_for(
    gpu: CudaDevice, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = replace(module_task(graphs.module_record(graphs.roots(), Wishes())), sizes={}).on("cuda")
    ring = DeviceRing(gpu, task, {"d0": 129}, SLOTS, bytes(range(32)), SLOTS, crew)
    asked: list[list[int]] = []
    explain = ring._explain
    monkeypatch.setattr(ring, "_explain", lambda n, f, slots: (asked.append(slots), explain(n, f, slots))[1])
    filling = ring.fill(0, SLOTS, 0)
    answer(ring, 0)
    assert ring.check(0, filling) == (None, SLOTS)
    assert asked == [[]]
    region = ring.calls[1].outputs[0]
    values = np.array(ring.sides[0].read(region))
    values.reshape(-1)[np.flatnonzero(~np.isnan(values))[-1]] = np.nan
    ring.sides[0].write(region, values)
    fault, _ = ring.check(0, filling)
    assert fault is not None
    ring.close()


def test_one_wrong_element_is_told(ring: DeviceRing) -> None:
    filling = ring.fill(0, SLOTS, 0)
    answer(ring, 0)
    region = ring.calls[1].outputs[0]
    values = np.array(ring.sides[0].read(region))
    values.reshape(-1)[np.flatnonzero(values == values)[-1]] += values.dtype.type(3)
    ring.sides[0].write(region, values)
    fault, _ = ring.check(0, filling)
    assert fault is not None
    assert fault.cause == "wrong-output"


def test_what_is_left_unwritten_is_told(ring: DeviceRing) -> None:
    fault, _ = ring.check(0, ring.fill(0, SLOTS, 0))
    assert fault is not None
