"""What a fusion is estimated to take: bytes, operations and launches counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.lower.attention import attended  # noqa: E402
from kernellab.lower.cost import CEILINGS, Ceilings, Demand, demand, seconds_of  # noqa: E402
from kernellab.lower.fusion import Fusion, fuse  # noqa: E402
from kernellab.lower.product import counted  # noqa: E402
from kernellab.lower.work import Times, evaluated, evaluated_apart  # noqa: E402

GPU = attended(counted(evaluated_apart))
ROUND = Ceilings(bandwidth=1e3, flops=1e2, tensor_flops=1e4, launch_s=0.5)


def fused(subject: Any, *inputs: Any, model: Times = evaluated) -> Fusion:
    record = capture_object(subject, inputs, "subject")
    return fuse(record, record.example, model)


def test_pointwise_work_reads_and_writes_every_element_once() -> None:
    fusion = fused(lambda x, y: x * y + x, torch.rand(10, 30), torch.rand(30))
    assert demand(fusion, fusion.kernels[0], evaluated, CEILINGS["c"]) == Demand(
        bytes=4 * (300 + 30 + 300), work=300 * (1 + 1 + 1) + 300
    )  # two functions, a load of each input


def test_elements_have_the_bytes_of_their_type() -> None:
    """Between kernels too: the module itself rounds there."""
    fusion = fused(
        lambda a, b, c: (a @ b) @ c, *(torch.rand(n, m).bfloat16() for n, m in ((32, 48), (48, 40), (40, 24)))
    )
    first, second = (demand(fusion, stores, evaluated, CEILINGS["c"]).bytes for stores in fusion.kernels)
    assert first == 2 * (32 * 48 + 48 * 40 + 32 * 40)
    assert second == 2 * (32 * 40 + 40 * 24 + 32 * 24)


def test_of_a_table_no_more_is_read_than_is_looked_up() -> None:
    fusion = fused(lambda table, i: table[i], torch.rand(1000, 8), torch.randint(0, 1000, (5,)))
    assert demand(fusion, fusion.kernels[0], evaluated, CEILINGS["c"]).bytes == 4 * 5 * 8 + 8 * 5 + 4 * 5 * 8


@pytest.mark.heavy
def test_a_product_of_float32_is_six_on_tensor_cores_and_one_of_16_bits_is_one() -> None:
    shapes = ((64, 32), (32, 128))
    for dtype, parts in ((torch.float32, 6), (torch.bfloat16, 1)):
        fusion = fused(lambda a, b: a @ b, *(torch.rand(s).to(dtype) for s in shapes), model=GPU)
        assert demand(fusion, fusion.kernels[0], GPU, CEILINGS["triton"]).dots == 2 * 64 * 32 * 128 * parts
        assert demand(fusion, fusion.kernels[0], GPU, CEILINGS["c"]).dots == 0


@pytest.mark.heavy
def test_attention_in_one_kernel_has_both_products_on_tensor_cores() -> None:
    scaled = torch.nn.functional.scaled_dot_product_attention
    rows = [torch.rand(2, 3, n, 32) for n in (64, 48, 48)]
    fusion = fused(scaled, *rows, model=GPU)
    assert len(fusion.kernels) == 1
    found = demand(fusion, fusion.kernels[0], GPU, CEILINGS["triton"])
    assert found.dots == 6 * 2 * (2 * 2 * 3 * 64 * 48 * 32)
    assert found.bytes == 4 * 2 * 3 * 32 * (64 + 48 + 48 + 64)


def test_a_kernel_takes_a_launch_and_the_longer_of_moving_and_computing() -> None:
    assert Demand(bytes=4000, work=100.0).seconds(ROUND) == 0.5 + 4.0
    assert Demand(bytes=1000, work=300.0).seconds(ROUND) == 0.5 + 3.0
    assert Demand(bytes=1000, work=300.0, dots=2e4).seconds(ROUND) == 0.5 + 3.0 + 2.0


@pytest.mark.heavy
def test_one_long_row_is_the_work_of_one_program_unless_it_can_be_split() -> None:
    given = torch.rand(300, 40)
    for subject, idle in (
        (lambda x: x / x.sum(), 132.0),
        (lambda x: x.sum(), 1.0),
        (lambda x: x / x.sum(1, keepdim=True), 1.0),
        (lambda x: x / x.sum(0), 132 / 40),
    ):
        fusion = fused(subject, given, model=GPU)
        assert demand(fusion, fusion.kernels[-1], GPU, CEILINGS["triton"]).idle == idle
        assert demand(fusion, fusion.kernels[-1], evaluated, CEILINGS["c"]).idle == 1.0


def test_kernels_come_one_after_the_other() -> None:
    fusion = fused(lambda a, b, c: (a @ b) @ c, torch.rand(32, 48), torch.rand(48, 40), torch.rand(40, 24))
    parts = [demand(fusion, stores, evaluated, CEILINGS["c"]).seconds(CEILINGS["c"]) for stores in fusion.kernels]
    assert seconds_of(fusion, evaluated, CEILINGS["c"]) == sum(parts)
    assert len(parts) == 2
