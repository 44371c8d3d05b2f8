"""Generated C, built and judged in the sandbox like anybody's kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

from tests.unit.lower.graphs import SUBJECTS, record_of
from tests.unit.tasks.modules import graphs

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.settings import Settings
from kernellab.lower.candidates import written
from kernellab.propose.recipe import with_defaults
from kernellab.targets.base import DeviceSetup, platform
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.task import module_task
from kernellab.verdict.cases import CaseTable, screen_cases, shapes_of
from kernellab.verdict.judge import Judge

FORMS = {
    "shares": ["row", "nest"], "columns": ["nest", "lanes"], "window": ["nest", "lanes"], "chain": ["tile", "row", "nest", "lanes"],
    "sent": ["send", "nest", "lanes"], "counted": ["send", "nest", "lanes"], "sent_rows": ["send", "nest", "lanes"], "attended": ["tile", "row", "nest", "lanes"], "running": ["nest", "lanes"],
    "running_down": ["nest", "lanes"],
}  # fmt: skip
"""In which ways; `nest` alone elsewhere."""


@pytest.fixture(scope="module")
def device() -> Iterator[DeviceSetup]:
    task = module_task(graphs.module_record(record_of("rows"), Wishes()))
    opened = platform("cpu").open(Settings(effort="quick"), task, torch=False)
    yield opened
    opened.close()


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_form_passes_every_case(name: str, device: DeviceSetup) -> None:
    record = record_of(name)
    task = module_task(graphs.module_record(record, Wishes()))
    found = written(record, "c", task.tune[0])
    assert [w.name.removesuffix(f"_{name}") for w in found] == FORMS.get(name, ["nest"])
    cases = screen_cases(task)
    for text in found:
        candidate, shapes = Candidate(text.text, text.name), shapes_of(cases, cases[0].dims)
        built = device.builder.build(task, candidate, with_defaults(device.builder, candidate), shapes)
        assert not isinstance(built, NotBuilt), (built.reason, built.log, text.text)
        with CaseTable(task, cases, os.urandom(32)) as table:
            verdict = Judge(device.rig.device).verify(built, table, "screen")
        assert verdict.status == "passed", (verdict, text.text)
