"""Second looks in a real run: what a tool says is recorded, overrules a verdict, and the ledger still passes its audit."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from kernellab.build.base import Candidate
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.ledger.journal import read_entries
from kernellab.report.audit import audit
from kernellab.report.results import results_page
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.outcome import Outcome
from kernellab.search.verify import PURPOSE, judge_run
from kernellab.targets.base import Sanitizer
from kernellab.targets.cpu import CPU, CpuPlatform
from kernellab.tasks.load import load_task
from kernellab.verdict import sanitize

pytestmark = pytest.mark.backend_c
DIMS = {"N": 4096}
TOOL = """#!/bin/sh
case "$*" in
*memcheck*) printf '========= COMPUTE-SANITIZER\\n========= Invalid __global__ read of size 4 bytes\\n'
            printf '=========     at cube(float *)+0x70\\n========= ERROR SUMMARY: 3 errors\\n'; exit $FOUND;;
*racecheck*) printf '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\\n';;
*) printf '========= ERROR SUMMARY: 0 errors\\n';;
esac
"""


class Watched(CpuPlatform):
    """The processor, looked at by a GPU's tool: the tests' own, or none."""

    def sanitizer(self) -> Sanitizer:
        return sanitize


def tried(task_file: Path, folder: Path) -> Outcome:
    """One candidate judged, then looked at by whatever is called compute-sanitizer; the device plays no part in that."""
    settings = Settings(effort="quick", sample_s=0.0001, device="cpu")
    candidate = Candidate(task_file.read_text(), "cube")
    with OpenTask(settings, load_task(str(task_file)), str(task_file)) as opened:
        opened.platform = Watched(**{f.name: getattr(CPU, f.name) for f in fields(CPU)})
        with ExperimentRun.start(opened, folder, [DIMS], [candidate], PURPOSE, {"STEP": 1, "BAD": 0}) as run:
            return judge_run(run, DIMS, candidate, {"STEP": 1, "BAD": 0}, sanitized=True)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "compute-sanitizer"
    program.parent.mkdir()
    program.write_text(TOOL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


@pytest.mark.heavy
def test_a_finding_overrules_the_verdict(
    task_file: Path, tmp_path: Path, tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOUND", "9")
    outcome = tried(task_file, tmp_path / "run")
    assert (outcome.status, outcome.exit_code) == ("nothing-verified", 4)
    assert "memcheck in cube: Invalid __global__ read of size 4 bytes (3 errors)" in outcome.data()["reason"]
    assert outcome.data()["sanitizer"]["findings"][0]["kernel"] == "cube"
    assert outcome.data()["speedup"] is None
    kinds = [e.kind for e in read_entries(tmp_path / "run")]
    assert kinds[-4:] == ["result", "sanitizer", "result", "end"]
    (body,) = [e.body for e in read_entries(tmp_path / "run") if e.kind == "sanitizer"]
    assert len(body["artifact"]) == 64
    assert body["tools"] == ["memcheck", "racecheck", "initcheck"]
    assert not list((tmp_path / "run").glob("best-*"))
    report = audit(tmp_path / "run")
    assert report.ok, report.problems
    page = results_page([tmp_path / "run"]).text
    assert "| memcheck | cube | Invalid __global__ read of size 4 bytes | 3 |" in page
    assert "| racecheck |  | nothing found | 0 |" in page
    assert "nothing-verified" in page


@pytest.mark.slow
def test_nothing_found_leaves_the_verdict_alone(task_file: Path, tmp_path: Path, tool: Path) -> None:
    tool.write_text(TOOL.replace("*memcheck*", "*none-such*"))
    outcome = tried(task_file, tmp_path / "run")
    assert outcome.exit_code in (0, 3, 7)
    assert outcome.data()["sanitizer"]["findings"] == []
    assert [e.kind for e in read_entries(tmp_path / "run")][-3:] == ["result", "sanitizer", "end"]
    assert audit(tmp_path / "run").ok


def test_without_the_tool_the_verdict_stands_and_it_is_said(
    task_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if Path("/usr/local/cuda/bin/compute-sanitizer").exists():
        pytest.skip("this machine has one")
    outcome = tried(task_file, tmp_path / "run")
    assert outcome.exit_code in (0, 3, 7)
    assert outcome.data()["sanitizer"].startswith("not available: there is no compute-sanitizer")
    (body,) = [e.body for e in read_entries(tmp_path / "run") if e.kind == "sanitizer"]
    assert (body["tools"], body["findings"]) == ([], [])
    assert audit(tmp_path / "run").ok
    assert "compute-sanitizer not available" in results_page([tmp_path / "run"]).text
