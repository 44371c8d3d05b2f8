"""Progress by a scripted clock."""

from __future__ import annotations

from collections.abc import Iterator

from kernellab.suite.progress import Progress


def clock(*times: float) -> Iterator[float]:
    yield from times


def test_the_time_left_follows_from_those_that_were_done_here() -> None:
    times = clock(0.0, 20.0, 20.0, 4000.0)
    progress = Progress(10, lambda: next(times), already=4)
    progress.done()
    assert progress.left_s == 100.0
    assert progress.line("norm", "ok") == "5/10 norm: ok, about 2 min left"
    progress.done()
    assert progress.line("norm", "ok") == "6/10 norm: ok, about 2.2 h left"


def test_nothing_is_said_before_the_first_and_after_the_last() -> None:
    progress = Progress(1, lambda: 0.0)
    assert progress.left_s is None
    progress.done()
    assert progress.line("a", "b") == "1/1 a: b"
