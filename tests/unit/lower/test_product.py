"""Which kernels are products, and what is stored so that they can be."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.unit.lower.meaning import computed  # noqa: E402
from tests.unit.lower.products import SUBJECTS, record_of  # noqa: E402
from torch.nn import functional as nn  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import GraphRecord, sizes_from  # noqa: E402
from kernellab.lower.axes import Axis, Index  # noqa: E402
from kernellab.lower.fusion import Fusion, fuse  # noqa: E402
from kernellab.lower.inline import Store  # noqa: E402
from kernellab.lower.product import counted, operand_of, product_of  # noqa: E402
from kernellab.lower.rules.contractions import scaled  # noqa: E402
from kernellab.lower.sizes import Size  # noqa: E402
from kernellab.lower.values import Apply, apply, guard, load, number, reduce, walk  # noqa: E402
from kernellab.lower.work import evaluated_apart  # noqa: E402

M, N, K = (Axis(name, Size.of(size)) for name, size in (("i", "m"), ("j", "n"), ("r", "k")))


def element(tensor: str, *axes: Axis) -> Any:
    return load(tensor, tuple(Index.of(a) for a in axes), "float")


def stored(value: Any) -> list[Store]:
    return [Store(("y", 0), (Index.of(M), Index.of(N)), value, (M, N))]


def fused(record: GraphRecord, size: int) -> Fusion:
    return fuse(record, {s.name: size for s in record.symbols}, counted(evaluated_apart))


def test_rows_columns_and_terms_are_told_apart() -> None:
    product = reduce("sum", (K,), apply("mul", element("a", M, K), element("b", N, K)))
    found = product_of(stored(apply("max", apply("add", product, element("c", N)), number(0.0))))
    assert found is not None
    assert (found.rows, found.columns, found.batch, found.along) == ((M,), (N,), (), (K,))
    assert found.one is element("a", M, K)
    assert found.two is element("b", N, found.across[0])


@pytest.mark.parametrize("body", [
    apply("mul", element("a", M, K), element("a", M, K)), apply("mul", element("a", M, K), element("b", K)),
    apply("add", element("a", M, K), element("b", N, K)), apply("mul", element("a", M), element("b", N, K)),
], ids=["squares", "vector", "sum", "no terms"])  # fmt: skip
def test_what_tensor_cores_cannot_do_is_no_product(body: Any) -> None:
    assert product_of(stored(reduce("sum", (K,), body))) is None


def test_two_products_in_one_kernel_are_none() -> None:
    one = reduce("sum", (K,), apply("mul", element("a", M, K), element("b", N, K)))
    two = reduce("sum", (K,), apply("mul", element("a", M, K), element("c", N, K)))
    assert product_of(stored(apply("mul", one, two))) is None


def test_an_element_or_zero_is_an_operand_and_other_work_is_none() -> None:
    x = element("x", M, K)
    bounds = ((Index.of(K).shifted(Size.of(-1)), Size.of("k")),)
    hit = apply("lt", element("y", M), number(1.0))
    found = operand_of(apply("where", hit, guard(bounds, x, number(0.0)), number(0.0)))
    assert found is not None
    assert (found.load, found.bounds, found.conditions) == (x, bounds, (hit,))
    assert operand_of(guard(bounds, x, number(1.0))) is None
    assert operand_of(apply("exp", x)) is None


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["block", "mlp", "gated", "logs", "attend", "heads"])
def test_kernels_with_products_compute_what_the_graph_computes(name: str) -> None:
    record = record_of(name)
    generator = torch.Generator().manual_seed(0)
    given = {
        i.name: torch.rand(s, generator=generator, dtype=torch.float64)
        for i, s in zip(record.inputs, SUBJECTS[name].shapes, strict=True)
    }
    arrays = {name: tensor.numpy() for name, tensor in given.items()}
    sizes = sizes_from(record, {n: t.shape for n, t in arrays.items()})
    found = computed(fuse(record, sizes, counted(evaluated_apart)), arrays, sizes)
    for one, other in zip(found, evaluate(record, given), strict=True):
        torch.testing.assert_close(torch.from_numpy(one), other.double(), rtol=1e-9, atol=1e-9)


def test_work_behind_a_product_is_done_in_its_kernel() -> None:
    (stores,) = fused(record_of("block"), 512).kernels
    assert product_of(stores) is not None


def test_products_of_one_kernel_are_stored_so_that_each_has_tensor_cores() -> None:
    kernels = fused(record_of("gated"), 512).kernels
    assert [product_of(stores) is not None for stores in kernels] == [True, True]
    assert [product_of(stores) is not None for stores in fused(record_of("mlp"), 512).kernels] == [True, True]


def test_rows_behind_a_product_are_a_kernel_of_their_own() -> None:
    record = capture_object(lambda a, b: torch.softmax(a @ b, -1), (torch.rand(32, 48), torch.rand(48, 40)), "rows")
    kernels = fused(record, 512).kernels
    assert [product_of(stores) is not None for stores in kernels] == [True, False]


@pytest.mark.heavy
def test_a_product_under_a_window_is_stored_with_what_comes_behind_it() -> None:
    layer = torch.nn.Conv2d(8, 32, 3)
    record = capture_object(lambda x: nn.max_pool2d(torch.tanh(layer(x)) * 2, 2), (torch.rand(2, 8, 18, 18),), "window")
    first, second = fused(record, 64).kernels
    assert product_of(first) is not None
    assert first[0].value.fields[0] == "mul"
    assert not any(isinstance(v, Apply) and v.function == "tanh" for v in walk(second[0].value))


@pytest.mark.heavy
def test_costly_work_on_a_factor_is_done_once_and_cheap_work_in_place() -> None:
    given = (torch.rand(32, 48), torch.rand(48, 40))
    assert len(fused(capture_object(lambda a, b: nn.gelu(a) @ b, given, "costly"), 4096).kernels) == 2
    assert len(fused(capture_object(lambda a, b: -a @ b, given, "cheap"), 4096).kernels) == 1


def test_what_all_elements_of_a_factor_have_in_common_is_multiplied_behind_the_sum() -> None:
    plain = reduce("sum", (K,), apply("mul", element("a", M, K), element("b", N, K)))
    scale, other = number(0.5), load("s", (), "float")
    factors = apply("mul", element("a", M, K), scale), apply("mul", other, apply("mul", element("b", N, K), scale))
    found = scaled(reduce("sum", (K,), apply("mul", *factors)))
    assert {plain, other, scale} <= set(walk(found))
    assert not any(isinstance(v, Apply) for v in walk(plain.body) if v is not plain.body)
    assert scaled(plain) is plain


@pytest.mark.parametrize("body", [element("a", M, K), apply("exp", element("a", M, K)), apply("mul", element("a", M, K), element("w", M))])  # fmt: skip
def test_sums_of_something_else_stay_as_they_are(body: Any) -> None:
    total = reduce("sum", (K,), body)
    assert scaled(total) is total


def test_a_product_with_ones_is_a_sum() -> None:
    record = capture_object(lambda a: a @ torch.ones(5, 3), (torch.rand(4, 5),), "ones")
    (got,) = computed(fused(record, 5), {"a": torch.arange(20.0).reshape(4, 5).numpy()}, {record.symbols[0].name: 4})
    assert got.tolist() == [[10.0] * 3, [35.0] * 3, [60.0] * 3, [85.0] * 3]
