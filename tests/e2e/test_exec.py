"""klab exec: a plan from its first step to its results, and what it is told when it asks for too much."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernellab.report.audit import audit

from .command import Klab
from .conftest import CANDIDATES, bodies

pytestmark = pytest.mark.backend_c
COMPILE = {"tool": "compile", "id": "made", "file": "good.py", "spec": {"task": "cube"}, "params": {"PAD": 3}}
PLAN: dict[str, Any] = {
    "runner": "local_sandbox", "environment": "", "device": "cpu", "inputs": ["good.py"], "artifact_dir": "work",
    "quotas": {"timeout_s": 110, "vram_gb": 0.1, "threads": 1},
    "steps": [
        COMPILE,
        {"tool": "verify", "id": "judged", "artifact": "$made", "tol": 4},
        {"tool": "benchmark", "artifact": "$made", "shapes": ["N=8192"], "repeats": 41},
        {"tool": "contrastive_select", "db": "$judged", "n": 2, "scheme": "bucket", "tau": 0.1},
    ],
}  # fmt: skip


def write(folder: Path, plan: dict[str, Any], *names: str) -> Path:
    (folder / "work").mkdir(exist_ok=True)
    for name in names or ("good",):
        (folder / "work" / f"{name}.py").write_text(CANDIDATES[name])
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    return path


@pytest.mark.heavy
def test_a_good_plan_runs_its_tools_in_order_and_keeps_everything_in_its_folder(
    klab: Klab, files: Path, tmp_path: Path
) -> None:
    done = klab("exec", write(tmp_path, PLAN), "--task", files / "cube.py", "--json")
    assert done.code in (0, 3, 7), done.err
    data = done.json
    assert [s["tool"] for s in data["steps"]] == ["compile", "verify", "benchmark", "contrastive_select"]
    made, judged, timed, chosen = data["steps"]
    assert made["params"] == {"PAD": 3}
    assert bodies(Path(judged["folder"]), "trial")[0]["proposal"]["name"] == "good"
    assert (judged["status"], judged["tol"], judged["artifact"]) == ("passed", 4, made["artifact"])
    assert timed["rows"][0]["shape"] == "N=8192"
    assert chosen["run"] == Path(judged["folder"]).name
    assert json.loads((tmp_path / "work" / "results.json").read_text()) == data
    for row in (judged, timed["rows"][0]):
        folder = Path(row["folder"])
        assert folder.is_relative_to(tmp_path / "work")
        assert audit(folder, row["ledger_root"]).problems == []
        assert bodies(folder, "trial")[0]["environment"] == data["environment"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan.json", "work"]


@pytest.mark.slow
def test_a_plan_ends_at_the_step_that_comes_to_nothing(klab: Klab, files: Path, tmp_path: Path) -> None:
    plan = {
        **PLAN,
        "inputs": ["wrong.py"],
        "steps": [{**COMPILE, "file": "wrong.py", "params": {}}, *PLAN["steps"][1:]],
    }
    done = klab("exec", write(tmp_path, plan, "wrong"), "--task", files / "cube.py")
    assert done.code == 4, done.err
    assert "rejected" in done.out
    assert "wrong-output" in done.out
    data = json.loads((tmp_path / "work" / "results.json").read_text())
    assert (data["status"], len(data["steps"]), data["not_run"]) == ("nothing-verified", 2, 2)


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"artefact_dir": "x"}, 2, ("no 'artefact_dir'", "did you mean 'artifact_dir'")),
        ({"quotas": {"vram_gb": 1e5}}, 2, ("above what this machine has", "GB")),
        ({"environment": "ab" * 32}, 5, ("the plan is for environment",)),
    ],
)
def test_refuses_with_a_remedy_and_writes_nothing(
    klab: Klab, files: Path, tmp_path: Path, changes: dict[str, Any], code: int, words: tuple[str, ...]
) -> None:
    done = klab("exec", write(tmp_path, {**PLAN, **changes}), "--task", files / "cube.py", "--json")
    done.failed(code, *words)
    assert done.json["exit_code"] == code
    assert [p.name for p in (tmp_path / "work").iterdir()] == ["good.py"]


def test_the_quota_of_seconds_ends_a_plan(klab: Klab, files: Path, tmp_path: Path) -> None:
    done = klab("exec", write(tmp_path, {**PLAN, "quotas": {"timeout_s": 0.01}}), "--task", files / "cube.py", "--json")
    assert done.code == 5, done.err
    assert done.json["steps"][-1]["status"] == "out-of-time"
    assert done.json["not_run"] >= 2
