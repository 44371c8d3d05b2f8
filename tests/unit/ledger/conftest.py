from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey


@pytest.fixture
def key() -> SigningKey:
    return SigningKey.generate()


@pytest.fixture
def run(tmp_path: Path, key: SigningKey) -> Path:
    """A closed run of ten entries: the genesis and nine trials."""
    folder = tmp_path / "run"
    with Ledger.create(folder, {"purpose": "test"}, key) as ledger:
        for number in range(9):
            ledger.append("trial", {"trial": number, "status": "invalid", "reason": "é\n\u2028"})
    return folder
