"""One listener over the event stream: what a tracker is told of a recorded run, and what its failures change (nothing)."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.support.recorded import CUBE

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.events import Event
from kernellab.ledger import kinds
from kernellab.ledger.run import Run
from kernellab.track import registry
from kernellab.track.base import Fact, TrackerKind
from kernellab.track.listener import Tracked, tracked

RUN = Run(CUBE)
TRACKER = TrackerKind("absent", "no_such_package_anywhere", "track-absent", lambda: Diary())


def events() -> Iterator[Event]:
    """As the laboratory tells them, from what it recorded."""
    yield Event("note", "before the start: nobody is told")
    yield Event("start", "run", {"folder": str(CUBE), "tier": "T1", "device": "a machine", "task": "cube"})
    yield Event("calibration", "", kinds.CALIBRATION.plain(RUN.calibrations[0]))
    for trial in RUN.trials:
        yield Event("trial", "", {"trial": trial})
    for confirmation in RUN.confirmations:
        yield Event("confirmation", "", {"confirmation": confirmation, "why": ""})
    for result in RUN.results:
        yield Event("result", result.reason, kinds.RESULT.plain(result))
    yield Event("end", "better", {"status": "better"})


class Diary:
    """A tracker that keeps what it is told, and fails from a given call on."""

    def __init__(self, fails_at: int = 1 << 30) -> None:
        self.told: list[tuple[str, dict[str, Fact], int]] = []
        self.asked, self.fails_at = 0, fails_at

    def _tell(self, what: str, facts: Mapping[str, Fact], step: int = -1) -> None:
        self.asked += 1
        if self.asked >= self.fails_at:
            raise ConnectionError("the server is gone")
        self.told.append((what, dict(facts), step))

    def begin(self, name: str, facts: Mapping[str, Fact]) -> None:
        self._tell(f"begin {name}", facts)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        self._tell("log", figures, step)

    def end(self, summary: Mapping[str, Fact]) -> None:
        self._tell("end", summary)


def test_tells_trials_confirmations_and_results_with_their_figures() -> None:
    diary, heard = Diary(), list[Event]()
    with Tracked("diary", diary, heard.append) as listener:
        for event in events():
            listener(event)
    assert heard == list(events())
    assert diary.told[0][0] == "begin cube"
    steps = [
        step for what, figures, step in diary.told if what == "log" and any(k.startswith("trials/") for k in figures)
    ]
    assert steps == list(range(len(RUN.trials)))
    last = diary.told[-1]
    assert last[0] == "end"
    assert last[1]["status"] == "better"
    assert last[1]["cube N=4096 speedup_low"] == RUN.records(kinds.RESULT)[-1].speedup_low  # type: ignore[union-attr]
    measured = next(figures for what, figures, _ in diary.told if "trial/speedup" in figures)
    assert measured["best/speedup"] == measured["trial/speedup"]


@pytest.mark.parametrize("fails_at", [1, 2, 5])
def test_a_tracker_that_fails_is_told_of_once_and_the_run_hears_everything(fails_at: int) -> None:
    diary, heard = Diary(fails_at), list[Event]()
    with Tracked("diary", diary, heard.append) as listener:
        for event in events():
            listener(event)
    warned = [e.text for e in heard if "tracking with diary has ended" in e.text]
    assert warned == ["tracking with diary has ended, the run goes on: ConnectionError: the server is gone"]
    assert [e for e in heard if e.text not in warned] == list(events())
    assert diary.asked == fails_at


def test_a_missing_package_names_the_extra_and_an_unknown_tracker_the_known_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registry.TRACKERS, "absent", __name__)
    with pytest.raises(EnvironmentFault, match="no_such_package_anywhere") as caught:
        tracked("absent", print)
    assert caught.value.fix == "pip install 'kernellab[track-absent]'"
    with pytest.raises(UsageError, match="no tracker 'clearml'") as unknown:
        tracked("clearml", print)
    assert "trackio, tensorboard, wandb, mlflow" in unknown.value.fix


def test_a_suites_tasks_are_counted_by_outcome() -> None:
    diary = Diary()
    with Tracked("diary", diary, lambda _: None) as listener:
        listener(Event("start", "", {"folder": "runs/suite-lab", "task": "suite lab"}))
        for task, outcome in (("a", "better"), ("b", "better"), ("c", "refused")):
            listener(Event("note", "", {"suite_task": {"task": task, "outcome": outcome}}))
    assert diary.told[-2][1] == {"tasks/better": 2.0, "tasks/refused": 1.0}
    assert diary.told[-1][1] == {"a": "better", "b": "better", "c": "refused"}


@pytest.mark.heavy
def test_trackio_keeps_the_figures_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    heard = list[Event]()
    with tracked("trackio", heard.append) as listener:
        for event in events():
            listener(event)
    assert not [e.text for e in heard if "has ended" in e.text]
    (database,) = tmp_path.glob("kernellab*.db")
    with sqlite3.connect(database) as opened:
        rows = opened.execute("select run_name, step, metrics from metrics order by step").fetchall()
    assert {row[0] for row in rows} == {"cube"}
    assert max(row[1] for row in rows) == len(RUN.trials) - 1
    assert any("confirmed/speedup_low" in str(row[2]) for row in rows)


def test_tensorboard_reads_the_figures_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KLAB_TENSORBOARD_DIR", str(tmp_path))
    with tracked("tensorboard", lambda _: None) as listener:
        for event in events():
            listener(event)
    reader = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")

    read = reader.EventAccumulator(str(tmp_path / "cube"))
    read.Reload()
    assert {"floor_us", "trial/speedup", "best/speedup", "confirmed/win", "trials/measured"} <= set(read.scalars.Keys())
    assert read.Scalars("confirmed/win")[-1].value == 1.0
    first = next(trial for trial in RUN.trials if trial.status == "measured")
    assert read.Scalars("trial/speedup")[0].value == pytest.approx(first.timing.speedup)
