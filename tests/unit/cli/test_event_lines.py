"""--events: what a program reads, line by line."""

from __future__ import annotations

import io
import json
from typing import Any

from tests.support.recorded import CUBE

from kernellab.cli.event_lines import EventLines
from kernellab.core.events import Event
from kernellab.core.outlook import Outlook
from kernellab.core.records import MeasuredTrial
from kernellab.ledger.run import Run

STAGE = Event("stage", "cube N=4096", {"trials": 3, "number": 0, "shapes": 2})


def lines(*events: Event, outlook: Outlook | None = None) -> list[dict[str, Any]]:
    text = io.StringIO()
    with EventLines(text, outlook) as listener:
        for event in events:
            listener(event)
    return [json.loads(line) for line in text.getvalue().splitlines()]


def test_every_event_is_one_line_with_what_is_waited_for_and_where() -> None:
    doing, stage = lines(Event("doing", "building mine"), STAGE)
    assert (doing["event"], doing["text"], doing["doing"]) == ("doing", "building mine", "building mine")
    assert (stage["text"], stage["shape"], stage["shapes"]) == ("shape cube N=4096", 1, 2)
    assert (stage["trials"], stage["trials_at_most"], stage["left_s"]) == (0, 3, None)
    assert 0 <= doing["at_s"] <= stage["at_s"]


def test_a_line_break_in_a_text_breaks_no_line() -> None:
    (line,) = lines(Event("note", "one\ntwo \u2028 three"))
    assert line["text"] == "one\ntwo \u2028 three"


def test_a_start_names_the_folder() -> None:
    (line,) = lines(Event("start", "run 1 in here", {"folder": "here", "task": "cube", "device": "cpu", "tier": "T1"}))
    assert line["folder"] == "here"


def test_a_trial_says_its_name_status_and_if_it_was_timed_its_speedup() -> None:
    trials = Run(CUBE).trials
    told = lines(*(Event("trial", "", {"trial": trial}) for trial in trials))
    for line, trial in zip(told, trials, strict=True):
        assert (line["trial"], line["name"], line["status"]) == (trial.trial, trial.proposal.name, trial.status)
        assert ("speedup" in line) == isinstance(trial, MeasuredTrial)
    measured = next(t for t in trials if isinstance(t, MeasuredTrial))
    assert told[measured.trial]["speedup"] == measured.timing.speedup


def test_the_seconds_left_follow_from_the_pace_of_the_trials() -> None:
    now = [0.0]
    outlook = Outlook(lambda: now[0])
    text = io.StringIO()
    listener = EventLines(text, outlook)
    listener(STAGE)
    listener(Event("calibration", "fastest baseline numpy"))
    now[0] = 4.0
    listener(Event("trial", "", {"trial": Run(CUBE).trials[0]}))
    last = json.loads(text.getvalue().splitlines()[-1])
    assert (last["trials"], last["left_s"]) == (1, 2 * 4.0 + 3 * 4.0)
