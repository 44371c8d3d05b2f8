"""klab run --track: the figures are in the tracker's files, the last line is still the JSON object, the record is the same."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from .command import Klab
from .conftest import bodies

pytestmark = pytest.mark.backend_c


def test_a_run_is_logged_to_tensorboard_as_it_goes(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    folder = {"KLAB_TENSORBOARD_DIR": str(tmp_path / "logs")}
    done = klab(*search(tmp_path / "run", "good", "wrong"), "--track", "tensorboard", "--json", env=folder)
    assert done.code in (0, 3, 7), done.err
    trials = bodies(tmp_path / "run", "trial")
    reader = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    read = reader.EventAccumulator(str(tmp_path / "logs" / "run"))
    read.Reload()
    tags = set(read.scalars.Keys())
    assert {f"trials/{trial['status']}" for trial in trials} <= tags
    assert "floor_us" in tags
    assert done.json["run"] == str(tmp_path / "run")


def test_an_unknown_tracker_is_refused_before_anything_begins(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    done = klab(*search(tmp_path / "run"), "--track", "clearml", "--json")
    done.failed(2, "there is no tracker 'clearml'", "trackio, tensorboard, wandb, mlflow")
    assert not (tmp_path / "run").exists()
