"""Sizes that are products by what a graph does with them; attention reads shared keys once for the heads that share them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.unit.lower.products import ATTENTION, record_of

from kernellab.lower.attention import attended, attention_of
from kernellab.lower.fusion import fuse
from kernellab.lower.inline import Graph
from kernellab.lower.product import counted
from kernellab.lower.same_sizes import as_products
from kernellab.lower.sizes import Size
from kernellab.lower.work import evaluated_apart


@pytest.mark.heavy
def test_heads_that_share_keys_are_groups_times_heads() -> None:
    record = record_of("decoded")
    heads, groups = record.inputs[0].type.extents[1], record.inputs[1].type.extents[1]
    shape = Graph(record).shape((record.inputs[0].name, 0))
    assert shape[1] == Size.of(f"{groups} * ({heads} // {groups})")
    assert shape[1].over(Size.of(groups)) == Size.of(f"{heads} // {groups}")
    alone = record_of("decoded_alone")
    assert as_products(alone) == alone.types


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "rows"), [("decoded", 1), ("shared_keys", 1), ("decoded_alone", 0)])
def test_rows_of_attention_are_heads_that_share_keys_or_under_a_causal_mask_queries(name: str, rows: int) -> None:
    record = record_of(name)
    fusion = fuse(record, ATTENTION[name].sizes(record), attended(counted(evaluated_apart)))
    (found,) = (f for stores in fusion.kernels if (f := attention_of(stores)) is not None)
    assert len(found.rows) == rows
    keys = frozenset(a for v in (found.key, found.values) if v is not None for a in v.free)
    assert not keys & {*found.rows}
