"""What no case brings about is said beside the verdict."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from tests.unit.tasks.modules import graphs

from kernellab.graph.record import Node, Ref
from kernellab.tasks.modules.task import module_task
from kernellab.verdict.controls import examine

MADE = graphs.tensor("d0", 8)


def remarks(*nodes: Node) -> tuple[str, ...]:
    """Of a graph of x whose last node is the output."""
    record = graphs.graph([graphs.given("x", MADE)], list(nodes), {"d0": 64})
    return examine(module_task(graphs.module_record(record))).remarks


def of_x(name: str, op: str, *arguments: Any) -> Node:
    return graphs.node(name, op, [Ref(ref="x"), *arguments], MADE)


def on(source: str, op: str, *arguments: Any) -> Node:
    return graphs.node("y", op, [Ref(ref=source), *arguments], MADE)


def test_a_bound_behind_the_first_operator_that_nothing_reaches_is_named() -> None:
    assert remarks(of_x("a", "aten.tanh.default"), on("a", "aten.clamp.default", -0.5, 40.0)) == (
        "no case reaches the upper bound of 'clamp': a kernel may leave it out",
    )
    assert remarks(of_x("a", "aten.tanh.default"), on("a", "aten.clamp_max.default", 0.5)) == ()
    assert remarks(of_x("a", "aten.exp2.default"), on("a", "aten.clamp_min.default", -1.0)) == (
        "no case reaches the lower bound of 'clamp_min': a kernel may leave it out",
    )


def test_a_bound_of_an_input_is_reached_however_far_away() -> None:
    assert remarks(of_x("y", "aten.clamp.default", -1e4, 1e4)) == ()
    assert remarks(of_x("y", "aten.hardtanh.default")) == ()


def test_a_condition_that_always_falls_one_way_is_named() -> None:
    tame = of_x("tame", "aten.tanh.default")
    flags = graphs.node("far", "aten.gt.Scalar", [Ref(ref="tame"), 7.0], graphs.tensor("d0", 8, dtype="bool"))
    chosen = graphs.node("y", "aten.where.self", [Ref(ref="far"), Ref(ref="x"), Ref(ref="tame")], MADE)
    assert "no case reaches the first of 'where': a kernel may leave it out" in remarks(tame, flags, chosen)
    near = graphs.node("far", "aten.gt.Scalar", [Ref(ref="tame"), 0.25], graphs.tensor("d0", 8, dtype="bool"))
    assert remarks(tame, near, chosen) == ()


def test_the_larger_of_two_is_sometimes_one_and_sometimes_the_other() -> None:
    halved = of_x("half", "aten.mul.Scalar", 0.5)
    assert remarks(halved, on("half", "aten.maximum.default", Ref(ref="x"))) == ()
    above = [
        of_x("square", "aten.tanh.default"),
        graphs.node("high", "aten.add.Scalar", [Ref(ref="square"), 2.0], MADE),
    ]
    larger = graphs.node("y", "aten.maximum.default", [Ref(ref="high"), Ref(ref="square")], MADE)
    assert "no case reaches the second of 'maximum': a kernel may leave it out" in remarks(*above, larger)
