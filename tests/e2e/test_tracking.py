"""klab run --track, klab study run --track: the figures are in the tracker's files, the last line is still the JSON object, the record is the same."""

from __future__ import annotations

import importlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from .command import Klab
from .conftest import bodies
from .test_study import IDLE, MINE

pytestmark = pytest.mark.backend_c


@pytest.mark.heavy
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


@pytest.fixture
def study(files: Path, tmp_path: Path) -> Path:
    shutil.copy(files / "cube.py", tmp_path)
    (tmp_path / "idle.py").write_text(IDLE)
    path = tmp_path / "cubes.toml"
    path.write_text(MINE)
    return path


@pytest.mark.heavy
def test_a_study_is_logged_to_tensorboard_with_every_trial_of_its_replicates(
    klab: Klab, study: Path, tmp_path: Path
) -> None:
    folder = {"KLAB_TENSORBOARD_DIR": str(tmp_path / "logs")}
    done = klab("study", "run", study, "--device", "cpu", "--out", tmp_path / "run", "--track", "tensorboard", "--json",
                env=folder)  # fmt: skip
    assert done.code in (0, 3, 4), done.err
    trials = bodies(tmp_path / "run", "trial")
    assert len(trials) == 6
    reader = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    read = reader.EventAccumulator(str(tmp_path / "logs" / "run"))
    read.Reload()
    for status in {trial["status"] for trial in trials}:
        assert read.Scalars(f"trials/{status}")[-1].value == sum(t["status"] == status for t in trials)
    measured = [t["timing"]["speedup"] for t in trials if t["status"] == "measured"]
    logged = [s.value for s in read.Scalars("trial/speedup")] if measured else []
    assert logged == pytest.approx(measured)
    assert klab("audit", tmp_path / "run", "--json").json["status"] == "ok"


@pytest.mark.heavy
def test_a_study_is_logged_to_trackio_a_step_a_trial(klab: Klab, study: Path, tmp_path: Path) -> None:
    done = klab("study", "run", study, "--device", "cpu", "--out", tmp_path / "run", "--track", "trackio", "--json",
                env={"TRACKIO_DIR": str(tmp_path / "logs")})  # fmt: skip
    assert done.code in (0, 3, 4), done.err
    (database,) = (tmp_path / "logs").glob("kernellab*.db")
    with sqlite3.connect(database) as opened:
        rows = opened.execute("select run_name, step, metrics from metrics order by step").fetchall()
    assert {row[0] for row in rows} == {"run"}
    assert max(row[1] for row in rows) == len(bodies(tmp_path / "run", "trial")) - 1
    assert any("floor_us" in str(row[2]) for row in rows)
