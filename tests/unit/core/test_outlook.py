"""How far a run is and how long it may take, by a scripted clock."""

from __future__ import annotations

from kernellab.core.events import Event
from kernellab.core.outlook import Outlook, duration


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def stage(number: int, shapes: int = 2, trials: int = 3, **more: object) -> Event:
    return Event("stage", f"shape {number}", {"number": number, "shapes": shapes, "trials": trials, **more})


def test_before_the_first_trial_nobody_can_tell() -> None:
    clock = Clock()
    outlook = Outlook(clock)
    assert (outlook.left_s, outlook.words) == (None, "")
    outlook.hear(stage(0))
    clock.now = 8
    assert outlook.left_s is None
    assert outlook.words == "0 of at most 3 trials, shape 1 of 2"
    assert (outlook.doing, outlook.doing_s) == ("measuring ceilings, drawing inputs, starting baselines", 8.0)


def test_what_is_left_is_by_the_pace_of_the_trials_and_what_earlier_shapes_took() -> None:
    clock = Clock()
    outlook = Outlook(clock)
    outlook.hear(stage(0))
    clock.now = 10
    outlook.hear(Event("calibration", "fastest baseline numpy"))
    for clock.now in (12, 14):
        outlook.hear(Event("trial", ""))
    assert outlook.left_s == 2 + (10 + 3 * 2)  # one trial here; the other shape is set up and has three
    assert outlook.words == "2 of at most 3 trials, shape 1 of 2, about 18 s left, confirmations aside"
    assert outlook.place == "2 of at most 3 trials, shape 1 of 2"
    clock.now = 16
    outlook.hear(Event("trial", ""))
    assert outlook.doing == "confirming the best"
    clock.now = 21
    outlook.hear(Event("result", "better"))
    assert outlook.left_s == 10 + 3 * 2 + 5
    outlook.hear(stage(1))
    clock.now = 31
    outlook.hear(Event("calibration", ""))
    for clock.now in (33, 35, 37):
        outlook.hear(Event("trial", ""))
    clock.now = 39
    assert outlook.left_s == 3, "the confirmation took five seconds before, and two are over"
    assert outlook.words == "3 of at most 3 trials, shape 2 of 2, about 3 s left"
    clock.now = 60
    assert outlook.left_s == 0


def test_what_is_waited_for_is_the_last_that_was_said() -> None:
    clock = Clock()
    outlook = Outlook(clock)
    for kind, text in (
        ("doing", "building mine"),
        ("note", "waiting for a quiet machine"),
        ("trial", ""),
        ("note", ""),
    ):
        outlook.hear(Event(kind, text))  # type: ignore[arg-type]
        assert outlook.doing == (text or "the next trial")
    clock.now = 4
    outlook.hear(Event("doing", "the next trial"))
    assert outlook.doing_s == 4, "the same again is no news"


def test_a_suite_tells_its_own_and_its_tasks_do_not_overrule_it() -> None:
    clock = Clock()
    outlook = Outlook(clock)
    outlook.hear(Event("doing", "a", {"progress": {"done": 0, "total": 4, "left_s": None}}))
    outlook.hear(stage(0, shapes=1))
    outlook.hear(Event("trial", ""))
    assert outlook.left_s is None
    assert outlook.words == "1 of at most 3 trials, task 1 of 4"
    outlook.hear(Event("note", "1/4 a: better", {"progress": {"done": 1, "total": 4, "left_s": 300.0}}))
    clock.now = 60
    assert outlook.words == "task 2 of 4, about 4 min left", "the trials of the task before are no longer news"
    assert outlook.data() == {
        "doing": "1/4 a: better", "trials": 0, "trials_at_most": 0, "task": 2, "tasks": 4, "left_s": 240.0,
    }  # fmt: skip
    outlook.hear(stage(0, shapes=1))
    outlook.hear(Event("trial", "", {"progress": {"done": 1, "total": 4, "left_s": 200.0}}))
    assert outlook.words == "1 of at most 3 trials, task 2 of 4, about 3 min left"


def test_a_part_of_a_study_ends_without_a_confirmation() -> None:
    clock = Clock()
    outlook = Outlook(clock)
    outlook.hear(stage(1, shapes=3, part="part"))
    clock.now = 2
    outlook.hear(Event("trial", ""))
    assert outlook.words == "1 of at most 3 trials, part 2 of 3, about 10 s left"


def test_durations_are_told_as_people_would() -> None:
    told = [duration(seconds) for seconds in (None, 0.4, 89, 90, 5399, 5400, 90000)]
    assert told == ["unknown", "0 s", "89 s", "2 min", "90 min", "1.5 h", "25.0 h"]
