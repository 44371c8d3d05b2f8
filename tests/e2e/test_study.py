"""klab study and klab analyse as their users meet them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import Klab
from .conftest import bodies

pytestmark = pytest.mark.backend_c
MINE = """
id = "cubes"
title = "Work costs time"
claim = "Leaving the idle loop out is faster."
sample = 3
seeds = [1, 2, 3]
level = 0.75
[[population]]
device = "cpu"
tasks = ["cube.py"]
shapes = ["4096"]
candidates = ["idle.py"]
space = { PAD = [1] }
[[part]]
name = "effect"
prediction = "the best without the loop is at least 1.2 times as fast as the best with it"
statistic = "advantage-of-set"
options = { param = "WORK", predicted = [0] }
rule = { side = "at-least", bound = 1.2 }
"""
IDLE = '''"""Twice the cube, and some idling."""
FLAGS = ["-O3"]
SPACE = {"WORK": [0, 40], "PAD": list(range(1, 17))}
SOURCE = r"""
const int pad = PAD;
void cube(const float *restrict x, float *restrict y, long n) {
    for (long i = 0; i < n; i++) y[i] = 2 * (x[i] * x[i] * x[i]);
    for (volatile long k = 0; k < n * WORK; k++) {}
}
"""

def launch(x, y, WORK=0, PAD=1):
    kernel("cube")(x, y, x.size)
'''


@pytest.fixture(scope="module")
def study(files: Path) -> Path:
    (files / "idle.py").write_text(IDLE)
    path = files / "cubes.toml"
    path.write_text(MINE)
    return path


@pytest.mark.heavy
def test_a_hypothesis_of_ones_own_from_file_to_verdict(klab: Klab, study: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = klab("study", "run", study, "--out", run, "--device", "cpu", "--json")
    verdict = done.json["status"]
    assert (verdict, done.code) in (("confirmed", 0), ("inconclusive", 4)), (
        done.err
    )  # too busy a machine measures too little
    if verdict == "confirmed":
        assert done.json["low"] > 1.2
        assert done.json["trials"] == [0, 1, 2, 3, 4, 5]
    assert [b["id"] for b in bodies(run, "study")] == ["cubes"]
    assert klab("audit", run, "--json").json["status"] == "ok"
    assert klab("resume", run, "--json").json["ledger_root"] == done.json["ledger_root"]
    shown = klab("study", "show", run)
    assert f"cubes {verdict}" in shown.out
    assert f"cubes {verdict}" in klab("show", run).out
    changed = study.with_name("changed.toml")
    changed.write_text(MINE.replace("bound = 1.2", "bound = 1.1"))
    klab("study", "run", changed, "--out", run).failed(2, "was changed after", "rule.bound: registered 1.2, now 1.1")
    assert klab("study", "list", run, "--json").json["studies"] == [
        {"run": str(run), "id": "cubes", "verdict": verdict}
    ]
    ledger = run / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"bound":1.2', b'"bound":0.5'))
    assert "NOT SOUND" not in shown.out
    assert "NOT SOUND" in klab("study", "show", run).out
    assert klab("study", "show", run, "--json").json["status"] == "unsound"


@pytest.mark.heavy
def test_list_show_and_new(klab: Klab, tmp_path: Path) -> None:
    listed = klab("study", "list", "--json").json
    assert {"H1", "H2", "H3", "H5", "K1", "K2"} <= {h["id"] for h in listed["hypotheses"]}
    assert "transfer-loss" in listed["statistics"]
    assert "at most 0.2" not in klab("study", "show", "H1").out
    assert klab("study", "new", "mine", cwd=tmp_path).code == 0
    klab("study", "new", "mine", cwd=tmp_path).failed(2, "exists already")
    for name, words in (("\u00e9", "cannot name"), ("_", "cannot name"), ("none/mine", "there is no folder")):
        klab("study", "new", name, cwd=tmp_path).failed(2, words)
    (tmp_path / "mine.toml").write_text((tmp_path / "mine.toml").read_text().replace("sample", "sampel"))
    klab("study", "run", "mine.toml", cwd=tmp_path).failed(2, "unknown key 'sampel'")


def _searched(klab: Klab, study: Path, run: Path) -> int:
    """How many kernels of an exhaustive run were measured: all 32, or fewer where other work kept the machine busy."""
    done = klab("run", study.with_name("cube.py"), "--shape", "4096", "--candidate", study.with_name("idle.py"),
                "--effort", "quick", "--sampler", "exhaustive", "--trials", 32, "--out", run, "--json")  # fmt: skip
    assert done.code in (0, 3, 7), done.err
    return sum(b["status"] == "measured" for b in bodies(run, "trial"))


@pytest.mark.slow
def test_what_a_run_shows_is_mined_and_followed_up(klab: Klab, study: Path, tmp_path: Path) -> None:
    out = tmp_path / "analysis"
    runs = [tmp_path / f"run{k}" for k in range(4)]
    run = next((r for r in runs if _searched(klab, study, r) >= 24), None)
    if run is None:  # four times too busy: then nothing may be claimed beyond what was measured
        counted = klab("analyse", runs[0], "--json").json
        assert counted["kernels"] < 24
        return
    done = klab("analyse", run, "--follow-up", "--most", 1, "--out", out, "--device", "cpu", "--json")
    insight = done.json["insights"][0]
    assert (insight["factor"]["name"], insight["faster"], insight["slower"]) == ("WORK", 0, 40)
    assert insight["n"] >= 6
    assert insight["p_adjusted"] < 0.05
    followed = done.json["follow_ups"][0]["status"]
    assert (followed, done.code) in (("confirmed", 0), ("inconclusive", 4)), done.err
    assert klab("audit", out / "F1").code == 0
    assert json.loads((out / "insights.json").read_text())["insights"][0]["claim"] == insight["claim"]
    plain = klab("analyse", run)
    assert "WORK 0 is" in plain.out


def test_a_run_without_a_pattern_says_so(klab: Klab, recorded: object, copied: Path) -> None:
    done = klab("analyse", copied)
    assert done.code == 0
    assert "no pattern has enough evidence" in done.out
    klab("analyse", copied / "nowhere").failed(2, "no run folder")
    ledger = copied / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"status":"measured"', b'"status":"measurex"', 1))
    klab("analyse", copied).failed(5, "is not sound")
