"""Anchors in a git repository: the transparency file, committed. Whoever has fetched the repository is a witness.

Read from the last commit, never from the working tree. Not covered: a history that was rewritten before anybody else fetched
it; dates of commits are their author's word.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.ledger.anchors import ANCHORS_FILE, Anchor, add_anchor
from kernellab.ledger.check import LedgerCheck

_READING = {
    "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}  # fmt: skip
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
_PLAIN = ("-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.hooksPath=/dev/null")
_LOG = ("log", "--no-renames", "--no-textconv", "--no-ext-diff")


@dataclass(frozen=True)
class Commit:
    id: str
    date: str


def is_repository(path: Path) -> bool:
    return (path / ".git").exists()


def commit_anchor(repository: Path, ledger: LedgerCheck) -> tuple[Anchor, Commit]:
    """Append to the repository's file and commit that file alone, with the user's own name and hooks."""
    top = _top(repository)
    anchor, _ = add_anchor(top / ANCHORS_FILE, ledger)
    if commit_of(top, anchor) is None:
        subject = f"Anchor run {ledger.run} at {ledger.size} entries"
        _git(top, "add", "--", ANCHORS_FILE, writing=True)
        _git(top, "commit", "--quiet", "-m", subject, "--", ANCHORS_FILE, writing=True)
    commit = commit_of(top, anchor)
    if commit is None:
        raise EnvironmentFault(f"the commit in {top} does not hold the anchor", "look at its hooks and at 'git log'")
    return anchor, commit


def committed_anchors(repository: Path) -> tuple[bytes, list[str]]:
    """The file as the last commit has it (empty where there is none), and commits that took lines out of it."""
    top = _top(repository)
    if _asked(top, "rev-parse", "--quiet", "--verify", f"HEAD:{ANCHORS_FILE}").returncode:
        return b"", []
    data = _git(top, "cat-file", "blob", f"HEAD:{ANCHORS_FILE}")
    log = _git(top, *_LOG, "--numstat", "--format=%x00%h", "--", ANCHORS_FILE).decode()
    problems = []
    for part in log.split("\0")[1:]:
        commit, *rows = part.split()
        if rows[1:2] not in ([], ["0"]):
            problems.append(f"{top / ANCHORS_FILE}: commit {commit} changed or took out {rows[1]} lines")
    return data, problems


def commit_of(repository: Path, anchor: Anchor) -> Commit | None:
    """The first commit that has this line, in the history of the one that is checked out."""
    line = anchor.line().decode()
    if _asked(repository, "rev-parse", "--quiet", "--verify", "HEAD").returncode:
        return None
    found = _git(repository, *_LOG, "--reverse", f"-S{line}", "--format=%H %cI", "--", ANCHORS_FILE)
    first = found.decode().splitlines()[:1]
    if not first or line.encode() not in _git(repository, "cat-file", "blob", f"HEAD:{ANCHORS_FILE}").splitlines():
        return None
    commit, date = first[0].split()
    return Commit(commit, date)


def _top(repository: Path) -> Path:
    if not repository.is_dir():
        raise UsageError(f"there is no folder {repository}", "give the folder of a git repository")
    found = _asked(repository, "rev-parse", "--show-toplevel")
    if found.returncode:
        raise UsageError(
            f"{repository} is no git repository: {_last(found)}", "make one with 'git init', or name another"
        )
    return Path(os.fsdecode(found.stdout.rstrip(b"\n")))


def _git(repository: Path, *arguments: str, writing: bool = False) -> bytes:
    done = _asked(repository, *arguments, writing=writing)
    if done.returncode:
        raise EnvironmentFault(
            f"git {arguments[0]} failed in {repository}: {_last(done)}",
            "mend that (git config user.name and user.email, say), then give the same command again",
        )
    return done.stdout


def _asked(repository: Path, *arguments: str, writing: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Reading runs nothing that the repository's own configuration names, and never the network."""
    command = ["git", "-C", str(repository), "--no-pager", *(() if writing else _PLAIN), *arguments]
    outside = {name: text for name, text in os.environ.items() if name not in _ELSEWHERE}
    environment = outside if writing else {**outside, **_READING}
    try:
        return subprocess.run(command, capture_output=True, env=environment, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError as error:
        raise EnvironmentFault("there is no git on this machine", "install git, or anchor in a plain file") from error


def _last(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"
