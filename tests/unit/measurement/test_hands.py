"""Pieces of work by two threads."""

from __future__ import annotations

import os
import threading
import time

import pytest

from kernellab.measurement.hands import each


def test_results_come_in_the_order_of_the_pieces() -> None:
    def slow(piece: int) -> int:
        time.sleep(0.002 * (piece % 3))
        return piece * piece

    assert each(slow, range(40)) == [piece * piece for piece in range(40)]
    assert each(slow, []) == []
    assert each(slow, [7]) == [49]


def test_every_piece_is_done_once() -> None:
    done: list[int] = []
    each(done.append, range(500))
    assert sorted(done) == list(range(500))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor has no helper")
@pytest.mark.parametrize("mine", [True, False])
def test_what_either_thread_raises_is_raised(mine: bool) -> None:
    own = threading.get_ident()

    def fails(piece: int) -> int:
        if piece and (threading.get_ident() == own) is mine:
            raise ValueError("a piece is broken")
        time.sleep(0.02)  # so that both have some
        return piece

    with pytest.raises(ValueError, match="a piece is broken"):
        each(fails, range(8))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor has no helper")
@pytest.mark.parametrize("mine", [True, False], ids=["by this thread", "by the helper"])
def test_nobody_does_what_is_left_when_a_piece_is_broken(mine: bool) -> None:
    begun: list[int] = []
    own, broken = threading.get_ident(), threading.Event()

    def fails(piece: int) -> None:
        begun.append(piece)
        if (threading.get_ident() == own) is mine:
            broken.set()
            raise ValueError("the first")
        broken.wait(600)  # the other one has the next piece, however late it comes
        time.sleep(0.1)

    with pytest.raises(ValueError, match="the first"):
        each(fails, range(200))
    assert len(begun) < 100
