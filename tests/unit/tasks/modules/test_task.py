"""A captured graph as a task: its buffers, its judge, its identity, and what a looser contract allows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from tests.unit.tasks.modules import graphs  # noqa: E402

from kernellab.core.errors import TaskRefused  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import GraphRecord, Ref  # noqa: E402
from kernellab.tasks.inputs import draw_inputs  # noqa: E402
from kernellab.tasks.load import load_task  # noqa: E402
from kernellab.tasks.modules.importing import Wishes  # noqa: E402
from kernellab.tasks.modules.locate import write_record  # noqa: E402
from kernellab.tasks.modules.record import read_module_record  # noqa: E402
from kernellab.tasks.modules.task import module_task  # noqa: E402
from kernellab.tasks.oracle import expect, run_trusted  # noqa: E402
from kernellab.tasks.spec import Task  # noqa: E402
from kernellab.verdict.controls import examine  # noqa: E402
from kernellab.verdict.numeric import within  # noqa: E402


def task_of(record: GraphRecord, wishes: Wishes | None = None) -> Task:
    return module_task(graphs.module_record(record, wishes or Wishes()))


@pytest.mark.parametrize("record", [graphs.linear(), graphs.maximum(), graphs.total(), graphs.masked(), graphs.fixed()])
def test_hand_made_graphs_prove_their_judge(record: GraphRecord) -> None:
    assert examine(task_of(record)).remarks == ()


def test_single_numbers_are_buffers_of_one_and_booleans_are_bytes() -> None:
    task = task_of(graphs.masked())
    assert [(b.name, b.extents, b.dtype) for b in task.inputs] == [
        ("x", ("d0", 8), "float32"), ("mask", ("d0", 8), "uint8"), ("factor", (1,), "float32"),
    ]  # fmt: skip
    assert task_of(graphs.total()).outputs[0].extents == (1,)


def test_weights_are_inputs_that_change_at_every_call() -> None:
    weight, given = task_of(graphs.linear()).inputs
    assert weight.weight
    assert not weight.constant
    assert not given.weight


def test_rounded_operands_pass_where_the_contract_allows_them_and_fail_where_not() -> None:
    def rounded(precision: str) -> list[bool]:
        task = task_of(graphs.linear(terms=256), Wishes(precision=precision))  # type: ignore[arg-type]
        assert task.captured is not None
        passed = []
        for kind in task.distributions:
            inputs = draw_inputs(task, task.edge[-1], kind, np.random.default_rng(1))
            cut = [(a.view(np.uint32) + np.uint32(0x1000) & np.uint32(0xFFFFE000)).view(np.float32) for a in inputs]
            got = [v.astype(np.float32) for v in task.reference(*(a.astype(np.float64) for a in cut))]
            passed.append(all(map(within, got, expect(task, task.edge[-1], inputs))))
        return passed

    assert not any(rounded("ieee"))
    assert all(rounded("tf32"))


def test_torch_itself_passes_under_every_distribution() -> None:
    task = task_of(graphs.linear())
    for kind in task.distributions:
        inputs = draw_inputs(task, task.tune[0], kind, np.random.default_rng(2))
        assert all(map(within, run_trusted(task, inputs, task.tune[0]), expect(task, task.tune[0], inputs)))


def test_any_of_several_largest_elements_may_be_named_and_no_other() -> None:
    task = task_of(graphs.maximum())
    x = np.zeros((4, 5), np.float32)
    x[:, 1] = x[:, 3] = 2
    expected = expect(task, {"d0": 4, "d1": 5}, [x])
    for place, right in ((1, True), (3, True), (0, False), (9, False), (-1, False)):
        assert within(np.full(4, place, np.int64), expected[1]) is right


def test_an_output_that_ignores_its_input_is_refused() -> None:
    made = graphs.tensor("d0", 8)
    nothing = graphs.node("nothing", "aten.mul.Tensor", [Ref(ref="x"), 0.0], made)
    both = graphs.node("y", "aten.add.Tensor", [Ref(ref="nothing"), Ref(ref="w")], made)
    record = graphs.graph(
        [graphs.given("w", graphs.tensor(8), "weight"), graphs.given("x", made)], [nothing, both], {"d0": 16}
    )
    with pytest.raises(TaskRefused, match="does not depend on any of its inputs"):
        examine(task_of(record))


def test_a_weight_without_effect_is_a_remark() -> None:
    made = graphs.tensor("d0", 8)
    shifted = graphs.node("shifted", "aten.add.Tensor", [Ref(ref="x"), Ref(ref="shift")], made)
    softmax = graphs.node("y", "aten._softmax.default", [Ref(ref="shifted"), 1, False], made)
    record = graphs.graph(
        [graphs.given("shift", graphs.tensor(1), "weight"), graphs.given("x", made)], [shifted, softmax], {"d0": 16}
    )
    assert "the output does not depend on 'shift': a kernel may ignore it" in examine(task_of(record)).remarks


def test_the_record_alone_makes_the_same_task_again(tmp_path: Path) -> None:
    record = graphs.module_record(graphs.linear())
    path = write_record(record, tmp_path)
    assert read_module_record(path) == record
    assert write_record(record, tmp_path) == path
    assert load_task(path).fingerprint() == module_task(record).fingerprint()


def test_the_identity_covers_graph_contract_and_shapes_but_no_names() -> None:
    plain = graphs.module_record(graphs.linear())
    renamed = plain.model_copy(update={"graph": plain.graph.model_copy(update={"name": "other"})})
    assert renamed.digest == plain.digest
    assert graphs.module_record(graphs.linear(), Wishes(precision="tf32")).digest != plain.digest
    assert graphs.module_record(graphs.linear(terms=33)).digest != plain.digest
    other = plain.model_copy(update={"shapes": plain.shapes.model_copy(update={"tune": ({"d0": 9},)})})
    assert module_task(other).fingerprint() != module_task(plain).fingerprint()


def test_an_edited_record_is_refused_in_words(tmp_path: Path) -> None:
    path = Path(write_record(graphs.module_record(graphs.linear()), tmp_path))
    path.write_text(path.read_text().replace('"precision":"ieee"', '"precision":"none"'))
    with pytest.raises(TaskRefused, match="is no record of a module"):
        load_task(str(path))


def test_only_inputs_that_must_be_read_whole_count_as_bytes() -> None:
    task = task_of(graphs.linear(rows=64, terms=32, columns=16))
    assert task.least_bytes({"d0": 64}) == 4 * (32 * 16 + 64 * 32 + 64 * 16)
    rows = graphs.node("y", "aten.index_select.default", [Ref(ref="x"), 0, Ref(ref="i")], graphs.tensor("d1", 8))
    inputs = [
        graphs.given("x", graphs.tensor("d0", 8)),
        graphs.given("i", graphs.tensor("d1", dtype="int64"), seen=None),
    ]
    picking = task_of(graphs.graph(inputs, [rows], {"d0": 32, "d1": 4}))
    assert picking.least_bytes({"d0": 32, "d1": 4}) == 4 * 4 * 8


@pytest.mark.heavy
def test_what_is_only_moved_or_chosen_must_be_equal() -> None:
    """Nothing was rounded, so there is nothing that another rounding could have made of it."""
    record = capture_object(_Module(lambda x: x.relu().transpose(0, 1)), (torch.randn(6, 10),))
    task = task_of(record)
    inputs = draw_inputs(task, task.edge[-1], "own", np.random.default_rng(1))
    (wanted,) = expect(task, task.edge[-1], inputs)
    (right,) = run_trusted(task, inputs, task.edge[-1])
    assert within(right, wanted)
    assert not within(np.nextafter(right, np.float32(np.inf)), wanted)


@pytest.mark.heavy
def test_between_short_types_the_errors_of_all_elements_are_held_together() -> None:
    """A bound on each is as wide as the graph's own roundings: an error of three ULP everywhere lies inside it."""
    record = capture_object(_Module(lambda x: torch.tanh(torch.tanh(x) * 0.75)), (torch.randn(32, 64).bfloat16(),))
    task = task_of(record)
    inputs = draw_inputs(task, task.tune[0], "own", np.random.default_rng(1))
    (wanted,) = expect(task, task.tune[0], inputs)
    (right,) = run_trusted(task, inputs, task.tune[0])
    assert within(right, wanted)
    off = (right.astype(np.float64) * (1 + 3 * 2.0**-7)).astype(right.dtype)
    alone = right.copy()
    alone.flat[7] = off.flat[7]
    assert within(alone, wanted)
    assert not within(off, wanted)


class _Module(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: Any) -> Any:
        return self._function(x)


@pytest.mark.heavy
def test_counts_that_rounding_decides_are_refused_and_where_it_does_is_remarked() -> None:
    """Counts of what lies within bfloat16's reach of a threshold may be anything: nothing could be judged by them."""
    inputs = (torch.randn(16, 64).bfloat16(),)
    undecided = capture_object(_Module(lambda x: (torch.tanh(x) * 0.001 + 1.0 > 1.0).sum(-1)), inputs)
    with pytest.raises(TaskRefused, match="what rounding may do to 'out' is as large as its values"):
        examine(task_of(undecided))
    decided = capture_object(_Module(lambda x: (x > 0.25).sum(-1)), inputs)
    assert examine(task_of(decided)).remarks == ()
