from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from kernellab.measurement.best_ceilings import BestCeilings
from kernellab.measurement.roofline import Ceilings

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


@pytest.mark.parametrize("name", ["copy", "read", "flops"])
def test_sixteen_times_as_fast_is_believed_and_more_was_another_machine(name: str, path: Path) -> None:
    now = Ceilings(1e9, 1e9, 1e9)
    BestCeilings("cpu", 1, "text", path).at_least(64, replace(now, **{name: 16e9}))
    assert getattr(BestCeilings("cpu", 1, "text", path).at_least(64, now), name) == 16e9
    path.unlink()
    BestCeilings("cpu", 1, "text", path).at_least(64, replace(now, **{name: 16.1e9}))
    assert BestCeilings("cpu", 1, "text", path).at_least(64, now) == now


@pytest.mark.parametrize("odd", [0.0, -1.0, float("inf"), 5, "5e9", None])
def test_a_figure_that_is_no_positive_number_is_not_read(odd: object, path: Path) -> None:
    best = BestCeilings("cpu", 1, "text", path)
    best.at_least(64, CALM)
    (name,) = json.loads(path.read_text())
    path.write_text(json.dumps({name: {**asdict(CALM), "copy": odd}}))
    assert best.at_least(64, BUSY) == BUSY
    path.write_text(json.dumps({name: {**asdict(CALM), "disturbed": 0}}))
    assert best.at_least(64, BUSY) == BUSY


def test_what_is_known_already_is_not_written_again(path: Path) -> None:
    best = BestCeilings("cpu", 1, "text", path)
    best.at_least(64, CALM)
    before = path.stat().st_ino
    best.at_least(64, Ceilings(1e9, 1e9, 1e9))
    assert path.stat().st_ino == before
    best.at_least(128, BUSY)
    assert len(json.loads(path.read_text())) == 2, "beside the others"


def test_a_place_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert BestCeilings("cpu", 1, "text", tmp_path / "file" / "ceilings.json").at_least(64, CALM) == CALM
