"""Builds that run ahead of the measurements: which idea comes next, how many at once, and what happens when one breaks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence

import pytest

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.c import CBuilder
from kernellab.propose.base import Idea, TrialOutcome
from kernellab.search.ahead import Ahead
from kernellab.tasks.spec import Task

Build = Callable[[Idea], Built | NotBuilt]


class Line:
    """Proposes ideas 0, 1, 2, ... and remembers how many it was asked for."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.asked = 0

    def ask(self, n: int) -> list[Idea]:
        first, self.asked = self.asked, min(self.asked + n, self.length)
        return [Idea(Candidate("", f"idea {number}"), {"N": number}, "") for number in range(first, self.asked)]

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        """A line does not change its course."""


def wait_until(condition: Callable[[], bool]) -> None:
    """As long as a busy machine takes; pytest ends what hangs."""
    while not condition():
        time.sleep(0.001)


def refuse(idea: Idea) -> NotBuilt:
    return NotBuilt("invalid", f"{idea.params['N']}")


def reason(found: tuple[Idea, Built | NotBuilt] | None) -> tuple[str, str]:
    assert found is not None
    idea, built = found
    assert isinstance(built, NotBuilt)
    return idea.candidate.name, built.reason


@pytest.mark.parametrize("jobs", [0, 1, 3])
def test_every_idea_comes_once_with_its_own_build_and_then_nothing_is_left(jobs: int) -> None:
    with Ahead(Line(7), refuse, jobs) as ahead:
        pairs = [reason(ahead.next(7 - n)) for n in range(7)]
        assert sorted(pairs) == [(f"idea {n}", f"{n}") for n in range(7)]
        assert ahead.next(1) is None
        assert ahead.next(1) is None


def test_without_jobs_nothing_runs_ahead_and_everything_in_the_callers_thread() -> None:
    """Beside a processor that is being measured, nobody else may work."""
    threads: list[threading.Thread] = []

    def build(idea: Idea) -> NotBuilt:
        threads.append(threading.current_thread())
        return refuse(idea)

    line = Line(9)
    with Ahead(line, build, 0) as ahead:
        assert [reason(ahead.next(9))[1] for _ in range(3)] == ["0", "1", "2"]
        assert line.asked == 3
    assert set(threads) == {threading.current_thread()}


def test_with_jobs_so_many_build_at_a_time_and_a_few_more_wait() -> None:
    here, together = threading.Barrier(3, timeout=600), []

    def build(idea: Idea) -> NotBuilt:
        if int(idea.params["N"]) < 3:
            here.wait()  # passes only when three are here at once
            together.append(idea.params["N"])
        return refuse(idea)

    line = Line(50)
    with Ahead(line, build, 3) as ahead:
        ahead.next(50)
        assert line.asked == 5
        ahead.next(49)
        assert line.asked == 6
    assert sorted(together) == [0, 1, 2]


def test_the_idea_that_is_ready_first_comes_first() -> None:
    release = threading.Event()

    def build(idea: Idea) -> NotBuilt:
        if idea.params["N"] == 0:
            release.wait(600)
        return refuse(idea)

    with Ahead(Line(3), build, 3) as ahead:
        order = [reason(ahead.next(3))[1], reason(ahead.next(2))[1]]
        release.set()
        order.append(reason(ahead.next(1))[1])
    assert sorted(order[:2]) == ["1", "2"]
    assert order[2] == "0"


def test_of_several_that_are_ready_the_earliest_idea_comes_first() -> None:
    done = [threading.Event() for _ in range(4)]

    def build(idea: Idea) -> NotBuilt:
        number = int(idea.params["N"])
        if number == 0:
            assert all(event.wait(600) for event in done[1:])
        done[number].set()
        return refuse(idea)

    with Ahead(Line(4), build, 4) as ahead:
        first = reason(ahead.next(4))[1]
        assert done[0].wait(600)
        wait_until(lambda: all(future.done() for _, future in ahead._running))
        rest = [reason(ahead.next(3 - n))[1] for n in range(3)]
    assert rest == sorted({"0", "1", "2", "3"} - {first})


@pytest.mark.parametrize("jobs", [1, 3, 16])
def test_no_more_is_built_than_there_are_trials_left(jobs: int) -> None:
    built: list[str] = []

    def build(idea: Idea) -> NotBuilt:
        built.append(idea.candidate.name)
        return refuse(idea)

    with Ahead(Line(50), build, jobs) as ahead:
        for left in (2, 1):
            ahead.next(left)
    assert len(built) == 2


@pytest.mark.parametrize("jobs", [0, 3])
def test_a_build_that_breaks_is_not_swallowed_and_the_others_still_come(jobs: int) -> None:
    def build(idea: Idea) -> NotBuilt:
        if idea.params["N"] == 1:
            raise OSError("no space left")
        return refuse(idea)

    came, broke = [], []
    with Ahead(Line(4), build, jobs) as ahead:
        for left in (4, 3, 2, 1):
            try:
                came.append(reason(ahead.next(left))[1])
            except OSError as err:
                broke.append(str(err))
    assert (sorted(came), broke) == (["0", "2", "3"], ["no space left"])


def test_on_the_way_out_what_has_not_begun_is_dropped_and_what_has_is_waited_for() -> None:
    begun: list[int] = []
    ended: list[int] = []
    opened: list[Ahead] = []
    started = threading.Event()

    def build(idea: Idea) -> NotBuilt:
        number = int(idea.params["N"])
        begun.append(number)
        if number == 1:
            started.set()
            wait_until(lambda: all(future.cancelled() for _, future in opened[0]._running[1:]))
        ended.append(number)
        return refuse(idea)

    def interrupted() -> None:
        with Ahead(Line(50), build, 1) as ahead:
            opened.append(ahead)
            assert reason(ahead.next(50))[1] == "0"
            assert started.wait(600)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert begun == ended == [0, 1]
    assert not [t for t in threading.enumerate() if t.name.startswith("build")]


@pytest.mark.backend_c
@pytest.mark.parametrize("jobs", [0, 3])
def test_real_builds_beside_each_other_give_what_they_give_alone(
    jobs: int, builder: CBuilder, double_task: Task
) -> None:
    """One sandbox, several threads: every artifact belongs to its own idea, and a broken one stays its own fault."""
    text = '''
SPACE = {"N": [0, 1, 2, 3, 4, 5]}
SOURCE = r"""
const int pad = N;
#if N == 4
#error "four"
#endif
void k(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }
"""
def launch(x, y, N):
    if N == 5:
        raise ValueError("five")
    kernel("k")(x, y, x.size)
'''
    candidate = Candidate(text, "padded")

    def build(idea: Idea) -> Built | NotBuilt:
        return builder.build(double_task, candidate, idea.params, [{"N": 16}])

    with Ahead(Line(6), build, jobs) as ahead:
        found = [ahead.next(6 - n) for n in range(6)]
    by_number = {int(idea.params["N"]): built for idea, built in (f for f in found if f)}
    codes = set()
    for number in range(4):
        built = by_number[number]
        assert isinstance(built, Built), built
        assert f"-DN={number}" in built.artifact.flags
        alone = builder.build(double_task, candidate, {"N": number}, [{"N": 16}])
        assert isinstance(alone, Built)
        assert built.artifact.id == alone.artifact.id
        codes.add(built.artifact.code)
    assert len(codes) == 4
    four, five = by_number[4], by_number[5]
    assert isinstance(four, NotBuilt)
    assert isinstance(five, NotBuilt)
    assert (four.status, five.status, five.reason) == ("build-failed", "invalid", "five")


def test_others_may_use_the_processors_once_few_builds_are_left() -> None:
    left: list[int] = []
    with Ahead(Line(20), refuse, 8, spare=lambda: left.append(20 - done)) as ahead:
        for done in range(20):
            assert ahead.next(20 - done) is not None
    assert left
    assert max(left) <= 8 // 4 + 1


def test_the_interpreter_changes_hands_more_often_while_builds_run_beside() -> None:
    before = sys.getswitchinterval()
    with Ahead(Line(1), refuse, 2):
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before
    with Ahead(Line(1), refuse, 0):
        assert sys.getswitchinterval() == before
