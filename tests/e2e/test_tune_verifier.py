"""klab tune-verifier as a person uses it: real processes, a real server, budgets, kill -9, and bad input."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernellab.ledger.journal import Ledger, check
from kernellab.ledger.keys import SigningKey
from kernellab.propose.prompts import Opinion
from kernellab.search.soft import SOFT, Look, Looked
from kernellab.search.soft.labelled import Labelled, LabelledSet, read_labelled
from kernellab.search.soft.look import Said
from support.model_server import ModelServer
from support.oracle import Errors, Oracle, rewrite

from .command import KLAB, Klab

pytest.importorskip("openai", reason="the extra 'llm' is not installed")
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "runs" / "labelled"
MOST = 8
CALLS = 4 * MOST + 1


def skill(prompt: str, trial: Labelled) -> Errors:
    return Errors(0.1, 0.1) if "follow every sum" in prompt else Errors(0.5, 0.4)


@pytest.fixture(scope="module")
def labelled() -> LabelledSet:
    return read_labelled(FOLDER)


@pytest.fixture
def server(labelled: LabelledSet) -> Iterator[ModelServer]:
    with ModelServer(Oracle(labelled, skill, [rewrite("Please follow every sum.")])) as opened:
        yield opened


class Tuner:
    """klab with a model's key in its environment; `command` and `environ` are for a process of one's own."""

    def __init__(self, klab: Klab) -> None:
        self._klab = klab
        self._key = {"KLAB_MODEL_KEY": "sk-secret-4711-abcdef"}
        self.environ = klab.with_({**self._key, "COLUMNS": "120"})

    def command(self, *arguments: str) -> list[str]:
        return [KLAB, "tune-verifier", *arguments]

    def __call__(self, *arguments: str, verb: str = "tune-verifier") -> tuple[int, dict[str, Any]]:
        done = self._klab(verb, *arguments, "--json", env=self._key)
        assert "Traceback" not in done.err, done.err
        return done.code, done.json


@pytest.fixture
def tuner(klab: Klab) -> Tuner:
    return Tuner(klab)


def asked(server: ModelServer, out: Path, *more: str) -> list[str]:
    return [
        str(FOLDER),
        "--model",
        f"openai:m@{server.url}",
        "--rounds",
        "1",
        "--most",
        str(MOST),
        "--out",
        str(out),
        *more,
    ]


@pytest.mark.heavy
def test_a_prompt_is_improved_within_its_budget_and_reported(tuner: Tuner, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, stopped = tuner(*asked(server, out, "--budget-calls", "15"))
    assert (code, stopped["status"]) == (5, "stopped")
    assert "budget of 15 calls" in stopped["reason"]
    assert f"--resume {out}" in stopped["fix"]
    assert server.calls == 15
    code, better = tuner(str(out), verb="resume")
    assert (code, better["status"]) == (0, "better")
    assert server.calls == CALLS
    assert better["after"]["test"]["balanced_accuracy"] > better["before"]["test"]["balanced_accuracy"]
    assert "follow every sum" in (Path(better["templates"]) / "soft_numerics.j2").read_text()
    code, report = tuner("--report", str(out))
    assert (code, report["after"]) == (0, better["after"])
    code, audited = tuner(str(out), verb="audit")
    assert (code, audited["problems"], audited["ended"]) == (0, [], True)
    assert server.calls == CALLS
    for file in out.rglob("*"):
        assert not file.is_file() or b"sk-secret-4711" not in file.read_bytes(), file


@pytest.mark.heavy
def test_a_tuning_killed_again_and_again_loses_nothing_and_pays_for_nothing_it_has(
    tuner: Tuner, server: ModelServer, tmp_path: Path
) -> None:
    out, jobs, kills = tmp_path / "run", 2, 0
    command = tuner.command(*asked(server, out, "--jobs", str(jobs)))
    for goal in (3, 14, 26):
        process = subprocess.Popen(command, env=tuner.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while server.calls < goal + kills * jobs and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        command = tuner.command("--resume", str(out))
    code, better = tuner("--resume", str(out))
    assert (code, better["status"]) == (0, "better")
    assert CALLS <= server.calls <= CALLS + kills * jobs  # a call in flight when it was killed may have been paid
    assert better["spent"]["calls"] >= server.calls
    assert not check(out).problems


def looked(p_fail: float, params: dict[str, Any]) -> Looked:
    opinion = Opinion(verdict="fail" if p_fail > 0.5 else "pass", confidence=max(p_fail, 1 - p_fail))
    answer = Said(kind="soft_memory", call=0, request="r", opinion=opinion)
    flagged = p_fail > 0.8
    look = Look(answers=(answer,), p_fail=p_fail, skip_above=0.8, audit_share=0.1, audited=flagged, skip=False)
    return Looked(source="ab" * 32, params=params, look=look)


@pytest.mark.heavy
def test_the_report_of_a_run_is_a_table_for_people_and_json_for_programs(tuner: Tuner, tmp_path: Path) -> None:
    trial = {"trial": 0, "task": "t", "dims": {}, "tier": "T1", "seed": 0, "device": "", "environment": "", "wall_s": 2.5,
             "status": "build-failed", "reason": "no", "proposal": {"source": "ab" * 32, "name": "n", "params": {"A": 1}}}  # fmt: skip
    with Ledger.create(tmp_path / "run", {"purpose": "search"}, SigningKey.generate()) as ledger:
        ledger.write(SOFT, looked(0.9, {"A": 1}))
        ledger.append("trial", trial)
        ledger.write(SOFT, looked(0.1, {"A": 2}))
    code, report = tuner("--report", str(tmp_path / "run"))
    assert code == 0
    assert report["combined"]["precision"]["value"] == 1.0
    assert (report["looks"], report["tried"], report["hardware_s"]) == (2, 1, 2.5)
    shown = subprocess.run(
        tuner.command("--report", str(tmp_path / "run")), env=tuner.environ, capture_output=True, text=True
    )
    assert shown.returncode == 0
    for word in (
        "soft_memory",
        "together",
        "precision",
        "1.000 [0.025, 1.000] of 1",
        "hardware time saved 0.0 s of 2.5 s",
    ):
        assert word in shown.stdout


def test_bad_input_is_a_clear_error_for_programs_too(tuner: Tuner, tmp_path: Path) -> None:
    code, error = tuner(str(FOLDER), "--model", "nonsense", "--out", str(tmp_path / "run"))
    assert (code, error["status"]) == (2, "error")
    assert "names no model" in error["reason"]
    assert error["fix"]
    assert not (tmp_path / "run").exists()
