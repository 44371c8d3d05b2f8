"""The core works without the packages that are extras."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .command import Klab

WITHOUT_OPTUNA = """
import sys
sys.modules["optuna"] = None
del sys.argv[0]
from kernellab.cli.entry import main
sys.exit(main())
"""


@pytest.mark.slow
def test_a_search_needs_no_optuna(klab: Klab, search: Callable[..., list[object]], tmp_path: Path) -> None:
    """Four trials: the model is asked after three."""
    words = [*search(tmp_path / "run", "good", trials=4), "--json"]
    done = klab(*words, before=(sys.executable, "-c", WITHOUT_OPTUNA))
    assert done.code in (0, 3, 7), done.err
    assert done.json["trial"] is not None


def test_the_sampler_that_needs_optuna_names_the_extra_before_anything_is_made(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    words = [*search(tmp_path / "run"), "--sampler", "tpe"]
    done = klab(*words, before=(sys.executable, "-c", WITHOUT_OPTUNA))
    done.failed(5, "the sampler 'tpe' needs Optuna", "pip install 'kernellab[optuna]'")
    assert not (tmp_path / "run").exists()
