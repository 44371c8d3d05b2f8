"""What a captured graph must give: values in float64, the room a contract leaves, arrays that cross to torch and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from tests.unit.tasks.modules import graphs  # noqa: E402

from kernellab.core.errors import TaskRefused  # noqa: E402
from kernellab.graph.record import GraphRecord, Ref  # noqa: E402
from kernellab.tasks.inputs import draw_inputs  # noqa: E402
from kernellab.tasks.modules.draws import OWN  # noqa: E402
from kernellab.tasks.modules.host_arrays import array, tensor_of, tensors  # noqa: E402
from kernellab.tasks.modules.needs import answer_bytes  # noqa: E402
from kernellab.tasks.modules.oracle import TorchOracle, rounding  # noqa: E402
from kernellab.tasks.modules.task import module_task  # noqa: E402
from kernellab.tasks.modules.usable import usable  # noqa: E402
from kernellab.tasks.oracle import run_reference, run_trusted  # noqa: E402

DICE = np.random.default_rng(3)
W, X = DICE.standard_normal((32, 16)).astype(np.float32), DICE.standard_normal((5, 32)).astype(np.float32)


def test_the_reference_is_the_graph_in_float64() -> None:
    (found,) = TorchOracle(graphs.linear(), "ieee").reference(W.astype(np.float64), X.astype(np.float64))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.maximum(X.astype(np.float64) @ W.astype(np.float64), 0), rtol=1e-14)


@pytest.mark.parametrize("record", [graphs.linear(), graphs.maximum(), graphs.total(), graphs.masked()])
def test_plain_outputs_are_the_reference_and_then_what_torch_gives_in_the_modules_own_types(
    record: GraphRecord,
) -> None:
    task = module_task(graphs.module_record(record))
    inputs = draw_inputs(task, task.edge[0], OWN, np.random.default_rng(1))
    held = [tensor_of(a) if n % 2 else a for n, a in enumerate(inputs)]
    found = TorchOracle(record, "ieee").plain(held)
    wanted = [*run_reference(task, inputs), *run_trusted(task, inputs, task.edge[0])]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_large_weights_are_tried_where_answers_are_made_and_taken_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    large, places = graphs.linear(terms=1100, columns=1000), []
    record = graphs.module_record(large)
    found, taken = TorchOracle.there, []
    monkeypatch.setattr(
        TorchOracle, "there", lambda oracle, values: taken.append(values.shape) or found(oracle, values)
    )
    monkeypatch.setattr(TorchOracle, "__init__", _noting(places))
    assert usable(record)[:2] == ("own", "normal")
    assert places[-1] == "cuda"  # where there is one; else the processor answers
    assert 1 <= len(taken) <= 12
    assert set(taken) == {(1100, 1000)}


def test_fixed_sizes_that_do_not_fit_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: a layer of 32768x32768 took all memory of a machine, and the system ended the laboratory."""
    record = graphs.module_record(graphs.linear(terms=1100, columns=1000))
    needed = answer_bytes(record.graph, {"d0": 17})
    assert 50e6 < needed < 60e6
    monkeypatch.setattr("kernellab.tasks.modules.usable.available_bytes", lambda: 50_000_000)
    with pytest.raises(
        TaskRefused, match=r"takes about 0\.05\d+ GB of memory, 0\.05 are available, even at a small shape"
    ):
        usable(record)


def test_a_view_takes_no_memory_and_keeps_what_it_looks_at() -> None:
    shape, turned = graphs.tensor(100, 200), graphs.tensor(200, 100)
    nodes = [graphs.node("t", "aten.t.default", [Ref(ref="x")], turned), graphs.node("y", "aten.exp.default", [Ref(ref="t")], turned),
             graphs.node("z", "aten.exp.default", [Ref(ref="y")], turned)]  # fmt: skip
    plain = graphs.graph(
        [graphs.given("x", turned)],
        [n.model_copy(update={"args": (Ref(ref="x"),)}) if n.name == "y" else n for n in nodes[1:]],
        {},
    )
    viewed = graphs.graph([graphs.given("x", shape)], nodes, {})
    assert answer_bytes(viewed, {}) == answer_bytes(plain, {})


def test_a_weight_that_is_drawn_anew_is_not_taken_for_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device holds a copy: where the array of one is freed, that of another may lie at its place."""
    monkeypatch.setattr(TorchOracle, "there", lambda oracle, values: tensor_of(values.copy()))
    plain, wrong = TorchOracle.plain, []

    def held(oracle: TorchOracle, inputs: Any) -> Any:
        wrong.extend(
            n for n, (a, b) in enumerate(zip(inputs, drawn[-1], strict=True)) if not np.array_equal(np.asarray(a), b)
        )
        return plain(oracle, inputs)

    drawn: list[Any] = []
    monkeypatch.setattr(TorchOracle, "plain", held)
    monkeypatch.setattr(
        "kernellab.tasks.modules.usable.draw_inputs", lambda *a, **k: drawn.append(draw_inputs(*a, **k)) or drawn[-1]
    )
    usable(graphs.module_record(graphs.linear(terms=1100, columns=1000)))
    assert drawn
    assert not wrong


def test_places_and_booleans_keep_a_module_off_a_device() -> None:
    assert graphs.linear().floats_alone
    assert graphs.fixed().floats_alone
    assert not graphs.maximum().floats_alone
    assert not graphs.masked().floats_alone
    assert not graphs.linear().model_copy(update={"written": graphs.maximum()}).floats_alone


def _noting(places: list[str]) -> Any:
    begin = TorchOracle.__init__

    def noted(oracle: TorchOracle, graph: GraphRecord, precision: Any, device: str = "cpu") -> None:
        places.append(device)
        begin(oracle, graph, precision, device)

    return noted


def test_a_looser_contract_leaves_more_room_around_the_same_value() -> None:
    ieee, tf32 = (TorchOracle(graphs.linear(), p).expect({"d0": 5}, [W, X])[0] for p in ("ieee", "tf32"))  # type: ignore[arg-type]
    np.testing.assert_array_equal(ieee.value, tf32.value)
    assert ((ieee.low <= ieee.value) & (ieee.value <= ieee.high)).all()
    assert np.median((tf32.high - tf32.low) / (ieee.high - ieee.low)) > 10


def test_an_exact_output_accepts_every_index_that_ties() -> None:
    values = np.array([[1, 3, 3, 0]], np.float32)
    largest, place = TorchOracle(graphs.maximum(), "ieee").expect({"d0": 1, "d1": 4}, [values])
    assert place.exact
    assert place.also is not None
    assert [bool(place.also(np.array([i], np.int64))[0]) for i in range(4)] == [False, True, True, False]
    assert largest.value.tolist() == [3.0]


def test_operators_without_a_scale_rule_are_named_and_others_are_not() -> None:
    assert TorchOracle(graphs.linear(), "ieee").unscaled([W, X]) == ()
    made = graphs.tensor("d0")
    odd = graphs.node("y", "aten.special_i0e.default", [Ref(ref="x")], made)
    record = graphs.graph([graphs.given("x", made)], [odd], {"d0": 4})
    assert TorchOracle(record, "ieee").unscaled([np.ones(4, np.float32)]) == ("aten.special_i0e.default",)


@pytest.mark.parametrize(("precision", "kept"), [("tf32", 2.0**-10), ("f16", 2.0**-10), ("bf16", 2.0**-7)])
def test_a_contract_rounds_to_the_nearest_of_its_own_bits(precision: str, kept: float) -> None:
    rounded = rounding(precision)  # type: ignore[arg-type]
    assert rounded is not None
    given = torch.tensor([1.0, 1 + kept, 1 + 0.4 * kept, 1 + 0.6 * kept, -1 - 0.6 * kept], dtype=torch.float64)
    assert rounded(given).tolist() == [1.0, 1 + kept, 1.0, 1 + kept, -1 - kept]
    assert rounded(given).dtype == torch.float64


def test_ieee_rounds_nothing() -> None:
    assert rounding("ieee") is None


def test_bytes_become_booleans_and_buffers_of_one_become_single_numbers() -> None:
    x, mask = np.ones((2, 8), np.float32), np.array([[0, 1] * 4] * 2, np.uint8)
    found = tensors(graphs.masked(), [x, mask, np.array([3.0], np.float32)])
    assert (found["mask"].dtype, found["factor"].shape) == (torch.bool, ())
    (back,) = TorchOracle(graphs.masked(), "ieee").reference(x, mask, np.array([3.0], np.float32))
    assert back.tolist() == [[0.0, 3.0] * 4] * 2


def test_bfloat16_keeps_its_bits_on_the_way_to_torch() -> None:
    values = np.array([1.0, -2.5, 3.140625], ml_dtypes.bfloat16)
    assert tensor_of(values).dtype == torch.bfloat16
    assert tensor_of(values).float().tolist() == [1.0, -2.5, 3.140625]


def test_outputs_come_back_with_an_axis_and_booleans_as_bytes() -> None:
    assert array(torch.tensor(2.0)).tolist() == [2.0]
    flags = array(torch.tensor([True, False]))
    assert (flags.dtype, flags.tolist()) == (np.uint8, [1, 0])
