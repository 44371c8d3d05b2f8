"""What is published from a GPU holds anywhere: the ledgers pass their audit, and the page of results is made from them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .command import Klab

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "runs" / "h200-tuned"
ORDER = ("softmax-bf16", "stencil3x3", "stencil5x5", "particle-filter", "softmax-bf16-quick")
OLDER = sorted(folder.name for folder in (ROOT / "runs" / "h200").iterdir())
"""Of the first format: one process a confirmation, baselines not tuned. Not on the page, and as sound as ever."""

STUDIES = {"H1": "rejected", "H3": "confirmed", "K1": "inconclusive"}


def test_every_published_run_is_on_the_page() -> None:
    assert {folder.name for folder in RUNS.iterdir()} == set(ORDER)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ORDER)
def test_a_published_run_passes_its_audit_without_a_gpu(name: str, klab: Klab) -> None:
    done = klab("audit", RUNS / name, "--json")
    assert done.code == 0, done.out
    assert done.json["status"] == "ok"
    assert done.json["ended"]
    assert done.json["figures"] > 100
    root = done.json["ledger_root"]
    assert root in (ROOT / "docs" / "results-h200.md").read_text()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", OLDER)
def test_an_older_run_passes_its_audit_too(name: str, klab: Klab) -> None:
    done = klab("audit", ROOT / "runs" / "h200" / name, "--json")
    assert (done.code, done.json["status"], done.json["ended"]) == (0, "ok", True), done.out


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "verdict"), STUDIES.items())
def test_a_published_study_gets_its_verdict_again(name: str, verdict: str, klab: Klab) -> None:
    folder = ROOT / "runs" / "h200-studies" / name
    done = klab("audit", folder, "--json")
    assert (done.code, done.json["status"], done.json["ended"]) == (0, "ok", True), done.out
    assert klab("study", "show", folder, "--json").json["status"] == verdict
    assert done.json["ledger_root"] in (ROOT / "docs" / "studies.md").read_text()


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", ["lab-cpu", "h200-lab", "h200-lab-later", "h200-lab-sample", "h200-lab-more", "h200-lab-products"]
)
def test_a_published_suite_passes_its_audit_and_is_what_the_page_says(name: str, klab: Klab, tmp_path: Path) -> None:
    folder, section = ROOT / "runs" / name, tmp_path / "section.md"
    assert klab("audit", folder).code == 0
    assert klab("suite", "report", folder, "--markdown", section).code == 0
    assert section.read_text() in (ROOT / "docs" / "results-suites.md").read_text()


def test_the_page_of_results_is_made_from_the_ledgers(klab: Klab, tmp_path: Path) -> None:
    page = tmp_path / "results-h200.md"
    done = klab("results", *(RUNS / name for name in ORDER), "--out", page, "--title", "Results on one NVIDIA H200")
    assert done.code == 0, done.out
    assert page.read_text() == (ROOT / "docs" / "results-h200.md").read_text()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("level", "name"), [(1, "results-kernelbench-h200.md"), (2, "results-kernelbench-level2-h200.md")]
)
def test_the_page_of_kernelbench_is_made_from_the_ledgers(level: int, name: str, klab: Klab, tmp_path: Path) -> None:
    page, runs = tmp_path / name, sorted((ROOT / "runs" / f"h200-level{level}").iterdir())
    done = klab("results", *runs, "--out", page, "--title", f"KernelBench level {level} on one NVIDIA H200")
    assert done.code == 0, done.out
    assert page.read_text() == (ROOT / "docs" / name).read_text()


def test_a_changed_sample_in_a_published_ledger_is_found(klab: Klab, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(RUNS / "particle-filter", copy)
    ledger = copy / "ledger.jsonl"
    text = ledger.read_text()
    at = text.index('"candidate_s":[') + len('"candidate_s":[')
    ledger.write_text(text[:at] + "1" + text[at + 1 :])
    assert klab("audit", copy).code == 5
