"""Products of several kernels: copies of the factors first, or parts of the sums."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from tests.unit.lower.products import record_of

from kernellab.graph.live import capture_object
from kernellab.lower.candidates import written
from kernellab.lower.fusion import Fusion, fuse
from kernellab.lower.names import FusionNames
from kernellab.lower.product import Product, counted, product_of
from kernellab.lower.product_plan import few, packed, parted
from kernellab.lower.product_step import product_kinds
from kernellab.lower.values import Reduce, walk
from kernellab.lower.work import evaluated_apart


def fused(name: str, size: int | None = None) -> Fusion:
    record = record_of(name)
    return fuse(record, {s.name: size or s.example for s in record.symbols}, counted(evaluated_apart))


def product(fusion: Fusion) -> Product:
    found = product_of(FusionNames(fusion).named(fusion.kernels[0]))
    assert found is not None
    return found


def test_channels_come_last_so_that_neighbours_are_terms_of_one_sum() -> None:
    fusion = fused("conv_wide")
    found = packed(product(fusion), FusionNames(fusion).tensors, fusion.sizes)
    assert found is not None
    (image, filters), store = found
    assert [e.text for e in image.tensor.shape] == ["d0", "d1", "d2", "33"]
    assert [e.text for e in filters.tensor.shape] == ["20", "3", "3", "33"]
    assert image.turned
    (whole,) = [v for v in walk(store.value) if isinstance(v, Reduce)]
    assert [a.extent.text for a in whole.axes] == ["3", "3", "33"]


def test_matrices_stay_as_they_lie() -> None:
    fusion = fused("plain")
    found = packed(product(fusion), FusionNames(fusion).tensors, fusion.sizes)
    assert found is not None
    assert not any(each.turned for each in found[0])


def test_a_factor_with_work_of_its_own_is_not_copied() -> None:
    fusion = fused("logs")
    last = product_of(FusionNames(fusion).named(fusion.kernels[-1]))
    assert last is not None
    assert packed(last, FusionNames(fusion).tensors, fusion.sizes) is None


def test_few_long_sums_are_made_in_parts() -> None:
    assert few(product(fused("plain", 600)), fused("plain", 600).sizes)
    assert not few(product(fused("plain", 8192)), fused("plain", 8192).sizes)
    assert not few(product(fused("plain", 64)), fused("plain", 64).sizes)
    fusion = fused("plain", 600)
    first, second, between = parted(product(fusion), FusionNames(fusion).tensors["out"].shape, fusion.sizes, "between")
    assert [e.text for e in between.shape] == ["SPLITS", "d0", "d2"]
    assert product_of([first]) is not None
    assert [v.axes[0].name for v in walk(second.value) if isinstance(v, Reduce)] == ["part"]


@pytest.mark.parametrize(("name", "size", "kinds"), [
    ("plain", 600, ["parted", "product", "packed"]), ("plain", 4096, ["packed", "product"]),
    ("half", 4096, ["product"]), ("conv_wide", 128, ["packed", "product"]),
])  # fmt: skip
def test_the_most_promising_way_comes_first(name: str, size: int, kinds: list[str]) -> None:
    assert product_kinds(fused(name, size), "ieee") == kinds


def test_a_contract_that_allows_less_precision_needs_no_parts() -> None:
    assert product_kinds(fused("plain", 4096), "tf32") == ["product"]


def test_a_product_of_doubles_is_no_work_for_tensor_cores() -> None:
    record = capture_object(lambda a, b: a @ b, (torch.rand(33, 40).double(), torch.rand(40, 50).double()), "doubles")
    assert [w.name for w in written(record, "triton", record.example) if w.name.startswith("p")] == []
