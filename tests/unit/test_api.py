"""optimize(), verify() and measure(): the same chain and the same data as the command line's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.softmax_run import softmax_run

import kernellab
from kernellab import api
from kernellab.core.errors import TaskRefused, UsageError
from kernellab.core.events import Event
from kernellab.ledger.journal import read_entries
from kernellab.report.audit import audit
from kernellab.search.outcome import Outcome

pytestmark = pytest.mark.backend_c
KEYS = {"status", "reason", "trust", "tier", "max_abs_err", "max_ulp", "speedup", "speedup_low", "speedup_high", "baseline",
        "of_floor", "trial", "ledger_root", "run", "shapes"}  # fmt: skip
TINY: dict[str, Any] = {"effort": "quick", "sample_s": 0.0003, "cache": False}


def first(folder: Path, kind: str) -> dict[str, Any]:
    return dict(next(e.body for e in read_entries(folder) if e.kind == kind))


@pytest.fixture(scope="module")
def found(task_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, list[Event]]:
    events: list[Event] = []
    out = tmp_path_factory.mktemp("api") / "run"
    outcome = api.optimize(
        str(task_file), shapes=[{"N": 4096}], out=out, listener=events.append, trials=2, seed=7, threads=1, **TINY
    )
    return outcome, events


@pytest.mark.heavy
def test_optimize_returns_what_the_command_prints(found: tuple[Outcome, list[Event]]) -> None:
    outcome, events = found
    data = outcome.data()
    assert data.keys() >= KEYS
    assert (outcome.status, outcome.exit_code) in {("better", 0), ("nothing-better", 3), ("busy", 7)}
    assert data["status"] == outcome.status
    assert data["dims"] == {"N": 4096}
    assert data["speedup_low"] <= data["speedup"] <= data["speedup_high"]
    assert events[-1].data == data
    assert audit(outcome.folder, outcome.ledger_root).problems == []
    settings = first(outcome.folder, "run")["settings"]
    assert {k: settings[k] for k in ("trials", "seed", "sample_s", "cache", "effort")} == {
        "trials": 2, "seed": 7, "sample_s": 0.0003, "cache": False, "effort": "quick",
    }  # fmt: skip


def test_settings_are_keywords_and_are_recorded(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = first(softmax_run(tmp_path_factory)[0], "run")["settings"]
    assert {k: settings[k] for k in ("trials", "sampler", "sample_s", "device", "effort")} == {
        "trials": 8, "sampler": "exhaustive", "sample_s": 0.0001, "device": "cpu", "effort": "quick",
    }  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("judge", [api.verify, api.measure], ids=["verify", "measure"])
def test_one_file_is_judged_with_its_parameters(judge: Any, task_file: Path, tmp_path: Path) -> None:
    outcome = judge(task_file, str(task_file), shape="4096", params={"STEP": 2, "BAD": 0}, out=tmp_path / "run", **TINY)
    assert isinstance(outcome, Outcome)
    assert outcome.data().keys() >= KEYS
    assert outcome.status in ("better", "nothing-better", "busy", "verified")
    assert first(tmp_path / "run", "trial")["proposal"]["params"] == {"STEP": 2, "BAD": 0}
    assert first(tmp_path / "run", "trial")["proposal"]["origin"] == "user"


@pytest.mark.heavy
def test_a_wrong_file_is_an_outcome_not_an_exception(task_file: Path, tmp_path: Path) -> None:
    outcome = api.verify(
        str(task_file), str(task_file), shape={"N": 4096}, params={"BAD": 1}, out=tmp_path / "run", **TINY
    )
    assert (outcome.status, outcome.exit_code) == ("nothing-verified", 4)
    assert "wrong-output" in outcome.data()["reason"]
    assert outcome.data()["speedup"] is None


@pytest.mark.heavy
def test_verify_is_quick_unless_told_otherwise(task_file: Path, tmp_path: Path) -> None:
    api.verify(task_file, str(task_file), shape="4096", params={"BAD": 1}, out=tmp_path / "run", sample_s=0.0001)
    assert first(tmp_path / "run", "run")["settings"]["effort"] == "quick"


@pytest.mark.parametrize(
    "wrong",
    [{"effort": "heroic"}, {"threads": 0}, {"trials": -1}, {"sampler": "guess"}, {"sandbox": "T9"}, {"nonsense": 1}, {"device": "tpu"},
     {"compiler": "no-such-cc"}, {"shapes": ["3x3"]}, {"shapes": [{"M": 3}]}, {"shapes": [{"N": 0}]}, {"candidates": ["absent.py"]}],
    ids=str,
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_a_usage_error_with_a_fix(
    wrong: dict[str, Any], task_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        api.optimize(str(task_file), out=tmp_path / "run", **wrong)
    assert caught.value.what
    assert caught.value.fix
    assert not (tmp_path / "run").exists()


def test_an_unknown_task_and_a_refused_one(own_home: None, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no task 'sofmax'"):
        api.optimize("sofmax", out=tmp_path / "run")
    (tmp_path / "task.py").write_text("TASK = 1\n")
    with pytest.raises(TaskRefused, match="defines no TASK"):
        api.verify("def launch(x, y):\n    pass\n", str(tmp_path / "task.py"), shape="3")


def test_what_can_be_told_at_once_is_told_before_a_module_is_captured(own_home: None, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("TASK = 1\n")
    with pytest.raises(UsageError, match="setting 'effort'"):
        api.optimize(str(tmp_path / "task.py"), effort="heroic")
    for verb in (api.verify, api.measure):
        with pytest.raises(UsageError, match=r"absent\.py cannot be read: No such file or directory"):
            verb(str(tmp_path / "absent.py"), str(tmp_path / "task.py"))


def test_one_shape_need_not_be_in_a_list(task_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'3x3' is not a shape"):
        api.optimize(str(task_file), shapes="3x3", out=tmp_path / "run")


@pytest.mark.parametrize("verb", ["optimize", "verify", "measure"])
def test_the_package_gives_its_verbs_whatever_was_imported_before(verb: str) -> None:
    """verify and measure are folders of the package as well: those must not hide the verbs."""
    import kernellab.measurement.bench
    import kernellab.verdict.judge

    with pytest.raises(UsageError, match="no task 'sofmax'"):
        getattr(kernellab, verb)(*(["sofmax"] if verb == "optimize" else [__file__, "sofmax"]))


def test_the_api_is_five_verbs_and_a_decorator() -> None:
    assert set(kernellab.__all__) == {"__version__", "measure", "optimize", "paper", "study", "task", "verify"}
    with pytest.raises(AttributeError, match="no attribute 'paper_writer'"):
        _ = kernellab.paper_writer


@pytest.mark.heavy
def test_a_verdict_on_a_built_in_task_loads_nothing_that_only_modules_and_gpus_need() -> None:
    code = "import sys, kernellab.api, kernellab.search.verify, kernellab.build.c\nprint(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    needless = ("torch", "kernellab.graph.capture", "kernellab.graph.ops.table", "kernellab.tasks.suites",
                "kernellab.tasks.modules.importing", "kernellab.build.cubin", "kernellab.cli")  # fmt: skip
    assert {"kernellab.verdict.judge", "kernellab.tasks.oracle"} <= loaded
    assert loaded.isdisjoint(needless)
