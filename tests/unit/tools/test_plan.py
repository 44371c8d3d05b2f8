"""plan.json: read strictly, and everything that can be checked is checked before anything runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.run import driver
from kernellab.tools.execute import execute
from kernellab.tools.plan import CompileStep, place, read_plan
from kernellab.tools.quota import memory_gb

COMPILE = {"tool": "compile", "id": "a", "file": "k.py", "spec": {"task": "softmax"}}
GOOD: dict[str, Any] = {
    "runner": "local_sandbox", "environment": "", "device": "cpu", "inputs": ["k.py"], "artifact_dir": "work/",
    "quotas": {"timeout_s": 60, "vram_gb": 0.5, "threads": 1},
    "steps": [COMPILE, {"tool": "verify", "artifact": "$a"}, {"tool": "benchmark", "artifact": "$a", "shapes": ["512x512"]}],
}  # fmt: skip


def written(folder: Path, plan: dict[str, Any] | str) -> Path:
    (folder / "work").mkdir(exist_ok=True)
    (folder / "work" / "k.py").write_text("SOURCE = ''\n")
    path = folder / "plan.json"
    path.write_text(plan if isinstance(plan, str) else json.dumps(plan))
    return path


def step(**changes: Any) -> dict[str, Any]:
    return {**GOOD, "steps": [{k: v for k, v in {**COMPILE, **changes}.items() if v is not None}]}


def test_reads_a_good_plan_and_finds_its_folder(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    plan = read_plan(path)
    assert isinstance(plan.steps[0], CompileStep)
    assert place(plan, path) == tmp_path / "work"


def test_the_seeds_name_for_the_environment_is_understood(tmp_path: Path) -> None:
    renamed = {**{k: v for k, v in GOOD.items() if k != "environment"}, "image": "0" * 64}
    assert read_plan(written(tmp_path, renamed)).environment == "0" * 64


@pytest.mark.parametrize(
    ("plan", "what", "fix"),
    [
        ("", "not JSON", "example"),
        ("[1]", "not a JSON object", "example"),
        ('{"runner": "local_sandbox", "runner": "x"}', "'runner' is given twice", ""),
        ('{"quotas": {"timeout_s": NaN}}', "NaN is no JSON number", ""),
        ("[" * 100_000, "not JSON", ""),
        ({**GOOD, "artefact_dir": "x"}, "no 'artefact_dir'", "did you mean 'artifact_dir'"),
        ({**GOOD, "gpu": "H100"}, "no 'gpu'", "did you mean 'device'"),
        ({**GOOD, "image": ""}, "no 'image'", "known:"),
        ({**GOOD, "runner": "docker"}, "'runner'", "known:"),
        ({**GOOD, "device": "tpu"}, "'device'", "known:"),
        ({**GOOD, "environment": "latest"}, "'environment'", ""),
        ({k: v for k, v in GOOD.items() if k != "steps"}, "'steps' is missing", "known:"),
        ({**GOOD, "steps": []}, "'steps'", ""),
        ({**GOOD, "quotas": {"timeout_s": "90"}}, "'quotas.timeout_s'", "vram_gb"),
        ({**GOOD, "quotas": {"timeout_s": -1}}, "'quotas.timeout_s'", "vram_gb"),
        ({**GOOD, "quotas": {"vram": 1}}, "no 'quotas.vram'", "did you mean 'vram_gb'"),
        ({**GOOD, "inputs": ["../k.py"]}, "stays inside", ""),
        ({**GOOD, "inputs": ["/etc/passwd"]}, "stays inside", ""),
        ({**GOOD, "inputs": [""]}, "stays inside", ""),
        ({**GOOD, "artifact_dir": "../elsewhere"}, "stays inside", ""),
        ({**GOOD, "artifact_dir": "~/x"}, "stays inside", ""),
        (step(tool="rm"), "'steps.0'", ""),
        (step(tool=None), "'steps.0'", ""),
        (step(flgas=["-O3"]), "'steps.0.compile.flgas'", "did you mean 'flags'"),
        (step(spec={"task": "softmax", "dtipe": "f32"}), "spec.dtipe'", "did you mean 'dtype'"),
        (step(src="x"), "and not both", ""),
        (step(file=None), "give src", ""),
        (step(spec=None), "spec is missing", ""),
        (step(file="other.py"), "none of the inputs", ""),
        (step(id="a b"), "'steps.0.compile.id'", ""),
        ({**GOOD, "steps": [COMPILE, COMPILE]}, "two steps are called 'a'", ""),
        ({**GOOD, "steps": [{"tool": "verify", "artifact": "$a"}, COMPILE]}, "refers to '$a'", ""),
    ],
)  # fmt: skip
def test_refuses_by_name(tmp_path: Path, plan: dict[str, Any] | str, what: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_plan(written(tmp_path, plan))
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.fix


def test_a_plan_that_is_not_there_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_plan(tmp_path / "none.json")
    with pytest.raises(UsageError, match="larger than"):
        read_plan(written(tmp_path, " " * (3 << 20)))


@pytest.mark.parametrize("linked", ["work", "work/k.py"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, linked: str) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (outside / "k.py").write_text("")
    path = written(home, GOOD)
    (home / "work" / "k.py").unlink()
    if linked == "work":
        (home / "work").rmdir()
        (home / "work").symlink_to(outside)
    else:
        (home / "work" / "k.py").symlink_to(outside / "k.py")
    with pytest.raises(UsageError, match="leads out"):
        place(read_plan(path), path)


def test_an_input_that_is_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    (tmp_path / "work" / "k.py").unlink()
    with pytest.raises(UsageError, match="there is no input"):
        place(read_plan(path), path)


@pytest.mark.parametrize(
    ("quotas", "figure"),
    [({"vram_gb": 1e6}, f"{memory_gb('cpu'):.1f} GB"), ({"threads": 1000}, f"has: {len(os.sched_getaffinity(0))}")],
)
def test_a_quota_above_the_machine_is_refused_with_the_machines_figure(
    tmp_path: Path, quotas: Any, figure: str
) -> None:
    with pytest.raises(UsageError, match=figure):
        execute(written(tmp_path, {**GOOD, "quotas": quotas}), {})
    assert sorted(p.name for p in (tmp_path / "work").iterdir()) == ["k.py"]


@pytest.mark.skipif(driver.present(), reason="a GPU answers here")
def test_a_plan_for_a_gpu_needs_one(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="none answers here"):
        execute(written(tmp_path, {**GOOD, "device": "cuda"}), {})


@pytest.mark.backend_c
def test_another_environment_is_refused_and_nothing_is_written(tmp_path: Path, own_home: None) -> None:
    with pytest.raises(EnvironmentFault, match="the plan is for environment 00000000"):
        execute(written(tmp_path, {**GOOD, "environment": "0" * 64}), {})
    assert sorted(p.name for p in (tmp_path / "work").iterdir()) == ["k.py"]


@pytest.mark.backend_c
def test_a_plan_cannot_name_a_task_file(tmp_path: Path, own_home: None) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('run!')")
    with pytest.raises(UsageError, match="there is no task"):
        execute(written(tmp_path, step(spec={"task": str(tmp_path / "evil.py")})), {})
