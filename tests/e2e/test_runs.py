"""klab runs and klab prove as their users meet them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kernellab.ledger.check import check

from .command import Klab

RUNS = Path(__file__).parents[2] / "runs"
QUICK = RUNS / "h200-tuned" / "softmax-bf16-quick"


def copy(source: Path, to: Path) -> Path:
    """The record alone."""
    to.mkdir(parents=True)
    for file in ("ledger.jsonl", "heads.jsonl"):
        shutil.copy(source / file, to / file)
    return to


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a win, a run without one, and one that somebody changed."""
    folder = tmp_path_factory.mktemp("work")
    copy(RUNS / "h200-tuned" / "particle-filter", folder / "klab-runs" / "particles")
    copy(QUICK, folder / "klab-runs" / "softmax")
    changed = copy(RUNS / "h200" / "softmax-bf16-quick", folder / "klab-runs" / "changed") / "ledger.jsonl"
    changed.write_bytes(changed.read_bytes().replace(b'"win":true', b'"win":false'))
    return folder


def test_the_runs_of_a_folder_are_listed_and_a_changed_one_is_named(klab: Klab, here: Path) -> None:
    done = klab("runs", cwd=here)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].split()[:4] == ["klab-runs/particles", "particle_filter", "better", "1.233x"]
    assert "[1.155, 1.365] over triton-plain" in lines[0]
    assert lines[1].strip() == "24 trials, 2026-11-16 09:37, 16777216 on NVIDIA H200 (sm_90a, 132 SMs)"
    assert lines[2].split()[:3] == ["klab-runs/softmax", "softmax_bf16", "nothing-better"]
    assert lines[2].endswith("(no win)")
    assert lines[4].startswith("klab-runs/changed: not sound: entries ")
    assert lines[4].endswith("(klab audit klab-runs/changed says more)")
    data = klab("runs", "--json", cwd=here).json
    assert [row["task"] for row in data["runs"]] == ["particle_filter", "softmax_bf16"]
    assert [row["folder"] for row in data["unreadable"]] == ["klab-runs/changed"]
    assert data["runs"][0]["best"]["win"] is True


@pytest.mark.heavy
def test_runs_are_chosen_and_compared(klab: Klab, here: Path) -> None:
    assert "softmax" not in klab("runs", "klab-runs/particles", "klab-runs/softmax", "--wins", cwd=here).out
    assert klab("runs", "klab-runs/softmax", "--status", "better", cwd=here).out == "no run fits\n"
    done = klab("runs", "--compare", QUICK, RUNS / "h200" / "softmax-bf16-quick", env={"COLUMNS": "200"})
    assert done.code == 0, done.err
    row = next(line for line in done.out.splitlines() if line.startswith("softmax_bf16 M=16384,N=4096"))
    assert "0.991x [0.982, 0.998] over triton-rows[num_warps=8] (no win)" in row
    assert "1.114x [1.106, 1.124] over triton-tutorial" in row


def test_what_cannot_be_listed_or_compared_is_refused_in_words(klab: Klab, here: Path, tmp_path: Path) -> None:
    klab("runs", tmp_path / "none", "--json").failed(2, "there is no folder")
    klab("runs", tmp_path, "--json").failed(2, "there are no runs in")
    klab("runs", "klab-runs/softmax", "--compare", cwd=here).failed(2, "nothing to compare")


@pytest.mark.heavy
def test_a_proof_is_written_and_holds_without_the_ledger(klab: Klab, here: Path, tmp_path: Path) -> None:
    run = here / "klab-runs" / "particles"
    number = json.loads(klab("runs", run, "--json").out)["runs"][0]["best"]["trial"]
    done = klab("prove", run, number, cwd=tmp_path)
    assert done.code == 0, done.err
    path = tmp_path / f"particles-trial-{number}.proof.json"
    assert f"wrote {path.name}: trial {number} of run {check(run).run}" in done.out
    assert check(run).root in done.out
    held = klab("prove", "--check", path, "--key", check(run).fingerprint)
    assert held.code == 0, held.out
    assert "the proof holds" in held.out
    assert "1.233x" in held.out or "1.23x" in held.out
    assert f"signed by key {check(run).fingerprint} (pinned)" in held.out
    data = klab("prove", "--check", path, "--json").json
    assert (data["status"], data["trial"], data["ledger_root"]) == ("ok", number, check(run).root)
    assert (data["problems"], data["pinned"]) == ([], False)


def test_an_edited_proof_and_a_foreign_key_are_refused(klab: Klab, here: Path, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    assert klab("prove", here / "klab-runs" / "softmax", 0, "--out", path, "--json").json["status"] == "written"
    edited = tmp_path / "edited.json"
    edited.write_text(path.read_text().replace('\\"trial\\":0', '\\"trial\\":1'))
    done = klab("prove", "--check", edited)
    assert done.code == 5
    assert "the proof does NOT hold" in done.out
    assert "does not lead to the signed root: the entry or its path was edited" in done.out
    foreign = klab("prove", "--check", path, "--key", "0" * 16, "--json")
    assert (foreign.code, foreign.json["status"]) == (5, "failed")
    assert "not by the pinned key" in foreign.json["problems"][0]


def test_what_cannot_be_proven_is_refused_in_words(klab: Klab, here: Path, tmp_path: Path) -> None:
    klab("prove", here / "klab-runs" / "softmax", 99, "--json").failed(2, "has no trial 99")
    klab("prove", here / "klab-runs" / "changed", 0).failed(5, "is not sound")
    klab("prove", here / "klab-runs" / "softmax").failed(2, "a proof needs one run and one trial")
    klab("prove", here, 0, "--check", tmp_path / "x.json").failed(2, "--check takes a proof and nothing else")
    (tmp_path / "x.json").write_text("{}")
    klab("prove", "--check", tmp_path / "x.json").failed(2, "is no proof")
