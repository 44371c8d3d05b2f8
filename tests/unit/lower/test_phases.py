"""Transposed convolutions by phases: the same results, and no products with zeros."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
from tests.unit.lower.meaning import Grid  # noqa: E402
from tests.unit.lower.products import record_of  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.lower.axes import points  # noqa: E402
from kernellab.lower.fusion import fuse  # noqa: E402
from kernellab.lower.phases import phased  # noqa: E402
from kernellab.lower.product import Product, counted, product_of  # noqa: E402
from kernellab.lower.work import evaluated_apart  # noqa: E402


def product(name: str) -> Product:
    record = record_of(name)
    (stores,) = fuse(record, record.example, counted(evaluated_apart)).kernels
    found = product_of(stores)
    assert found is not None
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["turned_even", "turned", "turned_one", "turned_three"])
def test_phases_compute_what_the_graph_computes(name: str) -> None:
    record = record_of(name)
    found = phased(product(name))
    assert found is not None
    generator = torch.Generator().manual_seed(0)
    given = {i.name: torch.rand(i.type.shape(record.example), generator=generator).double() for i in record.inputs}
    (wanted,) = evaluate(record, given)
    beyond = tuple(s + 4 for s in wanted.shape)  # the last outputs of a phase may lie beyond the edge
    grid = Grid({name: tensor.numpy() for name, tensor in given.items()}, record.example)
    made = grid.made(found.store, beyond)[tuple(slice(s) for s in wanted.shape)]
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-9, atol=1e-9)


def test_a_phase_takes_every_stride_th_term_alone() -> None:
    whole, found = product("turned_even"), phased(product("turned_even"))
    assert found is not None
    sizes = record_of("turned_even").example
    assert points(whole.along, sizes) == 4 * points(found.along, sizes)
    assert not found.edges  # the stride divides the output


def test_what_lies_beyond_the_edge_is_not_stored() -> None:
    found = phased(product("turned"))
    assert found is not None
    assert [extent.text for _, extent in found.edges] == ["2 * d1 - 1"]


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["turned_far", "conv_wide", "plain"])
def test_what_has_no_phases_stays_as_it_is(name: str) -> None:
    assert phased(product(name)) is None
