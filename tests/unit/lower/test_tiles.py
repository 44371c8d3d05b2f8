"""Products of matrices that tiles of sums can share, recognised; what only looks like one, not; and odd ones, judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from tests.unit.lower.judged import assert_passes, processor, task_of  # noqa: E402
from torch import nn  # noqa: E402

from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.lower.candidates import written  # noqa: E402
from kernellab.lower.fusion import fuse  # noqa: E402
from kernellab.lower.tiles import Tile, tile_of  # noqa: E402
from kernellab.targets.base import DeviceSetup  # noqa: E402


@cache
def odd(name: str) -> GraphRecord:
    torch.manual_seed(0)
    subject, given = ODD[name]
    return captured(subject, *given)


def captured(subject: Any, *given: Any) -> GraphRecord:
    return capture_object(subject, given, "subject")


def tiles(subject: Any, *given: Any) -> list[Tile | None]:
    record = captured(subject, *given)
    return [tile_of(stores) for stores in fuse(record, {symbol.name: 9 for symbol in record.symbols}).kernels]


@pytest.mark.heavy
def test_rows_and_columns_of_a_product() -> None:
    (found,) = tiles(lambda a, b: torch.relu(a @ b), torch.rand(5, 7), torch.rand(7, 9))
    assert found is not None
    (product,) = found.products
    assert (found.row in product.left.free, found.lane in product.left.free) == (True, False)
    assert (found.row in product.right.free, found.lane in product.right.free) == (False, True)


@pytest.mark.heavy
def test_two_products_of_one_kernel_share_rows_and_columns() -> None:
    (found,) = tiles(lambda x, a, b: (x @ a) * (x @ b), torch.rand(5, 7), torch.rand(7, 9), torch.rand(7, 9))
    assert found is not None
    assert len(found.products) == 2


def test_a_convolution_has_its_channels_for_rows_and_the_long_axis_first() -> None:
    (found,) = tiles(nn.Conv2d(4, 6, 3, padding=1), torch.rand(1, 4, 5, 7))
    assert found is not None
    (product,) = found.products
    assert [axis.extent.number for axis in product.axes] == [4, 3, 3]
    assert (found.row.extent.number, product.inner) == (6, 9)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("subject", "shapes"),
    [
        (lambda x: x.sum(1), [(5, 7)]),
        (lambda x: torch.softmax(x, -1), [(5, 7)]),
        (lambda a, b: (a @ b).amax(0), [(5, 7), (7, 9)]),
        (lambda a, b: torch.einsum("ijk,jkl->il", a, b), [(5, 300, 400), (300, 400, 9)]),
        (lambda a, b: (a[:, :, None] - b[None]).abs().sum(1), [(5, 7), (7, 9)]),
        (lambda a: torch.cumsum(a, 1), [(5, 7)]),
        (lambda a, b: a @ b, [(7,), (7, 9)]),
    ],
    ids=["a sum", "softmax", "a maximum of it", "two long axes", "differences", "a scan", "a vector"],
)
def test_what_has_no_tiles(subject: Any, shapes: list[tuple[int, ...]]) -> None:
    assert not any(tiles(subject, *(torch.rand(s) for s in shapes)))


@pytest.fixture(scope="module")
def device() -> Iterator[DeviceSetup]:
    with processor() as opened:
        yield opened


def _gated(x: Any, panel: Any, in_band: Any) -> Any:
    """With names that the text has for itself, more rows than a band, more steps than a panel."""
    return nn.functional.silu(x @ panel.T) * (x @ in_band.T)


def _product(a: Any, b: Any) -> Any:
    return a @ b


ODD: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "gated": (_gated, (torch.rand(101, 270), torch.rand(19, 270), torch.rand(19, 270))),
    "strided": (nn.Sequential(nn.Conv2d(6, 10, 3, 2, 1), nn.ReLU()), (torch.rand(2, 6, 9, 11),)),
    "grouped": (nn.Conv1d(6, 9, 5, groups=3, dilation=2), (torch.rand(2, 6, 31),)),
    "batched": (_product, (torch.rand(3, 5, 7), torch.rand(3, 7, 18))),
    "narrow": (_product, (torch.rand(2, 3), torch.rand(3, 2))),
    "double": (_product, (torch.rand(5, 9).double(), torch.rand(9, 17).double())),
    "short": (_product, (torch.rand(5, 9).bfloat16(), torch.rand(9, 17).bfloat16())),
}


@pytest.mark.heavy
@pytest.mark.sample(1, each="name")
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize(
    "params", [{}, {"LANES": 12, "ROWS": 6}, {"LANES": 32, "ROWS": 8}], ids=["4x16", "6x12", "8x32"]
)
def test_odd_ones_pass_every_case(name: str, params: dict[str, Any], device: DeviceSetup) -> None:
    record = odd(name)
    task = task_of(record)
    texts = [w for w in written(record, "c", task.tune[0]) if w.name.startswith("tile")]
    assert texts
    for text in texts:
        assert_passes(device, task, text, params)
