from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.ledger.anchors import ANCHORS_FILE, read_anchors
from kernellab.ledger.check import check
from kernellab.ledger.git_anchor import commit_anchor, commit_of, committed_anchors
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git keeps the anchors")


def git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "config", "user.name", "A Tester")
    git(folder, "config", "user.email", "tester@example.org")
    return folder


def test_an_anchor_is_committed_alone_under_a_short_subject_and_found_again(run: Path, repository: Path) -> None:
    (repository / "other.txt").write_text("not for this commit")
    git(repository, "add", "other.txt")
    anchor, commit = commit_anchor(repository, check(run))
    assert commit.id == git(repository, "rev-parse", "HEAD")
    assert commit.date == git(repository, "log", "-1", "--format=%cI")
    subject = git(repository, "log", "-1", "--format=%s")
    assert subject == f"Anchor run {check(run).run} at 10 entries"
    assert len(subject) < 72
    assert git(repository, "show", "--name-only", "--format=", "HEAD") == ANCHORS_FILE
    data, rewritten = committed_anchors(repository)
    assert (read_anchors(data, "x"), rewritten) == (([anchor], []), [])
    assert commit_anchor(repository, check(run)) == (anchor, commit)
    assert git(repository, "rev-list", "--count", "HEAD") == "1"


def test_an_anchor_keeps_its_own_commit_when_others_follow(run: Path, key: SigningKey, repository: Path) -> None:
    anchor, commit = commit_anchor(repository, check(run))
    with Ledger.resume(run, key) as ledger:
        ledger.append("note", {})
    later, newer = commit_anchor(repository, check(run))
    assert commit_of(repository, anchor) == commit
    assert commit_of(repository, later) == newer != commit


def test_what_is_not_committed_is_no_anchor(run: Path, key: SigningKey, repository: Path) -> None:
    anchor, _ = commit_anchor(repository, check(run))
    (repository / ANCHORS_FILE).write_bytes(b"")
    data, _ = committed_anchors(repository)
    assert read_anchors(data, "x")[0] == [anchor]
    assert committed_anchors(repository)[1] == []


def test_a_commit_that_takes_lines_out_is_named(run: Path, repository: Path) -> None:
    anchor, _ = commit_anchor(repository, check(run))
    (repository / ANCHORS_FILE).write_bytes(anchor.line().replace(b'"size":10', b'"size":9') + b"\n")
    git(repository, "commit", "--quiet", "--all", "-m", "a prettier past")
    _, rewritten = committed_anchors(repository)
    assert [p.endswith("changed or took out 1 lines") for p in rewritten] == [True]
    assert commit_of(repository, anchor) is None


def test_a_repository_without_a_commit_or_without_the_file_has_no_anchors(repository: Path) -> None:
    assert committed_anchors(repository) == (b"", [])
    (repository / "readme").write_text("x")
    git(repository, "add", "readme")
    git(repository, "commit", "--quiet", "-m", "first")
    assert committed_anchors(repository) == (b"", [])


def test_reading_runs_no_command_that_the_repository_names(run: Path, repository: Path, tmp_path: Path) -> None:
    anchor, commit = commit_anchor(repository, check(run))
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
    trap.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "gpg.program",
        "diff.external",
        "core.sshCommand",
        "diff.trap.textconv",
    ):
        git(repository, "config", name, str(trap))
    git(repository, "config", "log.showSignature", "true")
    (repository / ".git" / "info" / "attributes").write_text("* diff=trap\n")
    assert committed_anchors(repository)[0]
    assert commit_of(repository, anchor) == commit
    assert not sprung.exists()


def test_what_git_cannot_do_is_said_in_its_words(run: Path, repository: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no git repository"):
        commit_anchor(tmp_path, check(run))
    with pytest.raises(UsageError, match="there is no folder"):
        commit_anchor(tmp_path / "nowhere", check(run))
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not on a Monday' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(EnvironmentFault, match="not on a Monday"):
        commit_anchor(repository, check(run))
    hook.unlink()
    assert commit_anchor(repository, check(run))[1].id == git(repository, "rev-parse", "HEAD")
