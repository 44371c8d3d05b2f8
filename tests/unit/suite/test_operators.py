"""The class of a graph's operators, and products whose sum can be taken first."""

from __future__ import annotations

from tests.unit.tasks.modules.graphs import given, graph, linear, node, tensor

from kernellab.graph.record import GraphRecord, Ref
from kernellab.suite.operators import linear_collapse, operator_class


def product(*after: tuple[str, list[object], tuple[int | str, ...]]) -> GraphRecord:
    """x @ w, and then these: an op, its further arguments, and the shape of its result."""
    nodes = [node("p0", "aten.mm.default", [Ref(ref="x"), Ref(ref="w")], tensor("d0", 16))]
    for number, (op, more, shape) in enumerate(after, 1):
        nodes.append(node(f"p{number}", op, [Ref(ref=f"p{number - 1}"), *more], tensor(*shape)))
    inputs = [given("w", tensor(32, 16), "weight"), given("x", tensor("d0", 32))]
    return graph(inputs, nodes, {"d0": 64})


SUM = ("aten.sum.dim_IntList", [[1]], ("d0",))


def test_the_dearest_operator_gives_its_name() -> None:
    assert operator_class(linear()) == "product"
    only = graph([given("x", tensor("d0"))], [node("y", "aten.relu.default", [Ref(ref="x")], tensor("d0"))], {"d0": 64})
    assert operator_class(only) == "pointwise"


def test_a_sum_after_a_product_collapses_through_what_is_linear() -> None:
    assert linear_collapse(product(SUM)) == "mm goes into sum with nothing but linear operators between"
    assert linear_collapse(product(("aten.div.Tensor", [2.0], ("d0", 16)), SUM))
    assert linear_collapse(product(("aten.mul.Tensor", [2.0], ("d0", 16)), SUM))


def test_nothing_collapses_where_something_else_lies_between_or_nothing_is_summed() -> None:
    assert not linear_collapse(product(("aten.relu.default", [], ("d0", 16)), SUM))
    assert not linear_collapse(product())
    assert not linear_collapse(product(("aten.mul.Tensor", [Ref(ref="p0")], ("d0", 16)), SUM))  # its square
    assert not linear_collapse(product(("aten.sum.dim_IntList", [[]], ("d0", 16))))  # over nothing


def test_a_product_in_the_denominator_is_not_linear() -> None:
    nodes = [
        node("p", "aten.mm.default", [Ref(ref="x"), Ref(ref="w")], tensor("d0", 16)),
        node("q", "aten.div.Tensor", [Ref(ref="b"), Ref(ref="p")], tensor("d0", 16)),
        node("s", "aten.sum.dim_IntList", [Ref(ref="q"), [1]], tensor("d0")),
    ]
    inputs = [given("w", tensor(32, 16), "weight"), given("b", tensor(16), "weight"), given("x", tensor("d0", 32))]
    assert not linear_collapse(graph(inputs, nodes, {"d0": 64}))
