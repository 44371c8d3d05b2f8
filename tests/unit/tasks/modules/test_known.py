"""Known answers as tensors (on the processor here): the intervals of the ordinary oracle, whole and in slices."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs

from kernellab.graph.record import (
    GraphRecord,
    Ref,
)
from kernellab.tasks.expected import Bounds
from kernellab.tasks.modules.host_arrays import array, array_of_dtype, tensors
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.oracle import TorchOracle
from kernellab.tasks.modules.slices import parts, repeating_size
from kernellab.tasks.modules.task import module_task

torch = pytest.importorskip("torch")
GRAPHS = {"linear": graphs.linear(), "maximum": graphs.maximum(), "masked": graphs.masked(), "total": graphs.total()}


def dims_of(record: GraphRecord, rows: int = 37) -> dict[str, int]:
    return {s.name: rows for s in record.symbols}


def same(found: Bounds, wanted: Bounds) -> bool:
    return torch.equal(found.low, wanted.low) and torch.equal(found.high, wanted.high)


@pytest.mark.parametrize("record", GRAPHS.values(), ids=GRAPHS)
def test_the_intervals_are_those_of_the_ordinary_oracle(record: GraphRecord) -> None:
    oracle, dims = TorchOracle(record, "ieee"), dims_of(record)
    known = oracle.known(dims, 5)
    assert known is not None
    inputs = [array(t) for t in known.inputs]
    for found, wanted in zip(known.outputs, oracle.expect(dims, inputs), strict=True):
        low, high = (array_of_dtype(end) if end.is_floating_point() else array(end) for end in (found.low, found.high))
        np.testing.assert_array_equal(low, wanted.low)
        np.testing.assert_array_equal(high, wanted.high)
        assert found.budget_ulp == wanted.budget_ulp


@pytest.mark.parametrize("record", GRAPHS.values(), ids=GRAPHS)
def test_inputs_come_in_the_shapes_and_types_of_their_buffers_and_differ_by_seed(record: GraphRecord) -> None:
    task, dims = module_task(graphs.module_record(record, Wishes())), dims_of(record)
    oracle = TorchOracle(record, "ieee")
    first, again, other = (oracle.draw(dims, seed) for seed in (1, 1, 2))
    for buffer, one, two, three in zip(task.inputs, first, again, other, strict=True):
        assert tuple(one.shape) == buffer.shape(dims)
        assert array_of_dtype(one).dtype == np.dtype(buffer.dtype)
        assert torch.equal(one, two)
        assert one.numel() < 8 or not torch.equal(one, three)


def test_rows_that_do_not_meet_are_sliced_and_a_sum_over_all_of_them_is_not() -> None:
    assert repeating_size(graphs.linear()) == "d0"
    assert repeating_size(graphs.masked()) == "d0"
    assert repeating_size(graphs.total()) == ""


@pytest.mark.parametrize("count", [2, 5, 64])
def test_slices_give_what_the_whole_gives(count: int) -> None:
    record = graphs.linear()
    answers = TorchOracle(record, "ieee")._answers
    given = tensors(record, answers.draw(dims_of(record), 3))
    whole, sliced = answers._bounded(given, 1), answers._bounded(given, count)
    for one, other in zip(whole, sliced, strict=True):
        assert one.low.shape == other.low.shape
        assert other.budget_ulp == pytest.approx(one.budget_ulp, rel=0.5)
        middle = (one.low.double() + one.high.double()) / 2
        assert bool((other.low.double() <= middle).all())
        assert bool((other.high.double() >= middle).all())


def test_every_row_is_in_one_slice() -> None:
    record = graphs.linear()
    given = tensors(record, TorchOracle(record, "ieee").draw(dims_of(record), 3))
    rows = next(i.name for i in record.inputs if i.role == "input")
    pieces = [part[rows] for _, part in parts(record, "d0", given, 5)]
    assert len(pieces) == 5
    assert torch.equal(torch.cat(pieces), given[rows])


def test_without_memory_there_are_no_known_answers() -> None:
    """Whatever is tried runs out of it: the caller then does without."""
    record = graphs.total()
    answers = TorchOracle(record, "ieee")._answers

    def short(_given: object, alone: bool) -> list[Bounds]:
        raise torch.OutOfMemoryError("no memory")

    answers._judge = short  # type: ignore[assignment]
    assert answers.known(dims_of(record), 1) is None


def test_rows_that_a_branch_mixes_for_some_booleans_alone_do_not_repeat() -> None:
    """Seen: a module whose rows take the mean of all where they are masked, cut into slices with a mean each."""
    rows, mean = graphs.tensor("d0", 8), graphs.tensor(1, 8)
    keep = graphs.given("keep", graphs.tensor("d0", 1, dtype="bool"), seen=None)
    nodes = [
        graphs.node("mean", "aten.mean.dim", [Ref(ref="x"), [0], True], mean),
        graphs.node("y", "aten.where.self", [Ref(ref="keep"), Ref(ref="x"), Ref(ref="mean")], rows),
    ]
    assert repeating_size(graphs.graph([graphs.given("x", rows), keep], nodes, {"d0": 64})) == ""
