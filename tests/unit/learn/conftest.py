"""One reward service on the smallest task. It takes wide intervals, so that most samples are rewarded on a busy machine too;
one that is masked all the same is no failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from kernellab.core.settings import Settings
from kernellab.learn import RewardService, RewardTerms, Sample, Scored, open_service

SETTINGS = Settings(effort="quick", sample_s=0.0001, device="cpu")
Score = Callable[..., list[Scored]]


@pytest.fixture(scope="module")
def terms(task_file: Path) -> RewardTerms:
    return RewardTerms([str(task_file)], SETTINGS, widest=1e6, most=32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rewards") / "run"


@pytest.fixture(scope="module")
def service(terms: RewardTerms, folder: Path) -> Iterator[RewardService]:
    with open_service(terms, folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def score(service: RewardService) -> Score:
    """Replies scored in one batch, each under a new id."""
    numbers = count()

    def scored(*replies: str) -> list[Scored]:
        return service.score([Sample(f"s{next(numbers)}", text) for text in replies])

    return scored
