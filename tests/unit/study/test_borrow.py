"""Comparing with another run: of another machine or another build target, each once, and on the record."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import MeasuredTrial
from kernellab.report.audit import audit
from kernellab.run.device import machine_of, name_for
from kernellab.search.replay import read_trials
from kernellab.studies.borrow import described
from kernellab.studies.conduct import Report, run_study
from kernellab.studies.hypothesis import Hypothesis
from kernellab.studies.library import find, read
from kernellab.studies.mine.follow_up import as_toml
from kernellab.targets.cpu import CPU
from kernellab.tasks.load import load_task

from .small_studies import QUICK, Entries, Reports, body_of, resigned, tiny

pytestmark = pytest.mark.backend_c
OLDER, NEWER = ("x86-64", "x86-64-v2") if platform.machine() == "x86_64" else ("armv8-a", "armv8.2-a")
OLD, NEW = (QUICK.model_copy(update={"target": target}) for target in (OLDER, NEWER))
AWARE = '''"""Machine code that depends on what it is built for."""
SPACE = {"IDLE": [1, 2, 3]}
SOURCE = r"""
#include <math.h>
#if defined(__ARM_FEATURE_ATOMICS) || defined(__SSE4_2__)
#define FIRST 1
#else
#define FIRST 0
#endif
void softmax(const float *restrict x, float *restrict y, long m, long n) {
    for (long i = 0; i < m; i++, x += n, y += n) {
        float top = x[0], sum = 0;
        for (long j = FIRST; j < n; j++) top = x[j] > top ? x[j] : top;
        for (volatile long k = 0; k < IDLE; k++) {}
        for (long j = 0; j < n; j++) sum += y[j] = expf(x[j] - top);
        for (long j = 0; j < n; j++) y[j] /= sum;
    }
}
"""
def launch(x, y, IDLE=1):
    kernel("softmax")(x, y, *x.shape)
'''


def portable(folder: Path, **changes: Any) -> Path:
    """H5 at one shape and with three replicates."""
    content = read(find("H5")).content()
    population = {**content["population"][0], "tasks": ["softmax"], "shapes": ["16x128"], **changes}
    content |= {"population": [population], "seeds": [1, 2, 3], "sample": 3, "level": 0.75, "torch": False}
    path = folder / "H5.toml"
    path.write_text(as_toml(Hypothesis.model_validate(content)))
    return path


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Kernels built for an older processor of the family, which get other machine code for a newer one."""
    home = tmp_path_factory.mktemp("older")
    (home / "aware.py").write_text(AWARE)
    content = read(tiny("H3", home)).content()
    content["population"][0] |= {"candidates": ["aware.py"], "space": {}, "most": 3, "shapes": ["16x128"]}
    content["seeds"] = [1]
    path = home / "older.toml"
    path.write_text(as_toml(Hypothesis.model_validate(content)))
    return run_study(path, OLD, home / "run")


@pytest.fixture(scope="module")
def newer(older: Report, tmp_path_factory: pytest.TempPathFactory) -> Report:
    home = tmp_path_factory.mktemp("newer")
    return run_study(portable(home), NEW, home / "run", [older.folder])


def elsewhere(entries: Entries) -> None:
    entries[0][1]["environment"]["device"] = "Another processor"
    for kind, body in entries:
        if kind == "trial":
            body["device"] = "Another processor"


def test_one_device_is_not_enough(tmp_path: Path) -> None:
    alone = run_study(portable(tmp_path), QUICK, tmp_path / "alone")
    assert alone.verdict.verdict == "inconclusive"
    assert "not testable here: there is one device and one ledger" in alone.verdict.reason
    assert audit(tmp_path / "alone").ok


@pytest.mark.heavy
def test_a_kernel_of_another_machine_is_measured_here_in_every_replicate(reports: Reports, tmp_path: Path) -> None:
    other = resigned(reports["H3"], tmp_path / "other", elsewhere)
    both = run_study(portable(tmp_path), QUICK, tmp_path / "both", [other])
    assert both.verdict.parts[0].testable, both.verdict.reason
    assert "from Another processor" in both.verdict.reason
    trials = read_trials(both.folder)
    assert {t.seed for t in trials if t.trial in both.verdict.trials} == {1, 2, 3}
    assert both.verdict.n == len({t.artifact.id for t in trials if isinstance(t, MeasuredTrial)})
    assert audit(both.folder).ok


@pytest.mark.heavy(of="borrowed")
def test_another_target_on_this_machine_is_another_device(older: Report, newer: Report) -> None:
    part = newer.verdict.parts[0]
    assert (part.testable, part.n) == (True, 3), part.reason
    assert part.trials == list(range(9))
    trials = [t for t in read_trials(newer.folder) if isinstance(t, MeasuredTrial)]
    assert all(t.device.endswith(f"built for {NEWER}") for t in trials)
    assert all(f"-march={NEWER}" in t.artifact.flags for t in trials)
    assert machine_of(trials[0].device) == machine_of(described(older.folder).device)
    assert audit(newer.folder).ok


@pytest.mark.heavy
def test_naming_the_target_that_is_the_default_anyway_makes_no_other_device() -> None:
    names = []
    for target in ("", "native", "generic"):
        device = CPU.open(QUICK.model_copy(update={"target": target}), load_task("softmax"), torch=False)
        device.close()
        names.append(device.environment["device"])
    own, same, other = names
    assert own == same == machine_of(other)
    assert other == name_for(own, "generic")


@pytest.mark.slow
def test_the_same_machine_code_under_another_devices_name_is_not_counted(older: Report, tmp_path: Path) -> None:
    def renamed(entries: Entries) -> None:
        for _, body in entries:
            if "device" in body.get("environment", {}):
                body["environment"]["device"] += " once more"
            elif "timing" in body:
                body["device"] += " once more"

    other = resigned(older, tmp_path / "other", renamed)
    report = run_study(portable(tmp_path), OLD, tmp_path / "run", [other])
    assert report.verdict.verdict == "inconclusive"
    assert "every kernel is the same machine code there and here" in report.verdict.reason


@pytest.mark.heavy(of="borrowed")
def test_a_run_is_compared_with_once(older: Report, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    shutil.copytree(older.folder, copied)
    for other in (older.folder, copied):
        with pytest.raises(UsageError, match="is given twice"):
            run_study(portable(tmp_path), NEW, tmp_path / "run", [older.folder, other])
    assert not (tmp_path / "run").exists()


@pytest.mark.heavy(of="borrowed")
def test_a_ledger_that_was_changed_is_not_compared_with(older: Report, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(older.folder, other)
    text = (other / "ledger.jsonl").read_text()
    at = text.index('"candidate_s":[') + len('"candidate_s":[')
    (other / "ledger.jsonl").write_text(text[:at] + ("8" if text[at] == "9" else "9") + text[at + 1 :])
    with pytest.raises(LedgerFault, match="is not sound"):
        run_study(portable(tmp_path), NEW, tmp_path / "run", [other])
    assert not (tmp_path / "run").exists()


@pytest.mark.heavy(of="borrowed")
def test_another_run_must_have_something_to_compare_with(older: Report, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="on this same device"):
        run_study(portable(tmp_path), OLD, tmp_path / "run", [older.folder])
    with pytest.raises(UsageError, match="no measured trial"):
        run_study(portable(tmp_path, shapes=["16x64"]), NEW, tmp_path / "run", [older.folder])
    with pytest.raises(UsageError, match="compares with no other run"):
        run_study(tiny("H3", tmp_path), NEW, tmp_path / "run", [older.folder])
    assert not (tmp_path / "run").exists()


def _borrow_twice(entries: Entries) -> None:
    at = next(n for n, (kind, _) in enumerate(entries) if kind == "borrowed")
    entries.insert(at, entries[at])
    body_of(entries, "study")["loans"] += 1


def _borrow_from_elsewhere(entries: Entries) -> None:
    body_of(entries, "borrowed")["run"] = "0" * 16


def _borrow_at_another_root(entries: Entries) -> None:
    body_of(entries, "borrowed")["root"] = "0" * 64


def _borrow_of_another_device(entries: Entries) -> None:
    body_of(entries, "borrowed")["trial"]["device"] = "Another"


def _borrow_more_than_announced(entries: Entries) -> None:
    body_of(entries, "study")["loans"] -= 1


def _borrow_a_narrower_interval(entries: Entries) -> None:
    timing = body_of(entries, "borrowed")["trial"]["timing"]
    timing["speedup_low"] = timing["speedup"]


def _borrow_for_another_study(entries: Entries) -> None:
    body_of(entries, "borrowed")["study"] = "H6"


@pytest.mark.heavy(of="borrowed")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_borrow_twice, "a second time"),
        (_borrow_from_elsewhere, "was not registered with this root and device"),
        (_borrow_at_another_root, "was not registered with this root and device"),
        (_borrow_of_another_device, "was not registered with this root and device"),
        (_borrow_more_than_announced, "2 loans were registered, and 3 are there"),
        (_borrow_a_narrower_interval, "with a speed-up that its samples do not give"),
        (_borrow_for_another_study, "for another study, H6"),
    ],
)
def test_the_audit_holds_the_loans_against_the_registration(
    newer: Report, tmp_path: Path, change: Callable[[Entries], None], words: str
) -> None:
    problems = audit(resigned(newer, tmp_path / "run", change)).problems
    assert any(words in p for p in problems), problems
