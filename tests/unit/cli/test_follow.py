"""klab show --watch with a scripted wait: whatever happens while it waits is on the screen at the next look."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.view_runs import growing, growing_suite

from kernellab.cli.follow import follow
from kernellab.cli.screen import Screen
from kernellab.ledger import kinds
from kernellab.ledger.records import End


def page_of(terminal: bool = False) -> tuple[Screen, io.StringIO]:
    text = io.StringIO()
    return Screen(file=text, width=120, force_terminal=terminal, color_system=None), text


def steps(*actions: Callable[[], object]) -> Callable[[float], None]:
    """A wait in which the next of these happens; one more than there are is an error."""
    left: Iterator[Callable[[], object]] = iter(actions)

    def wait(seconds: float) -> None:
        assert seconds > 0
        next(left)()

    return wait


def test_it_ends_with_the_run_and_has_told_every_trial(tmp_path: Path) -> None:
    screen, page = page_of()
    with growing(tmp_path / "live") as run:
        ends = steps(run.add, run.add, lambda: run.ledger.write(kinds.END, End(results=[])))
        assert follow(screen, run.folder, wait=ends)
    assert re.findall(r"\] #(\d+) ", page.getvalue()) == ["0", "1"]


def test_in_silence_it_ends_as_well(tmp_path: Path) -> None:
    screen, page = page_of()
    with growing(tmp_path / "live") as run:
        ends = steps(run.add, lambda: run.ledger.write(kinds.END, End(results=[])))
        assert follow(screen, run.folder, quiet=True, wait=ends)
    assert page.getvalue() == ""


def test_a_writer_that_is_gone_is_noticed_and_one_that_is_slow_is_waited_for(tmp_path: Path) -> None:
    screen, page = page_of()
    nothing = [lambda: None] * 20
    with growing(tmp_path / "live") as run:
        assert not follow(screen, run.folder, wait=steps(*nothing, run.add, run.ledger.close, *nothing[:7]))
    assert re.findall(r"\] #(\d+) ", page.getvalue()) == ["0"]


def test_a_suite_shows_the_trials_of_the_task_that_it_is_at(tmp_path: Path) -> None:
    screen, page = page_of()
    with growing_suite(tmp_path / "live") as suite:
        first = suite.tasks[0]
        run = suite.begin(first)
        ends = steps(
            run.add,
            run.add,
            run.ledger.close,
            lambda: suite.end(first),
            lambda: suite.ledger.write(kinds.END, End(results=[])),
        )
        assert follow(screen, suite.folder, wait=ends)
    told = re.findall(r"\] (#\d+|\d+/\d+ \S+:)", page.getvalue())
    assert told == ["#0", "#1", f"1/{len(suite.tasks)} {first}:"]


def test_on_a_terminal_the_screen_says_which_task_and_how_far_its_trials_are(tmp_path: Path) -> None:
    screen, page = page_of(terminal=True)
    with growing_suite(tmp_path / "live") as suite:
        run = suite.begin(suite.tasks[0])
        follow(screen, suite.folder, wait=steps(run.add, run.ledger.close, suite.ledger.close, *[lambda: None] * 7))
    shown = page.getvalue()
    assert f"task 1 of {len(suite.tasks)}" in shown
    assert "1 measured, 0 rejected" in shown
    assert "best so far: " in shown
