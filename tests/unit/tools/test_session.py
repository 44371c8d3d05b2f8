"""A session: one ledger for all calls, whatever task, effort or order they have; read by the ids that the tools gave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernellab import tools
from kernellab.core.errors import UsageError
from kernellab.ledger.run import Run
from kernellab.ledger.session_records import SESSION_PART
from kernellab.report.audit import audit
from kernellab.search.replay import replay_trial
from kernellab.search.runs import resume_run
from kernellab.tools import Spec, ToolContext, Workspace
from kernellab.tools.calls import read_call
from kernellab.tools.records import Benchmarked, BestList, Compiled, Exemplars, Explanation, Refused, Verified

from .conftest import GOOD, SPEC, TINY

pytestmark = pytest.mark.backend_c
SHIFT = GOOD.replace("cube", "shift").replace("2 * (x[i] * x[i] * x[i])", "x[i] + 1").replace("Twice the", "A")


@pytest.fixture(scope="module")
def work(task_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolContext]:
    other = tmp_path_factory.mktemp("other") / "shift.py"
    text = task_file.read_text().partition("SOURCE")[0].partition("SPACE")[0].partition("FLAGS")[0]
    text = text.replace('name="cube"', 'name="shift"').replace("2 * x ** 3", "x + 1")
    other.write_text(text.replace("np.float32(2) * (x * x * x)", "x + np.float32(1)"))
    files = {"cube": str(task_file), "shift": str(other)}
    context = ToolContext(Workspace(tmp_path_factory.mktemp("session") / "work"), files, TINY)
    yield context
    context.workspace.close()


def made(work: ToolContext, text: str, spec: Spec = SPEC) -> str:
    found = tools.compile(text, spec=spec, context=work)
    assert isinstance(found, Compiled), found
    return found.artifact


def test_one_ledger_holds_every_call_and_the_memory_names_them_as_the_tools_did(work: ToolContext) -> None:
    with pytest.raises(UsageError, match="in this session yet"):
        read_call("explain", {}).run(work)
    good, wrong = made(work, GOOD), made(work, GOOD.replace("= 2 *", "= 3 *"))
    other = made(work, SHIFT, Spec(task="shift", shape="4096"))
    judged = [tools.verify(artifact, context=work) for artifact in (good, wrong, other)]
    timed = tools.benchmark(good, context=work)
    assert [type(v) for v in judged] == [Verified, Refused, Verified]
    assert isinstance(timed, Benchmarked)
    (row,) = timed.rows
    assert [v.trial for v in (*judged, row)] == [0, 1, 2, 3]
    (folder,) = {v.folder for v in (*judged, row)}
    assert audit(Path(folder), row.ledger_root).problems == []
    earlier = audit(Path(folder), judged[0].ledger_root)
    assert earlier.problems == []
    assert any("the session went on after that root was written down" in r for r in earlier.remarks)
    assert any("the ledger was cut, continued or exchanged" in p for p in audit(Path(folder), "00" * 32).problems)
    run = Run(Path(folder))
    assert [part.task.name for part in run.records(SESSION_PART)] == ["shift", "cube"]
    assert [run.calls[n].artifact for n in range(4)] == [good, wrong, other, good]

    told = read_call("explain", {"id": wrong}).run(work)
    assert isinstance(told, Explanation)
    assert (told.trial, told.artifact, told.status) == (1, wrong, "rejected")
    chosen = read_call("contrastive_select", {"n": 4}).run(work)
    assert isinstance(chosen, Exemplars)
    assert {c.artifact for c in chosen.chosen} <= {good, wrong}
    best = read_call("best", {}).run(work)
    assert isinstance(best, BestList)
    assert [r.artifact for r in best.rows] in ([good], [])  # nothing is claimed on a busy machine


def test_a_trial_of_the_second_task_is_done_again_with_that_task(work: ToolContext) -> None:
    folder = work.workspace.session.folder
    assert folder is not None
    again = replay_trial(folder, 2)
    assert (again["status"], again["agrees"], again["same_machine_code"]) == ("verified", True, True)


def test_a_changed_copy_of_a_later_task_is_found(work: ToolContext) -> None:
    folder = work.workspace.session.folder
    assert folder is not None
    (copy,) = [folder / part.file for part in Run(folder).records(SESSION_PART) if part.task.name == "shift"]
    text = copy.read_text()
    copy.write_text(text + "\n")
    assert any("its bytes are not those that the run began with" in p for p in audit(folder).problems)
    copy.write_text(text)


def test_a_session_that_is_closed_has_ended_and_is_not_resumed(work: ToolContext) -> None:
    folder = work.workspace.session.folder
    assert folder is not None
    work.workspace.close()
    report = audit(folder)
    assert (report.problems, report.ended) == ([], True)
    with pytest.raises(UsageError, match="holds the session of an agent"):
        resume_run(folder)
    next_one = tools.verify(made(work, GOOD), context=work)
    assert Path(next_one.folder) != folder
