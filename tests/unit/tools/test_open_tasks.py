"""The task that stays open between verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab import tools
from kernellab.core.events import Event
from kernellab.core.settings import Settings
from kernellab.report.audit import audit
from kernellab.tasks.load import load_task
from kernellab.tools import ToolContext
from kernellab.tools.open_tasks import OpenTasks
from kernellab.tools.records import Compiled, Refused, Verified

from .conftest import GOOD, SPEC

pytestmark = pytest.mark.backend_c


@pytest.mark.heavy
def test_the_same_task_stays_open_and_another_one_closes_it(task_file: Path) -> None:
    tasks, settings, events = OpenTasks(), Settings(effort="quick", device="cpu"), list[Event]()
    task = load_task(str(task_file)).on("cpu")
    first = tasks.open(settings, task, str(task_file), events.append)
    assert tasks.open(settings, task, str(task_file), events.append) is first
    other = tasks.open(settings.model_copy(update={"seed": 9}), task, str(task_file), events.append)
    assert other is not first
    tasks.close()
    tasks.close()


def test_inputs_are_drawn_anew_after_a_number_of_verdicts() -> None:
    tasks = OpenTasks()
    seeds = [tasks.inputs({"N": 8}) for _ in range(40)]
    assert len(set(seeds)) == 3
    assert tasks.inputs({"N": 9}) not in seeds


@pytest.mark.heavy
def test_verdicts_in_one_session_are_right_whatever_came_before(context: ToolContext, artifact: Compiled) -> None:
    wrong = tools.compile(GOOD.replace("= 2 *", "= 2.001 *"), spec=SPEC, context=context)
    assert isinstance(wrong, Compiled)
    found = [tools.verify(a, context=context) for a in (artifact.artifact, wrong.artifact, artifact.artifact)]
    assert [type(f) for f in found] == [Verified, Refused, Verified]
    assert [f.trial for f in found] == list(range(found[0].trial or 0, (found[0].trial or 0) + 3))
    assert len({f.folder for f in found}) == 1
    assert audit(Path(found[0].folder), found[2].ledger_root).problems == []
