"""Rechecks in a laboratory: built, judged and measured again. On a small task, whose judging takes a second."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.cube_run import cube_run

from kernellab.certify.certificate import Certificate
from kernellab.certify.issue import certify
from kernellab.certify.recheck import Recheck, recheck
from kernellab.core.ids import digest
from kernellab.core.records import Confirmation
from kernellab.ledger.journal import read_entries
from kernellab.ledger.records import Environment

from .conftest import resigned

pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory: pytest.TempPathFactory) -> int:
    entries = read_entries(cube_run(tmp_path_factory))
    bodies = (Confirmation.model_validate(e.body) for e in entries if e.kind == "confirmation")
    return next(c.trial for c in bodies if c.timing is not None)


@pytest.fixture
def copied(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    return Path(shutil.copytree(cube_run(tmp_path_factory), tmp_path / "run"))


def told_as(copied: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The run as if it had been made so, its trials on that machine."""
    place: dict[str, str] = {}

    def changed(kind: str, body: dict[str, Any]) -> None:
        if kind == "run":
            change(body)
            facts = Environment.model_validate(body["environment"]).facts
            facts.pop("digest", "")
            body["environment"]["digest"] = digest(facts)
            place.update(device=facts["device"], environment=digest(facts))
        elif kind == "trial":
            body.update(place)

    return resigned(copied, changed)


def statuses(report: Recheck) -> dict[str, str]:
    return {f.part: f.status for f in report.findings}


@pytest.mark.heavy
def test_everything_is_looked_at_again_on_the_same_machine(issued: tuple[Certificate, Path]) -> None:
    report = recheck(issued[1])
    found = statuses(report)
    for part in ("signature", "records", "task", "anchor", "device", "environment", "build", "verdict"):
        assert found[part] == "same", report.findings
    assert found["timing"] in ("same", "drifted", "failed")  # the machine's business
    assert report.verdict == ("slower" if found["timing"] == "failed" else "holds")
    assert report.exit_code == (3 if found["timing"] == "failed" else 0)
    assert report.data()["max_ulp"] <= issued[0].accuracy.budget_ulp


def test_on_another_device_the_kernel_is_judged_and_its_speed_is_not(copied: Path, confirmed: int) -> None:
    def elsewhere(body: dict[str, Any]) -> None:
        body["environment"] |= {"device": "Another CPU", "compiler": "cc 1.0"}
        body["environment"]["packages"]["numpy"] = "1.0"

    report = recheck(certify(told_as(copied, elsewhere), confirmed)[1])
    found = statuses(report)
    assert (found["device"], found["compiler"], found["numpy"]) == ("drifted", "drifted", "drifted")
    assert (found["verdict"], found["timing"]) == ("same", "unchecked")
    assert (report.verdict, report.exit_code) == ("unchecked", 5)  # nothing is said to hold that was not looked at
    assert set(report.data()["drifted"]) == {"device", "compiler", "numpy"}


@pytest.mark.heavy
@pytest.mark.parametrize("target", ["native", "generic"])
def test_what_was_built_for_a_named_target_is_built_for_it_again_and_measured(
    target: str, copied: Path, confirmed: int
) -> None:
    def aimed(body: dict[str, Any]) -> None:
        body["settings"]["target"] = target
        body["environment"]["device"] += f", built for {target}"

    report = recheck(certify(told_as(copied, aimed), confirmed)[1])
    found = statuses(report)
    assert (found["device"], found["verdict"]) == ("same", "same"), report.findings
    assert found["timing"] != "unchecked"
    (device,) = (f.detail for f in report.findings if f.part == "device")
    assert device.endswith("built for generic") == (target == "generic")  # the machine's own needs no name


@pytest.mark.heavy
def test_a_target_that_is_none_here_is_another_device(copied: Path, confirmed: int) -> None:
    def foreign(body: dict[str, Any]) -> None:
        body["settings"]["target"] = "z-architecture"
        body["environment"]["device"] += ", built for z-architecture"

    report = recheck(certify(told_as(copied, foreign), confirmed)[1])
    assert (statuses(report)["device"], statuses(report)["timing"]) == ("drifted", "unchecked")
    assert report.verdict == "unchecked"
