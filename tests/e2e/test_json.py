"""What programs read: one JSON object on the last line of every command, and exit codes that fit it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from .command import Klab
from .conftest import SHAPE, Recorded, bodies

pytestmark = pytest.mark.backend_c
KEYS = {"status", "reason", "trust", "tier", "max_abs_err", "max_ulp", "speedup", "speedup_low", "speedup_high", "baseline",
        "of_floor", "trial", "ledger_root"}  # fmt: skip


def test_a_run_ends_with_its_headline_figures_and_the_exit_code_fits(recorded: Recorded) -> None:
    data = recorded.done.json
    assert data.keys() >= KEYS
    assert (data["status"], recorded.done.code) in {("better", 0), ("nothing-better", 3), ("busy", 7)}
    assert data["trust"] == "native"
    assert data["tier"] in ("T1", "T2", "T3")
    assert data["speedup_low"] <= data["speedup"] <= data["speedup_high"]
    assert data["baseline"] == "numpy"
    assert 0 < data["of_floor"] < 1.25
    assert data["max_abs_err"] >= 0
    assert data["max_ulp"] >= 0
    assert len(data["ledger_root"]) == 64
    assert recorded.trials[data["trial"]]["status"] == "measured"


def test_json_is_the_only_thing_on_standard_output(recorded: Recorded) -> None:
    assert len(recorded.done.out.splitlines()) == 1
    assert recorded.done.err == ""


def test_the_headline_is_the_recorded_confirmation(recorded: Recorded) -> None:
    data = recorded.done.json
    (confirmation,) = [c for c in bodies(recorded.folder, "confirmation") if c["trial"] == data["trial"]]
    for name in ("speedup", "speedup_low", "speedup_high", "of_floor", "latency_s"):
        assert data[name] == confirmation["timing"][name]
    assert data["max_ulp"] == confirmation["verdict"]["max_ulp"]


@pytest.fixture(scope="module")
def judged(klab: Klab, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[object, Path]]:
    def judge(command: str, name: str) -> tuple[object, Path]:
        out = tmp_path_factory.mktemp("judged") / name
        return klab(command, files / f"{name}.py", "--task", files / "cube.py", "--shape", SHAPE, "--effort", "quick",
                    "--out", out, "--json"), out  # fmt: skip

    return judge


@pytest.mark.heavy
def test_a_correct_kernel_passes_even_when_it_is_slower_than_the_baseline(
    judged: Callable[..., tuple[object, Path]],
) -> None:
    done, _ = judged("verify", "slow")
    assert done.json.keys() >= KEYS
    assert (done.code, done.json["status"]) == (0, "passed")
    assert done.json["speedup"] is None
    assert done.json["reason"].endswith("nothing was timed")


@pytest.mark.heavy
def test_a_wrong_kernel_is_rejected_with_the_reason(judged: Callable[..., tuple[object, Path]]) -> None:
    done, folder = judged("verify", "wrong")
    assert done.json.keys() >= KEYS
    assert (done.code, done.json["status"]) == (4, "rejected")
    assert "wrong-output" in done.json["reason"]
    assert done.json["speedup"] is None
    assert bodies(folder, "trial")[0]["status"] == "rejected"


@pytest.mark.slow
def test_measuring_a_slow_kernel_finds_nothing_better(judged: Callable[..., tuple[object, Path]]) -> None:
    done, _ = judged("bench", "slow")
    assert done.json.keys() >= KEYS
    assert (done.code, done.json["status"]) == (3, "nothing-better")


@pytest.mark.heavy
def test_a_parameter_of_the_candidate_can_be_set_and_is_recorded(klab: Klab, files: Path, tmp_path: Path) -> None:
    done = klab(
        "verify",
        files / "good.py",
        "--task",
        files / "cube.py",
        "--shape",
        SHAPE,
        "--param",
        "PAD=7",
        "--out",
        tmp_path / "run",
        "--json",
    )
    assert done.code == 0
    assert bodies(tmp_path / "run", "trial")[0]["proposal"]["params"] == {"PAD": 7}


def test_show_gives_the_run_and_each_trial_with_its_source(klab: Klab, recorded: Recorded) -> None:
    shown = klab("show", recorded.folder, "--json")
    assert shown.code == 0
    assert [t["status"] for t in shown.json["trials"]] == [t["status"] for t in recorded.trials]
    assert shown.json["ledger_root"] == recorded.done.json["ledger_root"]
    number = recorded.trial("rejected")
    one = klab("show", recorded.folder, "--trial", number, "--json")
    assert one.json["trial"]["verdict"]["cause"] == "wrong-output"
    assert "3 * (x[i]" in one.json["source"]
    klab("show", recorded.folder, "--trial", 99, "--json").failed(2, "no trial 99")


def test_an_audit_names_the_root_that_the_run_printed(klab: Klab, recorded: Recorded) -> None:
    done = klab("audit", recorded.folder, "--json", "--root", recorded.done.json["ledger_root"])
    assert (done.code, done.json["status"], done.json["problems"]) == (0, "ok", [])
    assert done.json["ledger_root"] == recorded.done.json["ledger_root"]
    assert done.json["trials"] == 5
    assert done.json["figures"] > 20


def test_tasks_and_init_and_version(klab: Klab, tmp_path: Path) -> None:
    listed = klab("tasks", "--json")
    assert listed.code == 0
    assert "softmax" in {t["name"] for t in listed.json["tasks"]}
    made = klab("init", "mine", "--json", cwd=tmp_path)
    assert (made.code, made.json) == (0, {"status": "written", "file": "mine.py"})
    assert klab("--version").out.startswith("kernellab ")


@pytest.mark.heavy
def test_the_doctor_blocks_every_attack_on_this_machine(klab: Klab) -> None:
    done = klab("doctor", "--json")
    data = done.json
    assert (done.code, data["status"]) == (0, "ok"), [a for a in data["attacks"] if not a["blocked"]]
    assert data["tiers"][data["tier"]] == "available"
    assert data["succeeded"] == 0
    assert data["blocked"] > 20


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "softmax", "--trials", "many"], ["run", "softmax", "--nonsense"], ["verify", "missing.py", "--task", "softmax"],
     ["bench", "missing.py", "--task", "softmax"], ["show", "nowhere"], ["audit", "nowhere"], ["replay", "nowhere", "0"],
     ["resume", "nowhere"], ["init", "not a name"], ["doctor", "--sandbox", "T9"], ["run", "softmax", "--effort", "heroic"],
     ["verify", "good.py", "--task", "cube.py", "--param", "PAD"], ["doctor", "--cheats", "nowhere"], ["nonsense"]],
    ids=" ".join,
)  # fmt: skip
def test_a_wrong_call_is_an_error_in_words_and_in_json(klab: Klab, files: Path, arguments: list[str]) -> None:
    done = klab(*arguments, "--json", cwd=files).failed(2)
    assert done.json["status"] == "error"
    assert done.json["exit_code"] == 2
    assert done.json["reason"]
    assert done.json["fix"]


def test_a_number_in_json_is_never_nan(recorded: Recorded) -> None:
    assert all(math.isfinite(v) for v in recorded.done.json.values() if isinstance(v, float))
