"""The registry of studies: what was asked before with the same key is not forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault
from kernellab.core.events import Event
from kernellab.report.audit import audit
from kernellab.report.paper.write import write_paper
from kernellab.studies.attempts import earlier_attempts, note_attempt, registry
from kernellab.studies.conduct import run_study
from kernellab.studies.register import read_study

from .small_studies import QUICK, tiny


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KLAB_HOME", str(tmp_path / "home"))


def test_attempts_are_kept_by_id_with_their_verdicts() -> None:
    assert earlier_attempts("H1") == []
    note_attempt("H1", "a", "run1", "cpu")
    note_attempt("H2", "b", "run2", "cpu")
    note_attempt("H1", "a", "run1", "cpu", "rejected")
    note_attempt("H1", "c", "run3", "cpu")
    assert [(a.run, a.verdict) for a in earlier_attempts("H1")] == [("run1", "rejected"), ("run3", "")]
    words = [a.words("a") for a in earlier_attempts("H1")]
    assert words[0].endswith("(rejected)")
    assert words[1].endswith("(another hypothesis of this id, no verdict)")


def test_another_key_has_its_own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note_attempt("H1", "a", "run1", "cpu")
    monkeypatch.setenv("KLAB_HOME", str(tmp_path / "other"))
    assert earlier_attempts("H1") == []


def test_a_line_that_was_cut_off_hides_no_other_one() -> None:
    note_attempt("H1", "a", "run1", "cpu")
    with registry().open("ab") as file:
        file.write(b'{"id": "H1", "dig\n')
    note_attempt("H1", "a", "run2", "cpu")
    assert [a.run for a in earlier_attempts("H1")] == ["run1", "run2"]


def test_a_registry_that_cannot_be_written_is_an_error() -> None:
    registry().mkdir(parents=True)
    with pytest.raises(EnvironmentFault, match="could be asked again unseen"):
        note_attempt("H1", "a", "run1", "cpu")


@pytest.mark.heavy
def test_a_study_that_is_registered_anew_names_the_earlier_attempt(tmp_path: Path) -> None:
    events: list[Event] = []
    first = run_study(tiny("H2", tmp_path / "a"), QUICK, tmp_path / "one")
    again = run_study(tiny("H2", tmp_path / "a"), QUICK, tmp_path / "two", emit=events.append)
    said = read_study(again.folder).registration
    assert said is not None
    assert len(said.earlier) == 1
    assert said.earlier[0].endswith(f"({first.verdict.verdict})")
    assert any("H2 was registered before with this key: run " in e.text for e in events)
    assert audit(again.folder).ok
    write_paper(again.folder, tmp_path / "paper")
    assert f"registered before with the same key: {said.earlier[0]}" in (tmp_path / "paper" / "paper.md").read_text()
    assert read_study(first.folder).registration.earlier == []  # type: ignore[union-attr]
