"""One paper of a published run, made once; and runs that end otherwise, copied from it through the real writer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.long_ledger import copy_run

from kernellab.ledger.journal import Entry
from kernellab.ledger.keys import SigningKey
from kernellab.report.paper.document import PaperFile
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.report.paper.write import Written, write_paper

RUN = Path(__file__).parents[4] / "runs" / "h200" / "particle-filter"
MakeRun = Callable[..., Path]


@pytest.fixture(scope="session")
def evidence() -> LedgerPrefix:
    return LedgerPrefix(RUN)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write_paper(RUN, tmp_path_factory.mktemp("paper") / "out")


@pytest.fixture(scope="session")
def paper(written: Written) -> PaperFile:
    return written.paper


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """A run of some of the published one's entries."""

    def make(take: Callable[[Entry], bool] = lambda e: True, more: Any = (), ended: bool = True) -> Path:
        folder = tmp_path / "run"
        copy_run(RUN, folder, SigningKey.generate(), take, more, ended)
        return folder

    return make
