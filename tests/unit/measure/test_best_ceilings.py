from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.measure.best_ceilings import BestCeilings
from kernellab.measure.roofline import Ceilings

BUSY = Ceilings(1e9, 2e9, 3e9, disturbed=True)
CALM = Ceilings(5e9, 1e9, 9e9)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "ceilings.json"


def test_the_best_of_each_figure_is_remembered_by_the_next_run(path: Path) -> None:
    assert BestCeilings("cpu", 1, "text", path).at_least(64, CALM) == CALM
    assert BestCeilings("cpu", 1, "text", path).at_least(64, BUSY) == Ceilings(5e9, 2e9, 9e9)


def test_what_was_once_measured_undisturbed_can_be_relied_on_while_others_use_the_machine(path: Path) -> None:
    best = BestCeilings("cpu", 1, "text", path)
    assert best.at_least(64, BUSY).disturbed
    assert not best.at_least(64, CALM).disturbed
    assert not best.at_least(64, BUSY).disturbed


@pytest.mark.parametrize("other", [("gpu", 1, "text"), ("cpu", 2, "text"), ("cpu", 1, "other kernels")])
def test_another_device_thread_count_or_measure_has_ceilings_of_its_own(
    other: tuple[str, int, str], path: Path
) -> None:
    BestCeilings("cpu", 1, "text", path).at_least(64, CALM)
    assert BestCeilings(*other, path).at_least(64, BUSY) == BUSY


def test_another_size_has_ceilings_of_its_own(path: Path) -> None:
    best = BestCeilings("cpu", 1, "text", path)
    best.at_least(64, CALM)
    assert best.at_least(128, BUSY) == BUSY


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": {"copy": 1}}', "\0"])
def test_a_file_that_cannot_be_read_is_none(content: str, path: Path) -> None:
    path.parent.mkdir()
    path.write_text(content)
    best = BestCeilings("cpu", 1, "text", path)
    assert best.at_least(64, BUSY) == BUSY
    assert best.at_least(64, CALM).copy == CALM.copy


def test_a_place_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert BestCeilings("cpu", 1, "text", tmp_path / "file" / "ceilings.json").at_least(64, CALM) == CALM
