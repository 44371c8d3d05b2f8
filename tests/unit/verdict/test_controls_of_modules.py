"""Proofs of captured modules, where another device computes what is expected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.unit.tasks.modules import graphs

from kernellab.graph.record import Ref
from kernellab.tasks.expected import Array, Expected
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.oracle import TorchOracle
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.spec import dims_label, elements
from kernellab.verdict.controls import examine, prove


class Elsewhere(TorchOracle):
    """A device that rounds float64 sums in another order: the last bit differs."""

    def expect(self, dims: dict[str, int], inputs: list[Array]) -> list[Expected]:
        found = super().expect(dims, inputs)
        return [e if e.exact else replace(e, value=np.nextafter(e.value, np.inf)) for e in found]


def test_a_proof_asks_the_processor_whatever_device_the_task_is_for() -> None:
    record = graphs.module_record(graphs.linear(), Wishes())
    task = module_task(record)
    assert task.captured is not None
    there = replace(task, captured=replace(task.captured, oracle=Elsewhere(record.graph, "ieee")))
    assert prove(there) == prove(task) > 0


def test_an_output_that_cannot_show_precision_is_named_beside_one_that_can() -> None:
    made = graphs.tensor("d0", 8)
    nodes = [
        graphs.node("plain", "aten.tanh.default", [Ref(ref="x")], made),
        graphs.node("much", "aten.mul.Scalar", [Ref(ref="plain"), 3.0], made),
        graphs.node("far", "aten.add.Scalar", [Ref(ref="much"), 1e4], made),
        graphs.node("near", "aten.sub.Scalar", [Ref(ref="far"), 1e4], made),
    ]
    both = graphs.graph([graphs.given("x", made)], nodes, {"d0": 16}, ("near", 0), ("plain", 0))
    remarks = examine(module_task(graphs.module_record(both))).remarks
    assert "precision of 'out' cannot be judged: a kernel that does 'TF32 inputs' would pass every case" in remarks
    alone = graphs.graph([graphs.given("x", made)], nodes, {"d0": 16}, ("near", 0))
    remarks = examine(module_task(graphs.module_record(alone))).remarks
    assert "precision cannot be judged: a kernel that does 'TF32 inputs' would pass every case" in remarks
    clear = graphs.graph([graphs.given("x", made)], nodes[:1], {"d0": 16})
    assert examine(module_task(graphs.module_record(clear))).remarks == ()


def test_indices_that_cannot_show_precision_are_remarked_on() -> None:
    """The largest of what five products give: what rounding may do to them is more than TF32 does."""
    nodes, last = [], "x"
    for n in range(5):
        made = graphs.tensor("d0", 64)
        nodes.append(graphs.node(f"p{n}", "aten.mm.default", [Ref(ref=last), Ref(ref=f"w{n}")], made))
        nodes.append(graphs.node(f"a{n}", "aten.abs.default", [Ref(ref=f"p{n}")], made))
        last = f"a{n}"
    nodes.append(graphs.node("best", "aten.argmax.default", [Ref(ref=last), 1], graphs.tensor("d0", dtype="int64")))
    weights = [graphs.given(f"w{n}", graphs.tensor(64, 64), "weight") for n in range(5)]
    deep = graphs.graph([*weights, graphs.given("x", graphs.tensor("d0", 64))], nodes, {"d0": 48})
    remarks = examine(module_task(graphs.module_record(deep))).remarks
    assert "precision cannot be judged: a kernel that does 'TF32 inputs' would pass every case" in remarks
    plain = graphs.graph(
        [graphs.given("x", graphs.tensor("d0", 64))],
        [graphs.node("best", "aten.argmax.default", [Ref(ref="x"), 1], graphs.tensor("d0", dtype="int64"))],
        {"d0": 400},
    )
    assert examine(module_task(graphs.module_record(plain))).remarks == ()


def test_a_last_tile_that_is_always_zero_is_no_reason_to_refuse() -> None:
    """The gradient of a pool that leaves the last column out."""
    made, part = graphs.tensor("d0", 9), graphs.tensor("d0", 8)
    nodes = [
        graphs.node("cut", "aten.slice.Tensor", [Ref(ref="x"), 1, 0, 8], part),
        graphs.node("far", "aten.sinh.default", [Ref(ref="cut")], part),
        graphs.node("y", "aten.constant_pad_nd.default", [Ref(ref="far"), [0, 1]], made),
    ]
    record = graphs.graph([graphs.given("x", made)], nodes, {"d0": 33})
    assert prove(module_task(graphs.module_record(record))) > 0


@pytest.mark.heavy
def test_a_softmax_of_long_rows_is_no_matter_of_luck() -> None:
    """Zeros alone make thousands of like terms, by which torch's own sum is off; it depends on the machine how far."""
    made = graphs.tensor("d0", 32768)
    softmax = graphs.node("y", "aten._softmax.default", [Ref(ref="x"), 1, False], made)
    record = graphs.module_record(graphs.graph([graphs.given("x", made)], [softmax], {"d0": 3}))
    assert record.distributions[3] in ("sparse", "bare")
    assert prove(module_task(record)) > 0


@pytest.mark.heavy
def test_what_is_large_at_any_shape_is_proved_at_one() -> None:
    """At all of them where one leaves something to remark."""
    width = 2200
    made = graphs.tensor("d0", width)
    given = [graphs.given("w", graphs.tensor(width, width), "weight"), graphs.given("x", made)]
    product = graphs.node("product", "aten.mm.default", [Ref(ref="x"), Ref(ref="w")], made)
    plain = module_task(graphs.module_record(graphs.graph(given, [product], {"d0": 8})))
    assert min(elements(plain.inputs, dims) for dims in plain.edge) >= 1 << 22
    proof = examine(plain)
    assert (proof.remarks, {dims_label(case.dims) for case, _, _ in proof.drawn}) == (
        (),
        {dims_label(max(plain.edge, key=plain.least_bytes))},
    )
    nodes = [
        product,
        graphs.node("nothing", "aten.mul.Scalar", [Ref(ref="v"), 0.0], graphs.tensor(width)),
        graphs.node("both", "aten.add.Tensor", [Ref(ref="product"), Ref(ref="nothing")], made),
    ]
    idle = graphs.given("v", graphs.tensor(width), "weight")
    with_idle = module_task(graphs.module_record(graphs.graph([idle, *given], nodes, {"d0": 8})))
    proof = examine(with_idle)
    assert proof.remarks
    assert {dims_label(case.dims) for case, _, _ in proof.drawn} == {dims_label(d) for d in with_idle.edge}
