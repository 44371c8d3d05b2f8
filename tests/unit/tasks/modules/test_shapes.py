"""Derived shapes keep every condition of the graph, and are small enough to judge."""

from __future__ import annotations

import pytest
from tests.unit.tasks.modules import graphs

from kernellab.core.errors import TaskRefused
from kernellab.graph.record import Ref
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.record import ShapeGroups
from kernellab.tasks.modules.shapes import ONLY, derive, valid, work


def test_the_example_is_timed_and_the_others_differ_from_it() -> None:
    found = derive(graphs.maximum())
    assert found.tune == ({"d0": 40, "d1": 24},)
    assert len(found.held_out) == 2
    assert len(found.edge) == 4
    assert not [d for d in (*found.held_out, *found.edge) if d in found.tune]


def test_held_out_shapes_follow_from_the_graph_and_not_from_the_timed_shape() -> None:
    """Whoever knows the timed shape, and how shapes are derived, must not know them: another graph has others."""
    size = {"d0": 400, "d1": 300}
    made, found = graphs.tensor("d0", "d1"), []
    for op in ("exp", "tanh", "sin", "cos", "sigmoid", "erf"):
        node = graphs.node("y", f"aten.{op}.default", [Ref(ref="x")], made)
        record = graphs.graph([graphs.given("x", made)], [node], size)
        assert derive(record) == derive(record)
        assert derive(record).tune == (size,)
        found += [tuple(d.values()) for d in derive(record).held_out]
    assert len(set(found)) == len(found) == 12
    assert all(190 <= a < 400 and 140 <= b < 300 for a, b in found)


def test_an_example_that_is_too_large_is_halved_until_it_fits() -> None:
    record = graphs.graph(
        [graphs.given("x", graphs.tensor("d0", 1024))],
        [graphs.node("y", "aten.exp.default", [Ref(ref="x")], graphs.tensor("d0", 1024))],
        {"d0": 1 << 22},
    )
    assert work(record, derive(record).tune[0]) <= 1 << 24
    assert derive(record, 1 << 40).tune == ({"d0": 1 << 22},)


def test_conditions_on_the_sizes_are_kept() -> None:
    record = graphs.linear(rows=64).model_copy(update={"requires": ("d0 % 4 == 0", "d0 >= 8")})
    found = derive(record)
    shapes = [*found.tune, *found.held_out, *found.edge]
    assert all(d["d0"] % 4 == 0 and d["d0"] >= 8 for d in shapes)
    assert all(valid(record, d) for d in shapes)


def test_values_that_would_be_empty_are_no_shapes() -> None:
    record = graphs.graph(
        [graphs.given("x", graphs.tensor("d0", 4))],
        [graphs.node("y", "aten.slice.Tensor", [Ref(ref="x"), 0, 10], graphs.tensor("d0 - 10", 4))],
        {"d0": 32},
    )
    found = derive(record)
    assert all(d["d0"] > 10 for d in (*found.held_out, *found.edge))


def test_a_graph_without_free_sizes_has_one_shape_under_three_numbers() -> None:
    assert derive(graphs.fixed()) == ShapeGroups(tune=({ONLY: 1},), held_out=({ONLY: 2},), edge=({ONLY: 3},))


def test_no_other_shape_is_a_refusal() -> None:
    with pytest.raises(TaskRefused, match="no other shape"):
        derive(graphs.linear().model_copy(update={"requires": ("d0 == 64",)}))


def test_shapes_of_the_users_own_are_taken_or_refused_with_the_rules() -> None:
    own = ShapeGroups(tune=({"d0": 5},), held_out=({"d0": 6},), edge=({"d0": 7},))
    assert graphs.module_record(graphs.linear(), Wishes(shapes=own)).shapes == own
    wrong = own.model_copy(update={"edge": ({"d0": 1},)})
    with pytest.raises(TaskRefused, match="no shape d0=1") as caught:
        graphs.module_record(graphs.linear(), Wishes(shapes=wrong))
    assert caught.value.fix == "its free sizes: d0 >= 2"
