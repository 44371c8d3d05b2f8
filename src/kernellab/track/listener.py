"""Events of a run, a suite or a study told to a tracker, beside whoever listens already.

Covered: a tracker that fails, at any call, is told of once and asked nothing more; the run goes on as it would have. What a
tracker prints goes to standard error. Not covered: processor time that a tracker's own threads take while a kernel is
timed, which the laboratory sees as it sees any other disturbance.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Self

from kernellab.core.events import Event, Listener
from kernellab.core.records import AnyTrial, Confirmation, MeasuredTrial
from kernellab.track.base import Fact, Tracker
from kernellab.track.registry import open_tracker

_CONFIRMED = ("speedup", "speedup_low", "speedup_high", "of_floor")


class Tracked:
    """Use as a context manager; `then` hears every event first."""

    def __init__(self, name: str, tracker: Tracker, then: Listener) -> None:
        self._name, self._tracker, self._then = name, tracker, then
        self._begun = self._broken = False
        self._step = -1
        self._counts: dict[str, int] = {}
        self._best = 0.0
        self._summary: dict[str, Fact] = {}

    def __call__(self, event: Event) -> None:
        self._then(event)
        handler: Callable[[dict[str, Any]], None] | None = getattr(self, f"_on_{event.kind}", None)
        if handler is not None and (self._begun or event.kind == "start"):
            self._guarded(lambda: handler(event.data))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._begun:
            self._guarded(lambda: self._tracker.end(self._summary))

    def _guarded(self, call: Callable[[], None]) -> None:
        if self._broken:
            return
        try:
            with redirect_stdout(sys.stderr):
                call()
        except Exception as err:  # noqa: BLE001  the boundary to somebody else's tracker: it never ends a run
            self._broken = True
            why = f"{type(err).__name__}: {str(err).splitlines()[0] if str(err) else ''}"
            self._then(Event("note", f"tracking with {self._name} has ended, the run goes on: {why[:300]}"))

    def _on_start(self, data: dict[str, Any]) -> None:
        """A suite's tasks and a study's parts are logged under the first start."""
        if not self._begun:
            facts = {key: value for key, value in data.items() if isinstance(value, (str, int, float))}
            self._tracker.begin(Path(str(data["folder"])).name, facts)
            self._begun = True

    def _on_calibration(self, data: dict[str, Any]) -> None:
        self._log({"floor_us": data["floor_s"] * 1e6, "noise_floor": data["noise_floor"]})

    def _on_trial(self, data: dict[str, Any]) -> None:
        trial: AnyTrial = data["trial"]
        self._step += 1
        self._counts[trial.status] = self._counts.get(trial.status, 0) + 1
        figures = {f"trials/{status}": float(count) for status, count in self._counts.items()}
        if isinstance(trial, MeasuredTrial):
            timing = trial.timing
            self._best = max(self._best, timing.speedup)
            figures |= {"trial/speedup": timing.speedup, "trial/latency_us": timing.latency_s * 1e6,
                        "trial/of_floor": timing.of_floor, "best/speedup": self._best}  # fmt: skip
        self._log(figures)

    def _on_confirmation(self, data: dict[str, Any]) -> None:
        found: Confirmation = data["confirmation"]
        figures = {"confirmed/win": float(found.win)}
        if found.timing is not None:
            figures |= {f"confirmed/{name}": float(getattr(found.timing, name)) for name in _CONFIRMED}
        self._log(figures)

    def _on_result(self, data: dict[str, Any]) -> None:
        place = f"{data['task']} " + ",".join(f"{k}={v}" for k, v in data["dims"].items())
        self._summary[f"{place} status"] = str(data["status"])
        if data.get("speedup_low") is not None:
            self._summary |= {f"{place} {name}": float(data[name]) for name in _CONFIRMED[:3]}

    def _on_note(self, data: dict[str, Any]) -> None:
        """A task of a suite that is done; other notes are for people."""
        done = data.get("suite_task")
        if not isinstance(done, Mapping):
            return
        self._step += 1
        outcome = str(done["outcome"])
        self._counts[outcome] = self._counts.get(outcome, 0) + 1
        self._summary[str(done["task"])] = outcome
        self._log({f"tasks/{name}": float(count) for name, count in self._counts.items()})

    def _on_end(self, data: dict[str, Any]) -> None:
        self._summary["status"] = str(data.get("status") or data.get("verdict") or "")

    def _log(self, figures: Mapping[str, float]) -> None:
        self._tracker.log(figures, max(self._step, 0))


class Untracked:
    """For those who named no tracker."""

    def __init__(self, then: Listener) -> None:
        self._then = then

    def __call__(self, event: Event) -> None:
        self._then(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def tracked(name: str | None, then: Listener) -> Tracked | Untracked:
    """`then`, with a tracker beside it where one is named. What is missing is told before anything begins."""
    return Tracked(name, open_tracker(name), then) if name else Untracked(then)
