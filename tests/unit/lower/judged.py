"""Generated C in the sandbox, like anybody's kernel: built, and judged at its edge shapes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from tests.unit.tasks.modules import graphs

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.records import Param
from kernellab.core.settings import Settings
from kernellab.graph.live import capture_object
from kernellab.graph.record import GraphRecord
from kernellab.lower.tensors import Written
from kernellab.propose.recipe import with_defaults
from kernellab.targets.base import DeviceSetup, platform
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.spec import Task
from kernellab.verdict.cases import CaseTable, screen_cases, shapes_of
from kernellab.verdict.judge import Judge


def _any(x: Any) -> Any:
    return x + 1


def task_of(record: GraphRecord) -> Task:
    return module_task(graphs.module_record(record, Wishes()))


@contextmanager
def processor() -> Iterator[DeviceSetup]:
    opened = platform("cpu").open(
        Settings(effort="quick"), task_of(capture_object(_any, (torch.rand(3, 5),), "any")), torch=False
    )
    try:
        yield opened
    finally:
        opened.close()


def assert_passes(device: DeviceSetup, task: Task, text: Written, params: dict[str, Param] | None = None) -> None:
    """At the first choice of every parameter that is not given."""
    candidate, cases = Candidate(text.text, text.name), screen_cases(task)
    chosen = with_defaults(device.builder, candidate, params)
    built = device.builder.build(task, candidate, chosen, shapes_of(cases, cases[0].dims))
    assert not isinstance(built, NotBuilt), (built.reason, built.log, text.text)
    with CaseTable(task, cases, os.urandom(32)) as table:
        verdict = Judge(device.rig.device).verify(built, table, "screen")
    assert verdict.status == "passed", (verdict, text.text)
