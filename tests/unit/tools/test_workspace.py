"""The workspace: ids come from content, and no name leads out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.tools import Spec, Workspace

SPEC = Spec(task="softmax")


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "work")


def test_the_same_source_has_the_same_id_and_another_purpose_another(work: Workspace) -> None:
    one = work.keep_kernel("x = 1\n", "mine", SPEC, "c")
    assert work.keep_kernel("x = 1\n", "mine", SPEC, "c").id == one.id
    assert work.keep_kernel("x = 1\n", "mine", Spec(task="softmax", dtype="bf16"), "c").id != one.id
    assert work.kernel(one.id) == one
    assert work.candidate(one).text == "x = 1\n"


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a b;c", "", "9lives", "é", "x" * 500])
def test_a_kernels_name_is_a_plain_file_name(work: Workspace, name: str) -> None:
    kernel = work.keep_kernel("x = 1\n", name, SPEC, "c")
    assert kernel.name.isidentifier()
    assert work.candidate(kernel).text == "x = 1\n"
    assert {p.relative_to(work.folder).parts[0] for p in work.folder.rglob("*")} == {"kernels"}


@pytest.mark.parametrize("text", ["x" * 400_001, "\ud800"])
def test_what_is_no_source_is_refused(work: Workspace, text: str) -> None:
    with pytest.raises(UsageError):
        work.keep_kernel(text, "mine", SPEC, "c")


@pytest.mark.parametrize("name", ["..", "../other", "/tmp", ".", "", "a/b", "a\0b", "none", "kernels"])
def test_no_run_outside_can_be_named(work: Workspace, tmp_path: Path, name: str) -> None:
    other = tmp_path / "other"
    for folder in (other, work.folder / "kernels"):
        folder.mkdir(parents=True)
    (other / "ledger.jsonl").write_text("")
    with pytest.raises(UsageError, match="there is no run"):
        work.run(name)


def test_a_link_that_leads_out_is_no_run(work: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "ledger.jsonl").write_text("")
    work.folder.mkdir()
    (work.folder / "link").symlink_to(other)
    with pytest.raises(UsageError):
        work.run("link")
    assert work.runs() == []


def test_runs_get_names_of_their_own(work: Workspace) -> None:
    first = work.new_run("verify-a1")
    first.mkdir(parents=True)
    (first / "ledger.jsonl").write_text("")
    assert work.new_run("verify-a1").name == "verify-a1-r2"
    assert work.run("verify-a1-r1") == first
    assert work.runs() == ["verify-a1-r1"]


def test_a_damaged_record_is_told(work: Workspace) -> None:
    kernel = work.keep_kernel("x = 1\n", "mine", SPEC, "c")
    (work.folder / "kernels" / kernel.id / "kernel.json").write_text("{")
    with pytest.raises(LedgerFault, match="damaged"):
        work.kernel(kernel.id)
