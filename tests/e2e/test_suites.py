"""klab suite as people meet it: a folder of small modules checked, run, killed in the middle, resumed, audited, reported."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.unit.suite.problems import KERNEL, plain, write

from .command import Done, Klab, alive, offspring, wait_until

pytest.importorskip("torch")
pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tiny") / "tiny", "1_scaled", "2_sorted", "4_missing")


@pytest.fixture(scope="module")
def arguments(problems: Path, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    kernels = tmp_path_factory.mktemp("kernels")
    (kernels / "1_scaled.py").write_text(KERNEL)
    return [
        "suite",
        "run",
        "--path",
        problems,
        "--candidates",
        kernels,
        "--device",
        "cpu",
        "--effort",
        "quick",
        "--trials",
        1,
    ]


@pytest.fixture(scope="module")
def killed_and_resumed(
    klab: Klab, arguments: list[object], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Done]:
    """A suite that was killed with kill -9 while its first task was running, and gone on with by the same command."""
    folder = tmp_path_factory.mktemp("suites") / "killed"
    first = folder / "runs" / "1_scaled" / "ledger.jsonl"
    process = klab.start(*arguments, "--out", folder, "--json")
    wait_until(lambda: (first.exists() and b"calibration" in first.read_bytes()) or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    family = offspring(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not alive(family))
    assert klab("audit", folder, "--json").json["ended"] is False
    return folder, klab(*arguments, "--out", folder, "--json")


@pytest.mark.heavy(of="killed suite")
def test_a_killed_suite_leaves_nobody_behind_and_is_brought_to_its_end(
    klab: Klab, killed_and_resumed: tuple[Path, Done]
) -> None:
    folder, done = killed_and_resumed
    assert done.code in (0, 3, 7), done.err
    outcomes = {t["task"]: t["outcome"] for t in done.json["tasks"]}
    assert outcomes.pop("1_scaled") in ("better", "nothing-better", "busy")
    assert outcomes == {"2_sorted": "no-candidates", "4_missing": "refused"}
    assert (done.json["status"], done.json["left"]) == ("ended", [])
    found = klab("audit", folder, "--root", done.json["ledger_root"], "--json")
    assert (found.code, found.json["problems"], sorted(found.json["runs"])) == (0, [], ["1_scaled", "2_sorted"])
    again = klab("resume", folder, "--json")
    assert (again.code, again.json["ledger_root"]) == (done.code, done.json["ledger_root"])


@pytest.mark.slow
def test_an_interrupted_suite_says_how_to_go_on_with_all_of_it(
    klab: Klab, arguments: list[object], tmp_path: Path
) -> None:
    folder = tmp_path / "suite"
    process = klab.start(*arguments, "--out", folder)
    wait_until(lambda: (folder / "runs" / "1_scaled" / "ledger.jsonl").exists() or process.poll() is not None)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert f"'klab resume {folder}' goes on from there" in err


@pytest.mark.heavy(of="killed suite")
def test_a_report_is_written_as_table_csv_and_page(
    klab: Klab, killed_and_resumed: tuple[Path, Done], tmp_path: Path
) -> None:
    folder, _ = killed_and_resumed
    forms = [option for f in ("csv", "html", "markdown") for option in (f"--{f}", tmp_path / f"r.{f}")]
    done = klab("suite", "report", folder, *forms)
    assert done.code == 0, done.err
    for words in ("fast_1.5", "no win counts as 1.0", "refused: 4_missing: broken", "1_scaled", "no-candidates"):
        assert words in done.out
    rows = list(csv.DictReader((tmp_path / "r.csv").open()))
    assert [r["task"] for r in rows] == ["1_scaled", "2_sorted", "4_missing"]
    assert "1_scaled" in (tmp_path / "r.html").read_text()
    assert "\n| 1_scaled | " in (tmp_path / "r.markdown").read_text()
    data = klab("suite", "report", folder, "--json").json
    assert (data["score"]["tasks"], len(data["tasks"])) == (2, 3)
    both = klab("suite", "report", folder, folder, "--json").json
    assert both["change"]["value"] == 1.0


@pytest.mark.heavy(of="killed suite")
def test_a_changed_suite_fails_its_audit_and_has_no_report(
    klab: Klab, killed_and_resumed: tuple[Path, Done], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(killed_and_resumed[0], tmp_path / "copy"))
    shutil.rmtree(copy / "runs" / "1_scaled")
    shutil.copytree(copy / "runs" / "2_sorted", copy / "runs" / "1_scaled")
    found = klab("audit", copy)
    assert found.code == 5
    assert "it was exchanged" in found.out
    klab("suite", "report", copy).failed(5, "does not pass its audit")


@pytest.mark.slow
def test_a_check_gives_a_row_for_every_problem_whatever_it_is(klab: Klab, problems: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(problems, tmp_path / "own"))
    (own / "5_prints.py").write_text("print('{')\n" + plain("torch.tanh(x)"))
    done = klab("suite", "check", "--path", own, "--device", "cpu", "--csv", tmp_path / "c.csv", "--json")
    assert done.code == 0, done.err
    classes = {p["name"]: p["class"] for p in done.json["problems"]}
    assert classes == {"1_scaled": "ok", "2_sorted": "ok", "4_missing": "broken", "5_prints": "ok"}
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    assert [(r["problem"], r["class"]) for r in rows] == list(classes.items())
    assert "No module named 'not_there'" in rows[2]["evidence"]


@pytest.mark.heavy
def test_bad_input_is_a_clear_line_each(klab: Klab, problems: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    run = Path(__file__).parents[2] / "runs" / "h200" / "softmax-bf16"
    copy = Path(shutil.copytree(run, tmp_path / "ordinary"))
    for arguments, words in [
        (["check", "--path", tmp_path / "empty"], "there are no problems in"),
        (["check", "--path", tmp_path / "absent"], "there is no folder"),
        (["check", "--path", problems / "1_scaled.py"], "is a file, not a folder of problems"),
        (["check", "--path", problems, "--tasks", "77"], "the suite has no task '77'"),
        (["check"], "give a suite by its name"),
        (["check", "moon"], "there is no suite 'moon'"),
        (["run", "--path", problems, "--out", copy], "holds a run of another kind"),
        (["run", "--path", problems, "--candidates", tmp_path / "absent"], "there is no folder"),
        (["run", "--path", problems, "--precision", "f8"], "there is no precision 'f8'"),
        (["report", copy], "holds a run of another kind"),
        (["report", tmp_path / "absent"], "there is no run folder"),
    ]:
        klab("suite", *arguments).failed(2, words)
    klab("suite", "report", tmp_path / "empty").failed(2, "holds no ledger")


def test_the_tasks_of_a_suite_are_listed_without_running_them(klab: Klab, problems: Path) -> None:
    lab = klab("tasks", "--suite", "lab", "--json").json
    assert {"name", "about", "locator"} == set(lab["tasks"][0])
    assert "lab:rms_norm-f32" in [t["locator"] for t in lab["tasks"]]
    listed = klab("tasks", "--path", problems)
    assert "1_scaled   Rows times a gain." in listed.out
    assert json.dumps("4_missing") in klab("tasks", "--path", problems, "--json").out
