"""One real run for all of these tests, and published GPU runs signed anew with the tests' own key."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.home import code_folder, settle
from tests.support.softmax_run import softmax_run as shared_run

from kernellab.certify.certificate import Certificate
from kernellab.certify.history import promote, review
from kernellab.certify.issue import certify
from kernellab.core.records import Confirmation
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import KEY_FILE, load_or_create_key
from kernellab.search.replay import read_trials
from kernellab.tasks.builtin import TASKS

PUBLISHED = Path(__file__).parents[3] / "runs" / "h200"
Issue = Callable[[Path, int], tuple[Certificate, Path]]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certify-home")


@pytest.fixture(scope="session")
def settled(home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Keys, caches and settings of the tests' own; the key is the one that signed the run."""
    shutil.copytree(shared_run(tmp_path_factory)[1], home / "key")
    return {**settle(home, code_folder(tmp_path_factory)), "KLAB_HOME": str(home / "key")}


@pytest.fixture(autouse=True)
def own_laboratory(
    monkeypatch: pytest.MonkeyPatch, home: Path, settled: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """That key in a home without any memory of reviews: the tests share a run."""
    mine = tmp_path_factory.mktemp("laboratory")
    shutil.copy(home / "key" / KEY_FILE, mine / KEY_FILE)
    for name, value in {**settled, "KLAB_HOME": str(mine)}.items():
        monkeypatch.setenv(name, value)
    return mine


@pytest.fixture(scope="session")
def softmax_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_run(tmp_path_factory)[0]


@pytest.fixture(scope="session")
def confirmed(softmax_run: Path) -> int:
    """The number of a trial of that run whose confirmation passed."""
    bodies = (Confirmation.model_validate(e.body) for e in read_entries(softmax_run) if e.kind == "confirmation")
    return next(c.trial for c in bodies if c.timing is not None)


@pytest.fixture
def copied(softmax_run: Path, tmp_path: Path) -> Path:
    """A copy of the run to do things to."""
    return Path(shutil.copytree(softmax_run, tmp_path / "run"))


@pytest.fixture
def issued(copied: Path, confirmed: int) -> tuple[Certificate, Path]:
    return certify(copied, confirmed)


@pytest.fixture
def promoted(issued: tuple[Certificate, Path]) -> Path:
    return accept(*issued)


def accept(certificate: Certificate, path: Path) -> Path:
    review(path, certificate, "accept", "looked at by a test")
    promote(path, certificate)
    return path


def resigned(folder: Path, change: Callable[[str, dict[str, Any]], None]) -> Path:
    """The run as its own laboratory would have signed it, had its records been changed so (kind and body of each)."""
    other = folder.with_name("changed")
    bodies = [(entry.kind, json.loads(json.dumps(entry.body))) for entry in read_entries(folder)]
    for kind, body in bodies:
        change(kind, body)
    start = {k: v for k, v in bodies[0][1].items() if k not in ("public_key", "nonce")}
    with Ledger.create(other, start, load_or_create_key()) as ledger:
        for kind, body in bodies[1:]:
            ledger.append(kind, body)
    shutil.copytree(folder / "artifacts", other / "artifacts", dirs_exist_ok=True)
    for file in folder.glob("task.py"):  # of a task that is not built in
        shutil.copy(file, other)
    return other


def trial_of(folder: Path, status: str) -> int:
    return next(t.trial for t in read_trials(folder) if t.status == status)


@pytest.fixture
def signed_again(tmp_path: Path) -> Callable[[str], Path]:
    """A published GPU run, entry by entry under this laboratory's key and today's task, so that it can be certified here."""

    def again(name: str) -> Path:
        source, folder = PUBLISHED / name, tmp_path / name
        entries = list(read_entries(source))
        shutil.copytree(source / "artifacts", folder / "artifacts")
        start = {k: v for k, v in entries[0].body.items() if k not in ("public_key", "nonce")}
        start["task"] = {**start["task"], "fingerprint": TASKS[start["task"]["name"]].on("cuda").fingerprint()}
        with Ledger.create(folder, start, load_or_create_key()) as ledger, ledger.batch():
            for entry in entries[1:]:
                ledger.append(entry.kind, entry.body)
        return folder

    return again
