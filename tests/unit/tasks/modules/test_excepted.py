"""Which inputs hold exceptions, told by a distribution's name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs
from tests.unit.tasks.modules.test_draws import sums

from kernellab.graph.record import GraphRecord, Ref, Seen
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.modules.device_draws import DeviceDraws
from kernellab.tasks.modules.excepted import Excepted, excepts
from kernellab.tasks.modules.host_arrays import array
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.spec import Array

SEEN = Seen(low=0.0, high=1.0, mean=0.5, zeros=0.0)
SIZES = {"d0": 64, "d1": 48}


def several(count: int) -> GraphRecord:
    """So many inputs of one size, added up."""
    made, inputs = (
        graphs.tensor("d0", "d1"),
        [graphs.given(f"x{n}", graphs.tensor("d0", "d1"), seen=SEEN) for n in range(count)],
    )
    nodes, last = [], "x0"
    for n in range(1, count):
        nodes.append(graphs.node(f"y{n}", "aten.add.Tensor", [Ref(ref=last), Ref(ref=f"x{n}")], made))
        last = f"y{n}"
    return graphs.graph(inputs, nodes, SIZES)


def both(record: GraphRecord, kind: str, seed: int) -> list[list[Array]]:
    """All inputs as the host draws them and as a device would."""
    pytest.importorskip("torch")
    task = module_task(graphs.module_record(record).model_copy(update={"distributions": ("own", kind)}))
    dims = {"d0": 300, "d1": 200}
    there = DeviceDraws(record, "cpu").draw(dims, seed, kind)
    return [draw_inputs(task, dims, kind, np.random.default_rng(seed)), [array(t) for t in there]]


def outside(values: Array) -> Array:
    return (values < 0) | (values > 1)


def test_each_of_several_inputs_has_exceptions_alone() -> None:
    record = several(2)
    assert graphs.module_record(record).distributions[-3:] == ("slabs", "exceptions:x0", "exceptions:x1")
    for number, kind in enumerate(("exceptions:x0", "exceptions:x1")):
        assert excepts(kind)
        for seed in range(3):
            for values in both(record, kind, seed):
                assert outside(values[number]).any()
                assert not outside(values[1 - number]).any()


def test_inputs_of_one_size_have_exceptions_at_the_same_places() -> None:
    below = 0
    for seed in range(6):
        for first, second in both(several(2), "exceptions", seed):
            places = [outside(v) for v in (first, second)]
            assert (places[0] & places[1]).sum() >= 0.2 * min(p.sum() for p in places)
            below += int(((first < 0) & (second < 0)).sum())
    assert below > 20


def test_an_input_that_has_no_zero_keeps_no_other_from_having_one() -> None:
    pytest.importorskip("torch")
    made = graphs.tensor("d0", "d1")
    divided = graphs.node("y", "aten.div.Tensor", [Ref(ref="x"), Ref(ref="z")], made)
    near = Seen(low=0.5, high=1.0, mean=0.75, zeros=0.0)
    record = graphs.graph([graphs.given("x", made, seen=SEEN), graphs.given("z", made, seen=near)], [divided], SIZES)
    found = graphs.module_record(record).distributions
    assert found[-5:] == ("exceptions-nonzero", "rows-nonzero", "slabs-nonzero", "exceptions:x", "exceptions-nonzero:z")


def test_an_only_input_needs_no_distribution_of_its_own_and_a_single_number_does() -> None:
    assert not list(Excepted(graphs.linear()).alone)
    single = graphs.graph(
        [graphs.given("x", graphs.tensor("d0")), graphs.given("f", graphs.tensor())],
        [graphs.node("y", "aten.mul.Tensor", [Ref(ref="x"), Ref(ref="f")], graphs.tensor("d0"))], {"d0": 40},
    )  # fmt: skip
    assert [kinds[0] for kinds in Excepted(single).alone] == ["exceptions:x", "exceptions:f"]


def test_of_three_inputs_two_have_exceptions_without_the_third() -> None:
    record = several(3)
    assert graphs.module_record(record).distributions[-3:] == tuple(f"exceptions:but x{n}" for n in range(3))
    for values in both(record, "exceptions:but x1", 1):
        assert [bool(outside(v).any()) for v in values] == [True, False, True]


def test_of_many_inputs_every_sixth_are_drawn_together_and_neighbours_left_out_together() -> None:
    record = several(8)
    excepted = Excepted(record)
    kinds = [kinds[0] for kinds in excepted.alone]
    assert kinds == [
        *(f"exceptions:x{n}" for n in range(6)), *(f"exceptions:but x{n}" for n in (0, 2, 4, 6)),
    ]  # fmt: skip

    def reached(kind: str) -> set[str]:
        return {e.name for e in record.inputs if excepted.reach(kind, e) is not None}

    assert reached("exceptions:x1") == {"x1", "x7"}
    assert reached("exceptions:but x2") == {e.name for e in record.inputs} - {"x2", "x3"}
    pairs = [(a.name, b.name) for a in record.inputs for b in record.inputs if a.name != b.name]
    apart = [(a, b) for a, b in pairs if any((a in reached(k)) and (b not in reached(k)) for k in kinds)]
    assert apart == pairs, "whoever knows one input whole does not know the other"


def test_large_inputs_have_exceptions_together_where_several_small_ones_can_be_read_whole() -> None:
    made, row = graphs.tensor("d0", "d1"), graphs.tensor("d1")
    inputs = [graphs.given(n, made if n in "xy" else row, seen=SEEN) for n in "xyfg"]
    nodes = [
        graphs.node("a", "aten.add.Tensor", [Ref(ref="x"), Ref(ref="y")], made),
        graphs.node("b", "aten.mul.Tensor", [Ref(ref="a"), Ref(ref="f")], made),
        graphs.node("z", "aten.add.Tensor", [Ref(ref="b"), Ref(ref="g")], made),
    ]
    record = graphs.graph(inputs, nodes, SIZES)
    assert graphs.module_record(record).distributions[-1] == "exceptions:the large"
    for values in both(record, "exceptions:the large", 1):
        assert [bool(outside(v).any()) for v in values] == [True, True, False, False]


def test_masks_and_weights_have_none() -> None:
    mask = graphs.given("m", graphs.tensor("d0", "d1"), seen=Seen(low=0, high=0, mean=0, zeros=0.7, hidden=0.3))
    weight: Any = graphs.given("w", graphs.tensor("d0", "d1"), "weight")
    for entry in (mask, weight):
        record = sums(entry)
        assert not list(Excepted(record).alone)
        assert Excepted(record).reach("exceptions", record.inputs[1]) is None
        found = Excepted(record).reach("exceptions", record.inputs[0])
        assert found is not None
        assert found.far == math.inf
        assert Excepted(record).reach("normal", record.inputs[0]) is None
