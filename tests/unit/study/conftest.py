"""The tiny studies are run once for all files that look at them."""

from __future__ import annotations

import pytest

from .small_studies import Reports


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return Reports(tmp_path_factory)
