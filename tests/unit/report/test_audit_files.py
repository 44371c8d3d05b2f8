"""Files beside a sound ledger: edited, foreign or missing ones are named; what the laboratory never wrote is nobody's business."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from copy import deepcopy as copy_of
from pathlib import Path

import pytest
from tests.support.recorded import CUBE, GENESIS
from tests.support.resign import Bodies, resigned

from kernellab.core.errors import EnvironmentFault
from kernellab.core.ids import sha256_hex
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import SigningKey
from kernellab.report.audit import audit
from kernellab.report.audit_files import FilesAudit, audit_files
from kernellab.tasks.load import load_task

PUBLISHED = Path(__file__).parents[3] / "runs"
NAME, WINNER = "best-M16384-N4096", 5


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A published run with one winner."""
    return Path(shutil.copytree(PUBLISHED / "h200" / "softmax-bf16-quick", tmp_path / "copy"))


@pytest.fixture
def with_task(tmp_path: Path) -> Path:
    """A run that names the task file that it began with."""
    folder, text = tmp_path / "run", b"TASK = 1\n"
    with Ledger.create(folder, {**GENESIS, "files": {"task.py": sha256_hex(text)}}, SigningKey.generate()):
        (folder / "task.py").write_bytes(text)
    return folder


def test_the_files_of_a_run_are_what_its_record_says_and_unknown_ones_are_no_problem(copy: Path) -> None:
    assert {p.name for p in copy.glob("best-*")} == {f"{NAME}.py", f"{NAME}.json"}
    assert [e.body["trial"] for e in read_entries(copy) if e.kind == "result"] == [WINNER]
    (copy / "notes.txt").write_text("mine")
    (copy / "best-of-all").mkdir()
    report = audit(copy)
    assert report.problems == []
    assert not any("best-" in r or "task.py" in r for r in report.remarks)


def edit_source(folder: Path) -> str:
    path = folder / f"{NAME}.py"
    path.write_text(path.read_text() + "\n")
    return f"{NAME}.py was edited: its bytes are not the source of trial {WINNER}, the confirmed winner"


def edit_figure(folder: Path) -> str:
    path = folder / f"{NAME}.json"
    facts = json.loads(path.read_text())
    said = facts["speedup"]
    path.write_text(json.dumps({**facts, "speedup": 99.0}))
    return f"{NAME}.json was edited: speedup is 99.0, the record says {said!r}"


def add_figure(folder: Path) -> str:
    path = folder / f"{NAME}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "certified": True}))
    return f"{NAME}.json was edited: certified is True, the record says None"


def spoil_figures(folder: Path) -> str:
    (folder / f"{NAME}.json").write_text("{")
    return f"{NAME}.json was edited: it is not JSON"


def say_a_figure_twice(folder: Path) -> str:
    path = folder / f"{NAME}.json"
    path.write_text(path.read_text().replace("{", '{"speedup": 99.0,', 1))
    return f"{NAME}.json was edited: it says speedup twice"


def add_nothing(folder: Path) -> str:
    path = folder / f"{NAME}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "certified": None}))
    return f"{NAME}.json was edited: certified is None, the record says None"


def say_one_for_true(folder: Path) -> str:
    path = folder / f"{NAME}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "win": 1}))
    return f"{NAME}.json was edited: win is 1, the record says True"


def nest_deeply(folder: Path) -> str:
    (folder / f"{NAME}.json").write_text("[" * 100_000)
    return f"{NAME}.json was edited: it is not JSON"


def put_a_pipe(folder: Path) -> str:
    (folder / f"{NAME}.json").unlink()
    os.mkfifo(folder / f"{NAME}.json")
    return f"{NAME}.json is foreign: the laboratory writes plain files that end in .py and .json"


def bring_another_suffix(folder: Path) -> str:
    (folder / f"{NAME}.JSON").write_text("{}")
    return f"{NAME}.JSON is foreign: the laboratory writes plain files that end in .py and .json"


def bring_a_file(folder: Path) -> str:
    (folder / "best-M1-N8192.py").write_text("SOURCE = ''\n")
    return "best-M1-N8192.py is foreign: no confirmed winner is recorded for that shape"


@pytest.mark.parametrize(
    "change",
    [
        edit_source, edit_figure, add_figure, spoil_figures, say_a_figure_twice, add_nothing, say_one_for_true, nest_deeply,
        put_a_pipe, bring_another_suffix, bring_a_file,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_a_file_that_is_not_what_the_record_says_fails_the_audit_by_its_name(
    change: Callable[[Path], str], copy: Path
) -> None:
    words = change(copy)
    assert audit(copy).problems == [words]


@pytest.mark.parametrize("name", ["heads.jsonl", "root.tsr", "artifacts"])
def test_a_pipe_in_place_of_a_file_is_told_and_not_waited_for(name: str, copy: Path) -> None:
    path = next((p for p in (copy / name).rglob("*") if p.is_file()), copy / name)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    try:
        told = audit(copy).problems
    except EnvironmentFault as fault:
        told = [fault.what]
    assert any("not a plain file" in problem for problem in told)


def test_a_missing_file_is_remarked_and_no_failure(copy: Path) -> None:
    for suffix in (".py", ".json"):
        (copy / f"{NAME}{suffix}").unlink()
    report = audit(copy)
    assert report.problems == []
    for suffix in (".py", ".json"):
        assert f"the best-*{suffix} of M=16384,N=4096 is missing: trial {WINNER} won there" in report.remarks


def test_a_copied_task_has_the_bytes_that_the_run_began_with(with_task: Path) -> None:
    assert audit_files(with_task) == FilesAudit()
    (with_task / "task.py").write_text("TASK = 2\n")
    assert audit_files(with_task).problems == ["task.py was edited: its bytes are not those that the run began with"]
    (with_task / "task.py").unlink()
    assert audit_files(with_task) == FilesAudit([], ["task.py is missing: the run began with one"])


def cut(folder: Path, entries: int) -> None:
    """Back to an earlier signed head, as a killed writer leaves it."""
    for name in ("ledger.jsonl", "heads.jsonl"):
        (folder / name).write_bytes(b"".join((folder / name).read_bytes().splitlines(keepends=True)[:entries]))


def test_the_files_of_a_winner_whose_result_is_not_recorded_yet_fit_its_confirmation(copy: Path) -> None:
    kinds = [e.kind for e in read_entries(copy)]
    cut(copy, kinds.index("result"))
    assert audit_files(copy).problems == []
    words = edit_figure(copy)
    assert audit_files(copy).problems == [words]
    cut(copy, kinds.index("confirmation"))
    assert audit_files(copy).problems == [
        f"{NAME}{suffix} is foreign: no confirmed winner is recorded for that shape" for suffix in (".json", ".py")
    ]


def test_a_shape_is_known_by_its_name_whatever_the_order_of_its_dimensions(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(PUBLISHED / "h200" / "stencil3x3", tmp_path / "copy"))
    for suffix in (".py", ".json"):
        (copy / f"best-H4096-W4096-C1{suffix}").rename(copy / f"best-C1-H4096-W4096{suffix}")
    found = audit_files(copy)
    assert found == FilesAudit()


def test_the_files_of_an_earlier_result_are_remarked_not_called_edited(tmp_path: Path) -> None:
    """A run that was gone on with found a better kernel; the files of the first are still there."""

    def found_another(entries: Bodies) -> None:
        trial, confirmation, result = (
            copy_of(next(b for k, b in entries if k == kind)) for kind in ("trial", "confirmation", "result")
        )
        trial["trial"] = confirmation["trial"] = result["trial"] = 9
        trial["proposal"]["source"] = "ab" * 32
        entries += [("trial", trial), ("confirmation", confirmation), ("result", result)]

    folder = resigned(CUBE, tmp_path / "run", found_another)
    first = next(dict(e.body) for e in read_entries(CUBE) if e.kind == "trial")
    source = first["proposal"]["source"]
    (folder / "best-N4096.py").write_bytes((CUBE / "artifacts" / source[:2] / source).read_bytes())
    shutil.copy(CUBE / "task.py", folder)
    assert audit_files(folder) == FilesAudit([], [
        "best-N4096.py is of trial 0, an earlier result; the last is trial 9",
        "the best-*.json of N=4096 is missing: trial 9 won there",
    ])  # fmt: skip
    (folder / "best-N4096.py").write_text("SOURCE = ''\n")
    told = "best-N4096.py was edited: its bytes are not the source of trial 9, the confirmed winner"
    assert audit_files(folder).problems == [told]


def test_a_task_whose_digest_was_not_recorded_is_remarked(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(PUBLISHED / "h200" / "softmax-bf16-quick", tmp_path / "copy"))
    (copy / "task.py").write_text("TASK = None\n")
    assert audit_files(copy).remarks == ["task.py was not compared: this run did not record its digest"]


MODULE = Path(__file__).parents[2] / "data" / "modules" / "net.json"


@pytest.mark.parametrize("own", [True, False], ids=["its own", "another"])
def test_a_modules_record_makes_the_task_that_the_run_names(own: bool, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = MODULE.read_bytes()
    fingerprint = load_task(str(MODULE)).fingerprint() if own else "0" * 64
    named = {"name": "net", "fingerprint": fingerprint, "builtin": False}
    start = {**GENESIS, "task": named, "files": {"task.json": sha256_hex(text)}}
    with Ledger.create(tmp_path / "run", start, SigningKey.generate()):
        (tmp_path / "run" / "task.json").write_bytes(text)
    found = audit_files(tmp_path / "run").problems
    assert found == ([] if own else ["task.json is another task than the one that the run names"])


def test_a_hypothesis_that_is_not_the_registered_one_fails_the_audit(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(PUBLISHED / "h200-studies" / "H3", tmp_path / "copy"))
    file = copy / "hypothesis.toml"
    file.write_text(file.read_text() + "\n# a comment changes nothing\n")
    assert audit_files(copy).problems == []
    assert "claim = " in file.read_text()
    file.write_text(file.read_text().replace('claim = "', 'claim = "It is not so that '))
    assert audit_files(copy).problems == ["hypothesis.toml was edited: it is not the hypothesis that was registered"]


@pytest.mark.parametrize("gone", [False, True], ids=["changed", "removed"])
def test_a_listing_is_evidence_too(gone: bool, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(PUBLISHED / "h200" / "particle-filter", tmp_path / "copy"))
    number, sha = next((e.seq, str(e.body["text"])) for e in read_entries(copy) if e.kind == "listing")
    blob = copy / "artifacts" / sha[:2] / sha
    blob.unlink() if gone else blob.write_bytes(blob.read_bytes() + b"ret;\n")
    (problem,) = audit(copy).problems
    assert problem.startswith(f"entry {number} (listing): listing: blob {sha} is {'missing' if gone else 'corrupt'}")
