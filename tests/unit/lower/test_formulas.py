"""Graphs that nobody chose, from capture to the judge: formulas drawn by seeds, in C; their Triton texts are written too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.build.base import Candidate, NotBuilt  # noqa: E402
from kernellab.core.records import Passed  # noqa: E402
from kernellab.core.settings import Settings  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.source import Request  # noqa: E402
from kernellab.lower.candidates import written  # noqa: E402
from kernellab.propose.recipe import with_defaults  # noqa: E402
from kernellab.targets.base import DeviceSetup, platform  # noqa: E402
from kernellab.tasks.builtin import TASKS  # noqa: E402
from kernellab.tasks.generated.formula import SMALL, draw  # noqa: E402
from kernellab.tasks.modules.importing import record_of  # noqa: E402
from kernellab.tasks.modules.task import module_task  # noqa: E402
from kernellab.tasks.suites.base import Problem  # noqa: E402
from kernellab.verdict.cases import CaseTable, screen_cases, shapes_of  # noqa: E402
from kernellab.verdict.judge import Judge  # noqa: E402

pytestmark = pytest.mark.backend_c
_NEAR = 8.0
"""How many budgets a plain sum may be off: it is refused then, and rightly computed all the same."""


@pytest.fixture(scope="module")
def device() -> Iterator[DeviceSetup]:
    opened = platform("cpu").open(Settings(effort="quick"), TASKS["softmax"], torch=False)
    yield opened
    opened.close()


@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("seed", range(40))
def test_every_kernel_of_a_formula_computes_it(seed: int, dtype: str, device: DeviceSetup) -> None:
    formula = draw(seed, SMALL, dtype)
    scope: dict[str, Any] = {}
    exec(formula.text, scope)
    graph = capture_object(scope["Model"](), scope["get_inputs"](), "formula")
    task = module_task(record_of(graph, Problem(Request(""), "formula")))
    assert written(graph, "triton", task.tune[0])
    cases = screen_cases(task)
    for text in written(graph, "c", task.tune[0]):
        candidate, shapes = Candidate(text.text, text.name), shapes_of(cases, cases[0].dims)
        built = device.builder.build(task, candidate, with_defaults(device.builder, candidate), shapes)
        assert not isinstance(built, NotBuilt), (built.reason, built.log, text.text)
        with CaseTable(task, cases, os.urandom(32)) as table:
            verdict = Judge(device.rig.device).verify(built, table, "screen")
        if not isinstance(verdict, Passed):
            assert verdict.cause == "wrong-output", (verdict, formula.structure)
            assert verdict.max_ulp is not None
            assert verdict.max_ulp <= _NEAR * _budget(verdict.reason), (verdict, formula.structure)


def _budget(reason: str) -> float:
    return float(reason.rpartition("budget of ")[2])
