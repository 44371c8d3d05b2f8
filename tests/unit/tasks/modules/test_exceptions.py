"""Exceptions among inputs like a module's own: few, anywhere, of every kind, single ones and boxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs
from tests.unit.tasks.modules.test_draws import on_both, sums

from kernellab.graph.record import Ref, Seen
from kernellab.tasks.modules.exceptions import (
    Ends,
    Form,
    Reach,
    except_for_certain,
    make_exceptions,
    make_flag_exceptions,
    make_whole_exceptions,
)
from kernellab.tasks.spec import Array, Buffer

DRAWS = 40
FAR, NEAR = Reach(math.inf), Reach(20.0)
ALIKE, INSIDE = Reach(math.inf, signs=False, zeros=False), Reach(0.0, signs=False, zeros=False)
NONZERO, UNSIGNED = Reach(math.inf, zeros=False), Reach(math.inf, signs=False)
ENDS = Ends(0.5, 1.5)


def excepting(values: Array, seed: int, reach: Reach, steps: tuple[float, ...] = (), where: int | None = None) -> Any:
    places = np.random.default_rng(seed if where is None else where)
    return make_exceptions(values, np.random.default_rng(seed), places, reach, ENDS, steps)


def excepted(size: int, reach: Reach, steps: tuple[float, ...] = ()) -> list[Array]:
    """Ones, of which some are replaced."""
    return [excepting(np.ones(size), seed, reach, steps) for seed in range(DRAWS)]


def test_they_are_few_and_nobody_can_count_on_how_many() -> None:
    counts = [int((v != 1).sum()) for v in excepted(64 * 1024, FAR)]
    assert min(counts) >= 1
    assert max(counts) <= 1024
    assert sum(n < 32 for n in counts) > 8
    assert sum(n > 100 for n in counts) > 5


def test_they_are_of_every_kind_and_stand_anywhere() -> None:
    found = np.concatenate([v[v != 1] for v in excepted(4096, FAR, (7.5,))])
    assert {-1.0, 0.0, 7.5} <= set(found.tolist())
    assert found.max() > 50
    assert found.min() < -50
    places = np.concatenate([np.flatnonzero(v != 1) for v in excepted(4096, FAR)])
    assert places.min() < 400
    assert places.max() > 3700


def test_one_is_a_share_of_all_that_a_sum_cannot_lose() -> None:
    assert all(np.abs(v).max() > np.abs(v).sum() / 600 for v in excepted(1 << 15, FAR))
    assert all(v.max() > v.sum() / 600 for v in excepted(1 << 15, ALIKE))


def test_within_reach_they_stay_there_and_alike_ones_keep_their_sign() -> None:
    assert all(np.abs(v).max() <= 20 for v in excepted(4096, NEAR))
    alike = np.concatenate(excepted(4096, ALIKE))
    assert alike.min() > 0
    assert alike.min() < 0.1
    assert alike.max() > 10


def test_where_zeros_or_other_signs_alone_are_allowed_there_are_those() -> None:
    steps = (-7.5, 0.0, 7.5)
    nonzero, unsigned = (np.concatenate(excepted(4096, reach, steps)) for reach in (NONZERO, UNSIGNED))
    assert nonzero.min() < -7.5
    assert {-7.5, 7.5, -1.0} <= set(nonzero.tolist())
    assert np.abs(nonzero).min() > 0
    assert unsigned.min() == 0
    assert 7.5 in set(unsigned.tolist())
    for reach, least in ((NONZERO, -1e3), (UNSIGNED, 0.0)):
        made = except_for_certain(np.ones(20), np.random.default_rng(0), reach, ENDS, steps)
        assert made.min() == least
        assert made.max() == 1e3


def test_inside_they_reach_both_ends_and_no_farther() -> None:
    found = np.concatenate(excepted(4096, INSIDE, (7.5,)))
    assert (found.min(), found.max()) == (0.5, 1.5)


def test_a_single_number_is_one_every_other_time() -> None:
    replaced = sum(float(excepting(np.ones(1), seed, FAR)[0]) != 1 for seed in range(200))
    assert 50 < replaced < 150


def test_those_of_inputs_that_are_read_together_meet_along_their_last_axis() -> None:
    met = 0
    for seed in range(DRAWS):
        wide = excepting(np.ones((96, 1000)), seed, NEAR, where=seed)
        short = excepting(np.ones(1000), 1000 + seed, NEAR, where=seed)
        met += bool(((wide != 1).any(0) & (short != 1)).any())
    assert met > 0.9 * DRAWS


def test_kinds_of_two_inputs_are_dealt_apart_and_some_are_the_same_number() -> None:
    """Below zero in both, in the first alone, in the second alone; and equal, though no such number is a kind."""
    seen, equal = set(), 0
    for seed in range(DRAWS):
        x, y = (excepting(np.ones((96, 1000)), n, NEAR, where=seed) for n in (seed, 1000 + seed))
        both = (x != 1) & (y != 1)
        seen |= set(zip(np.sign(x[both]).tolist(), np.sign(y[both]).tolist(), strict=True))
        equal += bool((both & (x == y) & (abs(x) < 1) & (x != 0)).any())
    assert len(seen) == 9
    assert equal > DRAWS / 4


def test_the_largest_of_a_row_comes_a_second_time() -> None:
    own = [np.random.default_rng(n).uniform(0.5, 1.5, (64, 256)) for n in range(DRAWS)]
    made = [excepting(v.copy(), n, INSIDE) for n, v in enumerate(own)]
    assert any(((m == v.max(1, keepdims=True)) & (m != v)).any() for m, v in zip(made, own, strict=True))


@pytest.mark.parametrize(("form", "axis"), [("rows", 1), ("slabs", 0)])
def test_boxes_hold_whole_rows_or_columns_and_nothing_far_out(form: Form, axis: int) -> None:
    """Below zero, zero, at an end, of one value: each in some draw, whole, and seldom enough to be overlooked."""
    kinds = {"below": 0, "zero": 0, "level": 0}
    for seed in range(DRAWS):
        own = np.random.default_rng(seed).uniform(0.5, 1.5, (200, 300))
        made = excepting(own, seed, Reach(0.0, form=form))
        assert np.abs(made).max() <= 1.5
        lines = made if axis == 1 else made.T
        level = (lines == lines[:, :1]).all(1)
        kinds["below"] += bool((lines.max(1) < 0).any())
        kinds["zero"] += bool((level & (lines[:, 0] == 0)).any())
        kinds["level"] += bool((level & (lines[:, 0] != 0)).any())
    assert all(0 < count < DRAWS for count in kinds.values()), kinds


def test_every_other_time_some_boxes_lie_far_from_the_others() -> None:
    drawn = [
        excepting(np.random.default_rng(n).uniform(0.5, 1.5, (200, 300)), n, Reach(math.inf, form="rows"))
        for n in range(DRAWS)
    ]
    far = [v for v in drawn if np.abs(v).max() > 1.5]
    assert DRAWS / 10 < len(far) < DRAWS * 0.6
    assert any((v.max(1) < -100).any() for v in far)
    assert any((v.min(1) > 100).any() for v in far)


def test_windows_and_columns_are_below_zero_as_a_whole_in_some_draws_and_seldom_seen() -> None:
    """Among elements from 0 to 1: a window of four by four in a plane, a column, four neighbours; a look at 64 overlooks most."""

    def found(shape: tuple[int, ...], largest: Any) -> int:
        count = 0
        for seed in range(100):
            own, places = np.random.default_rng(seed).random(shape), np.random.default_rng(1000 + seed)
            made = make_exceptions(own, np.random.default_rng(seed), places, Reach(0.0, form="slabs"), Ends(0, 1), ())
            seen = made.reshape(-1)[:: made.size // 64 + 1].min() <= 0
            count += bool((largest(made) < 0).any()) and not seen
        return count

    assert found((4, 8, 64, 64), lambda x: x.reshape(4, 8, 16, 4, 16, 4).max((3, 5))) > 8
    assert found((256, 1000), lambda x: x.max(0)) > 25
    assert found((16, 8, 1000), lambda x: x.reshape(16, 8, 250, 4).max(3)) > 35


def test_boxes_of_those_that_allow_no_zero_hold_none() -> None:
    for form in ("rows", "slabs"):
        for seed in range(DRAWS):
            made = excepting(
                np.random.default_rng(seed).uniform(0.5, 1.5, (80, 90)), seed, Reach(0.0, False, False, form)
            )
            assert (made >= 0.5).all()
            assert (made <= 1.5).all()


def test_whole_numbers_come_once_each_and_any_of_those_allowed() -> None:
    def made(size: int, seed: int, numbers: list[int]) -> Array:
        rng, places = np.random.default_rng(seed), np.random.default_rng(seed)
        found = make_whole_exceptions(np.ones(size, np.int64), rng, places, "singles", numbers, Ends(-100, 99))
        return np.asarray(found)

    assert all({-100, 0, 99} <= set(made(10_000, seed, [-100, 0, 99]).tolist()) for seed in range(10))
    others = {int(v) for seed in range(DRAWS) for v in made(64_000, seed, [7])} - {1, 7}
    assert len(others) > 50
    assert min(others) >= -100
    assert max(others) <= 99
    assert all((made(2, seed, [5, 6]) == 1).any() for seed in range(10))


@pytest.mark.parametrize("form", ["rows", "slabs"])
def test_boxes_of_flags_are_set_or_not_or_but_one(form: Form) -> None:
    found = set()
    for seed in range(DRAWS):
        flags = (np.random.default_rng(seed).random((200, 300)) < 0.5).astype(np.uint8)
        make_flag_exceptions(flags, np.random.default_rng(seed), np.random.default_rng(seed), form)
        lines = flags if form == "rows" else flags.T
        found |= set(lines.sum(1).tolist()) & {0, 1, lines.shape[1] - 1, lines.shape[1]}
    assert len(found) == 4


def test_one_of_each_kind_is_there_for_certain() -> None:
    made = except_for_certain(np.ones(10), np.random.default_rng(0), FAR, ENDS, (7.5,))
    assert {1e3, -1e3, 0.0, 7.5} <= set(made.tolist())
    made = except_for_certain(np.ones(10), np.random.default_rng(0), ALIKE, ENDS, (7.5,))
    assert {1e3, 1e-3} <= set(made.tolist())
    made = except_for_certain(np.ones(10), np.random.default_rng(0), INSIDE, ENDS, (7.5,))
    assert set(made.tolist()) == {0.5, 1.0, 1.5}


def test_flags_have_a_row_that_is_set_and_one_that_is_not() -> None:
    made = graphs.tensor("d0", 40, dtype="bool")
    record = graphs.graph(
        [graphs.given("m", made)], [graphs.node("a", "aten.any.dim", [Ref(ref="m"), -1], graphs.tensor("d0", dtype="bool"))],
        {"d0": 40},
    )  # fmt: skip
    for values in on_both(record, "exceptions", 0, Buffer("m", ("d0", 40), "uint8"), d0=300):
        assert (values.min(1) == 1).any()
        assert (values.max(1) == 0).any()
        assert 0.3 < values.mean() < 0.7


def test_all_integers_that_a_graph_compares_with_occur() -> None:
    made = graphs.tensor("d0", dtype="int64")
    table = graphs.tensor(200, 8)
    nodes = [
        graphs.node("a", "aten.ne.Scalar", [Ref(ref="i"), 0], graphs.tensor("d0", dtype="bool")),
        graphs.node("b", "aten.ne.Scalar", [Ref(ref="i"), 1], graphs.tensor("d0", dtype="bool")),
        graphs.node("e", "aten.embedding.default", [Ref(ref="w"), Ref(ref="i")], graphs.tensor("d0", 8)),
    ]
    seen = Seen(low=2, high=99, mean=50, zeros=0)
    record = graphs.graph([graphs.given("w", table), graphs.given("i", made, seen=seen)], nodes, {"d0": 400})
    for values in on_both(record, "exceptions", 1, Buffer("i", ("d0",), "int64"), d0=5000):
        assert {0, 1, 199} <= set(values.tolist())
        assert ((values < 2) | (values > 99)).sum() <= 5000 // 64


def test_they_are_made_on_host_and_device() -> None:
    """Zero to one as the example, but for some."""
    seen = Seen(low=0.0, high=1.0, mean=0.5, zeros=0.0)
    record = sums(graphs.given("w", graphs.tensor("d0", "d1"), seen=seen))
    for values in on_both(record, "exceptions", 1, Buffer("w", ("d0", "d1")), d0=300, d1=200):
        assert 1 <= int(((values < 0) | (values > 1)).sum()) <= 300 * 200 // 64
    for values in on_both(record, "exceptions-alike", 1, Buffer("w", ("d0", "d1")), d0=300, d1=200):
        assert values.min() >= 0
        assert values.max() > 1
    for kind in ("rows-within", "slabs-within"):
        for values in on_both(record, kind, 1, Buffer("w", ("d0", "d1")), d0=300, d1=200):
            assert np.abs(values).max() <= 1
