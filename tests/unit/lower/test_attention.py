"""Which kernels are attention, what moves behind the weighted sum, and where the keys end."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.unit.lower.meaning import computed  # noqa: E402
from tests.unit.lower.products import ATTENTION, record_of  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.record import sizes_from  # noqa: E402
from kernellab.lower.attention import attended, attention_of, key_count, last_key  # noqa: E402
from kernellab.lower.axes import Axis, Index  # noqa: E402
from kernellab.lower.fusion import Fusion, fuse  # noqa: E402
from kernellab.lower.inline import Store  # noqa: E402
from kernellab.lower.product import counted  # noqa: E402
from kernellab.lower.sizes import Size  # noqa: E402
from kernellab.lower.values import apply, load, number, place, reduce  # noqa: E402
from kernellab.lower.work import evaluated_apart  # noqa: E402

M, D, K, C, OTHER = (Axis(n, Size.of(s)) for n, s in (("i", "m"), ("j", "d"), ("k", "n"), ("c", "c"), ("o", "n")))


def element(tensor: str, *axes: Axis) -> Any:
    return load(tensor, tuple(Index.of(a) for a in axes), "float")


def product(key: Axis) -> Any:
    return reduce("sum", (C,), apply("mul", element("q", M, C), element("k", key, C)))


def softened(score: Any, key: Axis, over: Axis = OTHER) -> Any:
    """A softmax as a graph has it: its reductions have axes of their own."""
    top = reduce("max", (over,), score(over))
    below = reduce("sum", (over,), apply("exp", apply("sub", score(over), top)))
    return apply("div", apply("exp", apply("sub", score(key), top)), below)


def stored(weight: Any, values: Any = None) -> list[Store]:
    whole = reduce("sum", (K,), apply("mul", weight, element("v", K, D) if values is None else values))
    return [Store(("y", 0), (Index.of(M), Index.of(D)), apply("max", whole, number(0.0)), (M, D))]


def fused(name: str) -> Fusion:
    record = record_of(name)
    return fuse(record, ATTENTION[name].sizes(record), attended(counted(evaluated_apart)))


def drawn(entry: Any, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    if not entry.type.is_float:
        return torch.randint(1, 20, shape, generator=generator)
    return torch.randn(shape, generator=generator).double()


def test_rows_keys_columns_and_terms_are_told_apart() -> None:
    found = attention_of(stored(softened(product, K)))
    assert found is not None
    assert (found.rows, found.columns, found.keys, found.terms) == ((M,), (D,), (K,), (C,))
    assert (found.scores, found.query, found.key) == (product(K), element("q", M, C), element("k", K, C))
    weighted = reduce("sum", (K,), apply("mul", apply("exp", apply("sub", found.scores, found.top)), found.values))
    assert found.total is weighted
    assert found.store.value is apply("max", apply("div", weighted, found.below), number(0.0))
    assert attention_of([found.store]) == found, "what it became is attention as it is"


@pytest.mark.parametrize("weight", [
    apply("exp", product(K)), softened(lambda k: apply("mul", product(k), element("b", k)), K, Axis("o", Size.of("other"))),
    apply("mul", softened(product, K), element("keep", K)), apply("add", softened(product, K), number(1.0)),
    apply("div", apply("exp", apply("sub", product(K), reduce("max", (OTHER,), element("s", M, OTHER)))), element("w", M)),
], ids=["no maximum", "other keys", "a factor of each key", "more than a factor", "the maximum of something else"])  # fmt: skip
def test_what_one_pass_cannot_do_is_no_attention(weight: Any) -> None:
    assert attention_of(stored(weight)) is None


def test_rows_with_values_of_their_own_are_one_each() -> None:
    found = attention_of(stored(softened(product, K), element("v", M, K, D)))
    assert found is not None
    assert (found.rows, found.batch) == ((), (M,))


@pytest.mark.parametrize(("function", "one", "two", "last"), [
    ("le", K, M, 0), ("lt", K, M, -1), ("ge", M, K, 0), ("gt", M, K, -1), ("ge", K, M, None), ("le", M, K, None),
])  # fmt: skip
def test_a_causal_mask_says_where_the_keys_end(function: str, one: Axis, two: Axis, last: int | None) -> None:
    def masked(key: Axis) -> Any:
        sides = (place(Index.of(key if a == K else a)) for a in (one, two))
        return apply("add", product(key), apply("where", apply(function, *sides), number(0.0), number(-math.inf)))

    found = attention_of(stored(softened(masked, K)))
    assert found is not None
    assert last_key(found) == (None if last is None else Size.of(last))


@pytest.mark.parametrize(("function", "turned", "more"), [("lt", False, 0), ("le", False, 1), ("gt", True, 0), ("ge", True, 1)])  # fmt: skip
def test_a_sequence_may_end_before_its_keys(function: str, turned: bool, more: int) -> None:
    length = load("lengths", (Index(),), "int")

    def masked(key: Axis) -> Any:
        sides = (length, place(Index.of(key))) if turned else (place(Index.of(key)), length)
        return apply("where", apply(function, *sides), product(key), number(-math.inf))

    found = attention_of(stored(softened(masked, K)))
    assert found is not None
    assert key_count(found) is apply("add", length, number(more))
    assert last_key(found) is None


def test_what_a_row_sees_does_not_end_the_keys_of_others() -> None:
    def masked(key: Axis) -> Any:
        seen = apply("lt", place(Index.of(key)), load("lengths", (Index.of(M),), "int"))
        return apply("where", seen, product(key), number(-math.inf))

    found = attention_of(stored(softened(masked, K)))
    assert found is not None
    assert key_count(found) is None


def test_a_mask_that_is_not_minus_infinity_hides_nothing() -> None:
    def masked(key: Axis) -> Any:
        seen = apply("le", place(Index.of(key)), place(Index.of(M)))
        return apply("where", seen, product(key), number(-1e9))

    found = attention_of(stored(softened(masked, K)))
    assert found is not None
    assert last_key(found) is None


@pytest.mark.heavy
@pytest.mark.sample(5)
@pytest.mark.parametrize("name", ATTENTION)
def test_as_attention_it_means_the_same(name: str) -> None:
    """The rewritten kernel computes what the graph does, and neither scores nor weights are stored."""
    record, fusion, subject = record_of(name), fused(name), ATTENTION[name]
    found = [attention_of(stores) for stores in fusion.kernels]
    assert sum(f is not None for f in found) == 1
    assert all(f.product is not None for f in found if f is not None)
    kernels = tuple((f.store,) if f else stores for f, stores in zip(found, fusion.kernels, strict=True))
    generator = torch.Generator().manual_seed(5)
    for shapes in (subject.shapes, *subject.others):
        sizes = sizes_from(record, dict(zip([i.name for i in record.inputs], shapes, strict=True)))
        inputs = {i.name: drawn(i, s, generator) for i, s in zip(record.inputs, shapes, strict=True)}
        wanted = evaluate(record, inputs)
        arrays = {n: t.numpy() for n, t in inputs.items()}
        for got, right in zip(computed(replace(fusion, kernels=kernels), arrays, sizes), wanted, strict=True):
            torch.testing.assert_close(torch.from_numpy(got), right.double(), rtol=1e-9, atol=1e-9)


@pytest.mark.heavy
def test_rows_too_wide_or_too_few_are_made_otherwise() -> None:
    record = record_of("softened")
    model = attended(counted(evaluated_apart))
    for size in (9, 300):
        fusion = fuse(record, {s.name: size for s in record.symbols}, model)
        assert len(fusion.kernels) > 1
