"""Several plans for a graph: which they are, how they are ranked, and that all of them mean the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.unit.graph.conftest import record_of  # noqa: E402
from tests.unit.graph.modules import CASES  # noqa: E402
from tests.unit.lower.judged import assert_passes, processor, task_of  # noqa: E402
from tests.unit.lower.meaning import computed  # noqa: E402
from tests.unit.lower.test_candidates import chain  # noqa: E402
from tests.unit.lower.test_fusion import WITHOUT, inputs_of  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.lower.attention import attention_of  # noqa: E402
from kernellab.lower.candidates import written  # noqa: E402
from kernellab.lower.cost import Ceilings  # noqa: E402
from kernellab.lower.plans import Ranked, plans  # noqa: E402
from kernellab.targets.base import DeviceSetup  # noqa: E402
from kernellab.tasks.generated.formula import SMALL, draw  # noqa: E402

SLOW_MEMORY = Ceilings(bandwidth=1e9, flops=1e12, tensor_flops=0.0, launch_s=0.0)
SLOW_WORK = Ceilings(bandwidth=1e12, flops=1e9, tensor_flops=0.0, launch_s=0.0)


@pytest.fixture(scope="module")
def device() -> Iterator[DeviceSetup]:
    with processor() as opened:
        yield opened


def captured(subject: Any, *inputs: Any) -> GraphRecord:
    return capture_object(subject, inputs, "subject")


def formula(seed: int) -> GraphRecord:
    scope: dict[str, Any] = {}
    exec(draw(seed, SMALL, "float32").text, scope)
    return capture_object(scope["Model"](), scope["get_inputs"](), "formula")


def stored(plan: Ranked) -> list[str]:
    return [stores[0].tensor[0] for stores in plan.fusion.kernels]


def swish_norm(x: Any) -> Any:
    """Its tanh is used by a row's mean and by the row."""
    y = torch.tanh(x) * 0.5
    return x - y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1)


SIZES = {"d0": 8192, "d1": 4096}


def test_a_value_that_a_row_needs_twice_is_computed_twice_where_memory_is_slow_and_stored_where_work_is() -> None:
    record = captured(swish_norm, torch.rand(33, 76))
    best, *_ = plans(record, SIZES, "c", SLOW_MEMORY)
    assert len(best.fusion.kernels) == 1
    best, *_ = plans(record, SIZES, "c", SLOW_WORK)
    assert len(best.fusion.kernels) == 2
    assert [written(record, "c", SIZES, on=on)[0].name for on in (SLOW_MEMORY, SLOW_WORK)] == [
        "nest_recomputed_subject",
        "nest_subject",
    ]


def test_a_row_that_stays_in_registers_is_not_stored_on_a_gpu() -> None:
    """The rules would have its tanh stored; all forms of the better plan are given, and one of theirs."""
    record = captured(swish_norm, torch.rand(33, 76))
    best, usual = plans(record, SIZES, "triton")
    assert (best.fusion.label, len(best.fusion.kernels), best.whole) == ("recomputed", 1, True)
    assert (usual.fusion.label, len(usual.fusion.kernels), usual.whole) == ("", 2, False)
    assert usual.seconds > 1.5 * best.seconds
    names = [w.name for w in written(record, "triton", SIZES)]
    assert names == ["row_recomputed_subject_triton", "row_loop_recomputed_subject_triton", "flat_subject_triton"]


def test_a_cheap_value_that_is_used_twice_is_computed_twice() -> None:
    record = captured(lambda x: (x * 2 + (x * 2).sum(-1, keepdim=True), (x * 2).exp()), torch.rand(40, 50))
    for language in ("c", "triton"):
        best, *_ = plans(record, SIZES, language)
        assert sum(len(stores) for stores in best.fusion.kernels) == 2  # the outputs, and nothing else


def test_a_product_with_two_uses_is_stored() -> None:
    record = captured(lambda a, b: (torch.softmax(a @ b, -1), (a @ b).relu()), torch.rand(40, 50), torch.rand(50, 60))
    for language in ("c", "triton"):
        best, *_ = plans(record, {"d0": 1024, "d1": 1024, "d2": 1024}, language)
        assert any(name.startswith("mm") for name in stored(best))


def test_a_reduction_that_several_kernels_need_is_stored() -> None:
    def subject(x: Any) -> Any:
        norm = torch.linalg.vector_norm(x)
        return x / norm, (x + 1) * norm

    record = captured(subject, torch.rand(30, 40))
    for language, expected in (("c", [0, 2, 2]), ("triton", [0, 2])):
        best, *_ = plans(record, SIZES, language)
        assert [len(stores[0].axes) for stores in best.fusion.kernels] == expected


def test_the_work_behind_a_product_apart_from_it_is_another_plan_where_it_may_be_as_good() -> None:
    record = captured(
        lambda a, b, c: torch.tanh(a @ b) @ c, *(torch.rand(n, m) for n, m in ((33, 40), (40, 64), (64, 18)))
    )
    sizes = {"d0": 4096, "d1": 2048, "d2": 2048, "d3": 2048}
    first, other = plans(record, sizes, "triton")
    assert (first.fusion.label, other.fusion.label) == ("", "apart")
    assert stored(other) == ["mm", *stored(first)]
    assert first.seconds < other.seconds < 1.3 * first.seconds
    found = written(record, "triton", sizes)[-1]
    assert "_apart_" in found.name
    assert f"mm is a kernel of its own, where the rules would not part it from what stands behind it: {other.seconds * 1e6:.3g} us by estimate, by the rules {first.seconds * 1e6:.3g} us." in found.text  # fmt: skip


@pytest.mark.heavy
def test_attention_in_one_kernel_is_ranked_beside_the_kernels_without_it() -> None:
    scaled = torch.nn.functional.scaled_dot_product_attention
    record = captured(scaled, *(torch.rand(2, 3, 40, 32) for _ in range(3)))
    found = plans(record, {s.name: n for s, n in zip(record.symbols, (4, 16, 2048, 64, 2048), strict=True)}, "triton")
    assert attention_of(found[0].fusion.kernels[0]) is not None
    assert [r.seconds for r in found] == sorted(r.seconds for r in found)
    assert any(not any(map(attention_of, r.fusion.kernels)) for r in found)


def each_means_the_same(record: GraphRecord) -> None:
    given = inputs_of(record)
    wanted = evaluate(record, given)
    arrays = {name: tensor.numpy() for name, tensor in given.items()}
    for language in ("c", "triton"):
        found = plans(record, record.example, language)
        labels = [r.fusion.label for r in found if r.fusion.label]
        assert len(set(labels)) == len(labels) <= 2
        for ranked in found:
            for one, other in zip(computed(ranked.fusion, arrays, record.example), wanted, strict=True):
                np.testing.assert_allclose(one, np.asarray(other.double()), rtol=1e-9, atol=1e-9)


@pytest.mark.heavy
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT])
def test_every_plan_computes_what_the_graph_computes(name: str) -> None:
    each_means_the_same(record_of(name))


@pytest.mark.heavy
@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(40))
def test_every_plan_of_a_formula_computes_it(seed: int) -> None:
    each_means_the_same(formula(seed))


@pytest.mark.heavy
@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", [3, 11, 15, 16, 18, 19, 25, 27])
def test_the_c_of_every_plan_passes_every_case(seed: int, device: DeviceSetup) -> None:
    record = formula(seed)
    task = task_of(record)
    found = [
        w for w in written(record, "c", task.tune[0]) if any(f"_{how}" in w.name for how in ("stored", "recomputed"))
    ]
    for text in found:
        assert_passes(device, task, text)


@pytest.mark.heavy
def test_a_large_graph_has_its_first_plan_alone_and_soon() -> None:
    started = time.process_time()
    assert [r.fusion.label for r in plans(chain(1000), {}, "c")] == [""]
    assert time.process_time() - started < 60
