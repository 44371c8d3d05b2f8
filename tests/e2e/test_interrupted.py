"""Runs that are stopped in the middle: nothing that was finished is lost, nobody is left behind, and resume goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from kernellab.report.audit import audit

from .command import Klab, alive, offspring, wait_until
from .conftest import bodies

pytestmark = pytest.mark.backend_c
TRIALS = 5


def recorded_trials(folder: Path) -> int:
    path = folder / "ledger.jsonl"
    return path.read_bytes().count(b'"kind":"trial"') if path.exists() else 0


class Start(Protocol):
    def __call__(self, folder: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]: ...


@pytest.fixture
def start(klab: Klab, search: Callable[..., list[object]]) -> Iterator[Start]:
    """A run that is in the middle of its trials when it is handed out."""
    started: list[subprocess.Popen[str]] = []

    def begin(folder: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        process = klab.start(*search(folder, "good", trials=TRIALS), "--json", env=env)
        started.append(process)
        wait_until(lambda: recorded_trials(folder) >= 2 or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finish(klab: Klab, folder: Path, before: list[dict[str, object]]) -> None:
    """Resume brings the run to its end, with the same trials first."""
    done = klab("resume", folder, "--json")
    assert done.code in (0, 3, 7), done.err
    trials = bodies(folder, "trial")
    assert trials[: len(before)] == before
    assert [t["trial"] for t in trials] == list(range(TRIALS))
    report = audit(folder, done.json["ledger_root"])
    assert (report.problems, report.ended) == ([], True)


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("whole_group", [True, False], ids=["to the group, as Ctrl-C does", "to klab alone"])
def test_an_interrupted_run_says_how_to_go_on_and_goes_on(
    whole_group: bool, start: Start, klab: Klab, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    process = start(folder)
    children = offspring(process.pid)
    assert children
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert f"'klab resume {folder}' goes on" in err
    assert '"exit_code": 130' in out.splitlines()[-1]
    wait_until(lambda: not alive(children))
    before = bodies(folder, "trial")
    assert 2 <= len(before) < TRIALS
    assert audit(folder).problems == []
    assert not audit(folder).ended
    finish(klab, folder, before)


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_a_killed_run_loses_at_most_the_trial_in_flight(
    number: signal.Signals, start: Start, klab: Klab, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    process = start(folder)
    children = offspring(process.pid)
    finished = recorded_trials(folder)
    os.kill(process.pid, number)
    _, err = process.communicate()
    assert process.returncode == (-9 if number == signal.SIGKILL else 143)
    assert "Traceback" not in err
    wait_until(lambda: not alive(children))
    before = bodies(folder, "trial")
    assert finished <= len(before) < TRIALS
    assert audit(folder).problems == []
    finish(klab, folder, before)


@pytest.mark.slow
def test_a_run_killed_while_writing_a_line_goes_on_without_it(start: Start, klab: Klab, tmp_path: Path) -> None:
    """The torn line is made here: a kill rarely falls into one write."""
    folder = tmp_path / "run"
    process = start(folder)
    process.kill()
    process.communicate()
    before = bodies(folder, "trial")
    with (folder / "ledger.jsonl").open("ab") as file:
        file.write(b'{"body":{"trial":')
    assert audit(folder).torn
    assert klab("audit", folder, "--json").code == 0
    finish(klab, folder, before)
    (torn,) = folder.glob("ledger.torn-*")
    assert torn.read_bytes() == b'{"body":{"trial":'


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("tier", ["T1", "T2"])
def test_the_scratch_of_an_interrupted_run_is_not_left_in_the_temporary_folder(
    tier: str, start: Start, tmp_path: Path
) -> None:
    """A temporary folder of its own (other runs use the common one), which the jobs of T2 can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        process = start(tmp_path / "run", {"TMPDIR": place, "KLAB_SANDBOX": tier})
        os.kill(process.pid, signal.SIGINT)
        process.communicate()
        assert os.listdir(place) == []


def test_a_finished_run_resumes_to_the_same_result_and_adds_no_trial(klab: Klab, copied: Path) -> None:
    trials, results = bodies(copied, "trial"), bodies(copied, "result")
    again = klab("resume", copied, "--json")
    assert again.code in (0, 3, 7)
    assert bodies(copied, "trial") == trials
    assert bodies(copied, "result") == results
    assert again.json["speedup"] == results[0].get("speedup")
    assert audit(copied).problems == []


@pytest.mark.heavy
def test_more_trials_can_be_added_to_a_finished_run(klab: Klab, copied: Path) -> None:
    trials = bodies(copied, "trial")
    done = klab("resume", copied, "--more", 2, "--json")
    assert done.code in (0, 3, 7), done.err
    now = bodies(copied, "trial")
    assert now[: len(trials)] == trials
    assert [t["trial"] for t in now] == list(range(len(trials) + 2))
    report = audit(copied, done.json["ledger_root"])
    assert (report.problems, report.trials) == ([], len(trials) + 2)


@pytest.mark.heavy
def test_more_trials_after_a_single_verdict_are_refused_not_turned_into_a_search(
    klab: Klab, files: Path, tmp_path: Path
) -> None:
    done = klab(
        "verify", files / "good.py", "--task", files / "cube.py", "--shape", 4096, "--out", tmp_path / "run", "--json"
    )
    assert done.json["status"] == "passed"
    klab("resume", tmp_path / "run", "--more", 1, "--json").failed(2, "the trial of one candidate")
    assert len(bodies(tmp_path / "run", "trial")) == 1
