"""Proofs of captured modules, where another device computes what is expected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.unit.tasks.modules import graphs

from kernellab.tasks.expected import Array, Expected
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.oracle import TorchOracle
from kernellab.tasks.modules.task import module_task
from kernellab.verdict.controls import prove


class Elsewhere(TorchOracle):
    """A device that rounds float64 sums in another order: the last bit differs."""

    def expect(self, dims: dict[str, int], inputs: list[Array]) -> list[Expected]:
        found = super().expect(dims, inputs)
        return [e if e.exact else replace(e, value=np.nextafter(e.value, np.inf)) for e in found]


def test_a_proof_asks_the_processor_whatever_device_the_task_is_for() -> None:
    record = graphs.module_record(graphs.linear(), Wishes())
    task = module_task(record)
    assert task.captured is not None
    there = replace(task, captured=replace(task.captured, oracle=Elsewhere(record.graph, "ieee")))
    assert prove(there) == prove(task) > 0
