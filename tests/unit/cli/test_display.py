from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from kernellab.cli.display import (
    LiveDisplay,
    PlainDisplay,
    Silent,
    confirmation_line,
    make_display,
    results_table,
    trial_line,
)
from kernellab.core.events import Event
from kernellab.core.outlook import Outlook
from kernellab.core.records import (
    Artifact,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Passed,
    Proposal,
    Rejected,
    RejectedTrial,
    Timing,
)
from kernellab.ledger.records import Published, Unpublished
from kernellab.search.result import plain

COMMON: dict[str, Any] = {"task": "cube", "dims": {"N": 8}, "proposal": Proposal(source="ab" * 32, name="mine", params={"STEP": 2}),
                          "tier": "T1", "seed": 0, "device": "cpu", "environment": "cd" * 32}  # fmt: skip
ARTIFACT = Artifact(
    id="1" * 64,
    backend="c",
    code="2" * 64,
    plans="3" * 64,
    log="4" * 64,
    compiler="cc",
    flags=[],
    static_bytes=0,
    build_s=0.1,
)
TIMING = Timing(baseline="numpy", threads=1, calls=1, candidate_s=[1e-3], baseline_s=[2e-3], speedup=2.0, speedup_low=1.9, speedup_high=2.1,
                latency_s=1e-3, gb_per_s=3.5, floor_s=5e-4, memory_floor_s=5e-4, of_floor=0.5, of_memory_floor=0.5, checked=1, stopped="raced")  # fmt: skip
PASSED = Passed(level="full", cases=3, max_abs_err=1e-7, max_ulp=1.5, budget_ulp=5.0, deterministic=True)
REJECTED = Rejected(cause="wrong-output", reason="y[3] is [bold]off[/]")
MEASURED = MeasuredTrial(
    trial=0, trust="native", artifact=ARTIFACT, verdict=PASSED, inputs_seed="", timing=TIMING, **COMMON
)
TRIALS = [
    MEASURED,
    RejectedTrial(trial=1, artifact=ARTIFACT, verdict=REJECTED, inputs_seed="", **COMMON),
    FailedTrial(trial=2, status="build-failed", reason="no such header [red]", **COMMON),
    DuplicateTrial(trial=3, artifact=ARTIFACT, of=0, **COMMON),
]
CONFIRMED = Confirmation(trial=0, task="cube", dims={"N": 8}, verdict=PASSED, timing=TIMING, win=True, inputs_seed="")
REFUTED = Confirmation(trial=0, task="cube", dims={"N": 8}, verdict=REJECTED, win=False, inputs_seed="")
RESULT = Published(task="cube", dims={"N": 8}, dtype="float32", status="better", reason="a win", threads=1, trial=0, win=True,
                   baseline="numpy", speedup=2.0, speedup_low=1.9, speedup_high=2.1, latency_s=1e-3, gb_per_s=3.5, of_floor=0.5,
                   of_memory_floor=0.5, max_ulp=1.5, max_abs_err=1e-7)  # fmt: skip
NOTHING = Unpublished(task="cube", dims={"N": 9}, status="nothing-verified", reason="none", threads=1, trial=None)
STORY = [
    Event("start", "run 1 in here", {"task": "cube", "device": "[odd] device", "tier": "T1", "folder": "here"}),
    Event("stage", "cube N=8", {"dims": {"N": 8}, "trials": 4, "number": 0, "shapes": 1}),
    Event("baseline", "numpy: 1.000 ms", {}),
    Event("calibration", "fastest baseline numpy", {}),
    *(Event("trial", "", {"trial": t}) for t in TRIALS),
    Event("note", "there is nothing left to try"),
    Event("science", "generation 0: improve"),
    Event("confirming", "confirming trial 0", {"trial": 0}),
    Event("confirmation", "", {"confirmation": REFUTED, "why": ""}),
    Event("confirmation", "", {"confirmation": CONFIRMED, "why": ""}),
    Event("result", "cube N=8: trial 0 beats", plain(RESULT)),
    Event("end", "better", {}),
]


def told(terminal: bool) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=140, highlight=False)
    with make_display(console, quiet=False) as display:
        for event in STORY:
            display(event)
    return text.getvalue()


def test_the_display_fits_where_it_is_shown() -> None:
    plain, terminal = Console(file=io.StringIO()), Console(file=io.StringIO(), force_terminal=True)
    assert isinstance(make_display(plain, quiet=False), PlainDisplay)
    assert isinstance(make_display(terminal, quiet=False), LiveDisplay)
    assert isinstance(make_display(terminal, quiet=True), Silent)


def test_plain_lines_tell_everything_once_and_in_order() -> None:
    lines = told(terminal=False).splitlines()
    assert len(lines) == len(STORY) - 1  # the end is told by the results table
    wanted = ["run 1 in here", "shape cube N=8", "baseline numpy", "fastest baseline", "#0   mine", "#1   mine", "#2   mine", "#3   mine",
              "nothing left to try", "generation 0", "confirming trial 0", "rejected: wrong-output", "holds: 2.000x of numpy [1.900, 2.100]", "beats"]  # fmt: skip
    for line, words in zip(lines, wanted, strict=True):
        assert words in line


@pytest.mark.parametrize(
    ("win", "why", "words"),
    [
        (False, "the lower end must exceed 3.000", "is no win: 2.000x of numpy [1.900, 2.100] (the lower end must exceed 3.000), "),
        (False, "", "is no win: 2.000x of numpy [1.900, 2.100], "),
        (True, "", "holds: 2.000x of numpy [1.900, 2.100], "),
    ],
)  # fmt: skip
def test_what_is_no_win_says_why(win: bool, why: str, words: str) -> None:
    timing = TIMING.model_copy(update={"speedup": 2.0, "speedup_low": 1.9, "speedup_high": 2.1, "baseline": "numpy"})
    told = confirmation_line(CONFIRMED.model_copy(update={"win": win, "timing": timing}), why)
    assert words in told


def test_text_of_candidates_is_never_read_as_markup() -> None:
    text = told(terminal=False)
    assert "y[3] is [bold]off[/]" in text
    assert "no such header [red]" in text


def test_the_live_screen_survives_the_whole_story() -> None:
    text = told(terminal=True)
    assert "✔ cube N=8: trial 0 beats" in text
    assert "[odd] device" in text, "a device name is no markup"


def test_the_live_screen_shows_the_best_trial_and_counts_the_others() -> None:
    display, seen = (
        LiveDisplay(Console(file=io.StringIO(), force_terminal=True)),
        Console(file=io.StringIO(), width=140),
    )
    for event in STORY:
        display(event)
    seen.print(display._screen())
    text = seen.file.getvalue()  # type: ignore[attr-defined]
    assert "best so far: 2.00x of numpy, mine STEP=2" in text
    assert "1 measured, 1 rejected, 1 failed, 1 duplicate" in text
    assert "4/4" in text


@pytest.mark.parametrize(
    ("trial", "words"),
    list(zip(TRIALS, ["2.00x [1.90, 2.10]    1.000 ms  50 % of floor raced  STEP=2", "rejected: wrong-output: ", "build-failed: no such header",
                      "same machine code as #0"], strict=True)),
    ids=lambda v: getattr(v, "status", ""),
)  # fmt: skip
def test_a_trial_in_one_line(trial: Any, words: str) -> None:
    assert words in trial_line(trial).plain


def test_a_short_time_is_not_shown_as_none() -> None:
    timing = TIMING.model_copy(update={"latency_s": 3.21e-7})
    assert "   0.321 us  50 % of floor" in trial_line(MEASURED.model_copy(update={"timing": timing})).plain


def test_an_interval_of_few_pairs_does_not_look_sure() -> None:
    timing = TIMING.model_copy(update={"disturbed": True, "dropped": [(1e-3, 2e-3)] * 3})
    line = trial_line(MEASURED.model_copy(update={"timing": timing}))
    assert "raced disturbed (1 pair, 3 of 4 tries dropped)" in line.plain
    assert not any(span.style == "green" for span in line.spans)


def test_a_disturbed_confirmation_is_not_called_no_win() -> None:
    timing = TIMING.model_copy(update={"disturbed": True, "dropped": [(1e-3, 2e-3)] * 3})
    said = trial_line(MEASURED, CONFIRMED.model_copy(update={"timing": timing, "win": False})).plain
    assert "right, and the machine too busy to confirm its speed (1 pair, 3 of 4 tries dropped)" in said
    assert "confirmed, no win (1 pair" in trial_line(MEASURED, CONFIRMED.model_copy(update={"win": False})).plain


def test_no_ratio_is_shown_without_its_interval_baseline_threads_and_share_of_the_floor() -> None:
    text = io.StringIO()
    Console(file=text, width=140).print(
        results_table(
            [
                RESULT,
                RESULT.model_copy(update={"status": "nothing-better"}),
                NOTHING,
            ],
            wide=True,
        )
    )
    lines = text.getvalue().splitlines()
    assert "2.000x [1.900, 2.100] " in lines[2]
    for words in ("numpy, f32, 1 thr", "50 %", "3.50", "1.5", "1e-07"):
        assert words in lines[2]
    assert "(no win)" in lines[3]
    assert "nothing-verified" in lines[4]
    assert "x [" not in lines[4]


def test_the_setting_of_a_baselines_knobs_is_shown_with_its_name() -> None:
    text = io.StringIO()
    Console(file=text, width=140).print(
        results_table([RESULT.model_copy(update={"baseline": "triton-rows[num_warps=8]"})])
    )
    assert "triton-rows[num_warps=8], f32" in text.getvalue()


def test_on_a_terminal_a_suites_tasks_stay_and_what_is_waited_for_is_said() -> None:
    page = io.StringIO()
    console = Console(file=page, force_terminal=True, width=90, color_system=None)
    with LiveDisplay(console) as display:
        told = {"suite_task": {"task": "a"}, "progress": {"done": 1, "total": 3, "left_s": 40.0}}
        display(Event("note", "1/3 a: better, about 40 s left", told))
        display(Event("note", "waiting for a quiet machine"))
        display(Event("stage", "b N=8", {"number": 0, "shapes": 1, "trials": 2}))
        display(Event("doing", "building mine"))
    shown = page.getvalue()
    assert shown.count("1/3 a: better") >= 1
    for words in (
        "waiting for a quiet machine",
        "building mine",
        "0 of at most 2 trials, task 2 of 3, about 40 s left",
    ):
        assert words in shown, words
    assert "waiting" not in shown.rpartition("\x1b[2K")[2], "what was waited for does not stay"


def test_a_log_says_now_and_then_how_far_the_run_is() -> None:
    now = [0.0]
    page = io.StringIO()
    display = PlainDisplay(Console(file=page, width=200), Outlook(lambda: now[0]))
    display(Event("stage", "cube N=8", {"number": 0, "shapes": 1, "trials": 5}))
    for seconds in (10, 20, 31, 40, 62):
        now[0] = float(seconds)
        display(Event("trial", "", {"trial": MEASURED}))
        display(Event("doing", "building mine"))
    told = [line for line in page.getvalue().splitlines() if "trials" in line]
    assert told == [
        "[  31.0s] 3 of at most 5 trials, about 20 s left, confirmations aside",
        "[  62.0s] 5 of at most 5 trials, about 0 s left, confirmations aside",
    ]
    assert "building mine" not in page.getvalue()
