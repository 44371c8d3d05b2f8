"""Inputs like the example's own: in its range, below what they index, with the weights left alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs

from kernellab.graph.record import GraphInput, GraphRecord, Ref, Seen
from kernellab.tasks.modules.device_draws import DeviceDraws
from kernellab.tasks.modules.draws import KINDS, draws
from kernellab.tasks.modules.host_arrays import array
from kernellab.tasks.modules.uses import Uses
from kernellab.tasks.spec import Array, Buffer, Together


def lookup() -> GraphRecord:
    """Rows of a table with d0 of them."""
    rows = graphs.node("y", "aten.embedding.default", [Ref(ref="table"), Ref(ref="i")], graphs.tensor("d1", 8))
    seen = Seen(low=0, high=999, mean=500, zeros=0)
    inputs = [
        graphs.given("table", graphs.tensor("d0", 8)),
        graphs.given("i", graphs.tensor("d1", dtype="int64"), seen=seen),
    ]
    return graphs.graph(inputs, [rows], {"d0": 1000, "d1": 64})


def drawn(record: GraphRecord, kind: str, buffer: Buffer, **dims: int) -> Array:
    return draws(record, (kind,))[kind](np.random.default_rng(0), buffer, dims)


def on_both(record: GraphRecord, kind: str, number: int, buffer: Buffer, **dims: int) -> list[Array]:
    """As the host draws an input, and as a device would."""
    pytest.importorskip("torch")
    there = DeviceDraws(record, "cpu").draw(dims, 0, kind)[number]
    return [drawn(record, kind, buffer, **dims), array(there)]


def sums(second: GraphInput, dtype: str = "float32") -> GraphRecord:
    """x and something of the same sizes, added."""
    made = graphs.tensor("d0", "d1")
    plus = graphs.node("y", "aten.add.Tensor", [Ref(ref="x"), Ref(ref=second.name)], made)
    return graphs.graph([graphs.given("x", made), second], [plus], {"d0": 64, "d1": 48})


def test_an_index_stays_below_what_it_indexes_at_every_shape() -> None:
    assert Uses(lookup()).below("i", {"d0": 5, "d1": 64}) == 5
    values = drawn(lookup(), "own", Buffer("i", ("d1",), "int64"), d0=5, d1=64)
    assert set(values.tolist()) == {0, 1, 2, 3, 4}
    wide = drawn(lookup(), "own", Buffer("i", ("d1",), "int64"), d0=5000, d1=4096)
    assert 990 < wide.max() <= 999


def test_weights_are_drawn_alike_under_every_distribution() -> None:
    weight = Buffer("w", (32, 16))
    first = drawn(graphs.linear(), "own", weight, d0=4)
    for kind in KINDS:
        assert np.array_equal(drawn(graphs.linear(), kind, weight, d0=4), first)


def test_positive_examples_stay_positive_under_their_own_distribution() -> None:
    record = graphs.graph(
        [graphs.given("x", graphs.tensor("d0", 4), seen=Seen(low=0.0, high=1.0, mean=0.5, zeros=0.0))],
        [graphs.node("y", "aten.log.default", [Ref(ref="x")], graphs.tensor("d0", 4))],
        {"d0": 8},
    )
    values = drawn(record, "own", Buffer("x", ("d0", 4)), d0=500)
    assert 0 <= values.min() < values.max() <= 1
    assert graphs.module_record(record).distributions == (
        "own",
        "uneven",
        "offset-above",
        "faint",
        "exceptions-alike",
        "rows-inside",
        "slabs-inside",
    )


def test_few_elements_of_a_long_sum_are_not_zero_where_inputs_are_sparse() -> None:
    values = drawn(graphs.linear(terms=512), "sparse", Buffer("x", ("d0", 512)), d0=256)
    assert 2 < np.count_nonzero(values) / 256 < 6


def test_ones_are_drawn_around_one() -> None:
    seen = Seen(low=1.0, high=1.0, mean=1.0, zeros=0.0)
    record = graphs.graph(
        [graphs.given("x", graphs.tensor("d0", 4), seen=seen)],
        [graphs.node("y", "aten.exp.default", [Ref(ref="x")], graphs.tensor("d0", 4))],
        {"d0": 8},
    )
    values = drawn(record, "own", Buffer("x", ("d0", 4)), d0=500)
    assert 0.5 <= values.min() < 0.6 < 1.4 < values.max() <= 1.5


def test_distributions_that_overflow_in_the_modules_own_type_are_left_out() -> None:
    product = graphs.node("y", "aten.cumprod.default", [Ref(ref="x"), 1], graphs.tensor("d0", "d1"))
    record = graphs.graph([graphs.given("x", graphs.tensor("d0", "d1"))], [product], {"d0": 8, "d1": 256})
    assert "offset" not in graphs.module_record(record).distributions


@pytest.mark.parametrize(
    ("op", "arguments", "limit"),
    [
        ("aten.clamp.default", [0], 5),
        ("aten.slice.Tensor", [0, 0, (1 << 63) - 1], 5),
        ("aten.slice.Tensor", [0, 1, (1 << 63) - 1], 1 << 31),
    ],
)
def test_indices_are_bounded_through_what_lets_them_all_through(op: str, arguments: list[int], limit: int) -> None:
    nodes = [
        graphs.node("j", op, [Ref(ref="i"), *arguments], graphs.tensor("d0", dtype="int64")),
        graphs.node("y", "aten.gather.default", [Ref(ref="x"), 0, Ref(ref="j")], graphs.tensor("d0")),
    ]
    inputs = [graphs.given("x", graphs.tensor(5)), graphs.given("i", graphs.tensor("d0", dtype="int64"), seen=None)]
    assert Uses(graphs.graph(inputs, nodes, {"d0": 64})).below("i", {"d0": 64}) == limit


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_hides_as_many_as_the_examples_and_whole_ends_of_rows(kind: str) -> None:
    seen = Seen(low=0.0, high=0.0, mean=0.0, zeros=1.0, hidden=0.3)
    record = sums(graphs.given("mask", graphs.tensor("d0", "d1"), seen=seen))
    for values in on_both(record, kind, 1, Buffer("mask", ("d0", "d1")), d0=600, d1=48):
        hidden = values == -np.inf
        assert not hidden.all(axis=1).any()
        assert np.isfinite(values[~hidden]).all()
        assert 0.2 < hidden.mean() < 0.6
        assert (hidden[:, :16].all(axis=1)).any()
        assert (hidden[:, -16:].all(axis=1)).any()


def test_booleans_are_set_at_one_end_of_a_row_under_one_distribution() -> None:
    mask = graphs.given("mask", graphs.tensor("d0", "d1", dtype="bool"), seen=None)
    for values in on_both(sums(mask), "turned", 1, Buffer("mask", ("d0", "d1"), "uint8"), d0=400, d1=48):
        turns = np.count_nonzero(np.diff(values.astype(int), axis=1), axis=1)
        assert (turns == 1).all()
        assert set(values[:, 0].tolist()) == {0, 1}
    for values in on_both(sums(mask), "turned", 1, Buffer("mask", ("d0", "d1"), "uint8"), d0=400, d1=1):
        assert set(values.reshape(-1).tolist()) == {0, 1}


@pytest.mark.parametrize(("role", "turns"), [("weight", True), ("buffer", False)])
def test_weights_that_are_all_the_same_have_both_signs_under_one_distribution(role: str, turns: bool) -> None:
    seen = Seen(low=1.0, high=1.0, mean=1.0, zeros=0.0)
    record = sums(graphs.given("w", graphs.tensor("d0", "d1"), role, seen=seen))
    for values in on_both(record, "turned", 1, Buffer("w", ("d0", "d1")), d0=64, d1=48):
        sizes = np.abs(values)
        assert bool((values < 0).any()) == turns
        assert (sizes > 4).any()
        assert (sizes < 0.2).any()
    for kind in ("own", "weights-stretched"):
        for values in on_both(record, kind, 1, Buffer("w", ("d0", "d1")), d0=64, d1=48):
            assert values.min() > 0
    assert graphs.module_record(record).distributions[-1 - turns] == "weights"


def test_weights_of_one_sign_are_turned_and_inputs_are_like_the_example_s_meanwhile() -> None:
    seen = Seen(low=0.0, high=1.0, mean=0.5, zeros=0.0)
    record = sums(graphs.given("w", graphs.tensor("d0", "d1"), "weight", seen=seen))
    assert graphs.module_record(record).distributions[-2:] == ("weights", "weights-stretched")
    for values in on_both(record, "weights", 1, Buffer("w", ("d0", "d1")), d0=64, d1=48):
        assert 0.3 < (values < 0).mean() < 0.7
        assert np.abs(values).max() <= 16
        assert 0 < (np.abs(values) > 1).sum() < 200
    for values in on_both(record, "planted", 1, Buffer("w", ("d0", "d1")), d0=64, d1=48):
        assert values.min() >= 0


def test_every_input_has_zeros_under_one_distribution() -> None:
    record = sums(graphs.given("z", graphs.tensor("d0", "d1")))
    for number, name in enumerate("xz"):
        for values in on_both(record, "turned", number, Buffer(name, ("d0", "d1")), d0=64, d1=48):
            assert 0.08 < np.mean(values == 0) < 0.18


def test_where_heavy_tails_overflow_there_are_wide_inputs_and_where_signs_do_there_are_gaps() -> None:
    made = graphs.tensor("d0", 40)
    for op, kinds in {
        "exp": (
            "own",
            "normal",
            "planted",
            "sparse",
            "wide",
            "offset",
            "faint",
            "exceptions-near",
            "rows-near",
            "slabs-near",
        ),
        "sqrt": (
            "own",
            "gaps",
            "uneven",
            "offset-above",
            "faint",
            "exceptions-unsigned",
            "rows-unsigned",
            "slabs-unsigned",
        ),
        "reciprocal": (
            "own",
            "normal",
            "signed",
            "bare",
            "heavy",
            "offset",
            "faint",
            "exceptions-nonzero",
            "rows-nonzero",
            "slabs-nonzero",
        ),
    }.items():
        seen = graphs.NORMAL if op == "exp" else Seen(low=0.0, high=1.0, mean=0.5, zeros=0.0)
        record = graphs.graph(
            [graphs.given("x", made, seen=seen)],
            [graphs.node("y", f"aten.{op}.default", [Ref(ref="x")], made)],
            {"d0": 400},
        )
        assert graphs.module_record(record).distributions == kinds
    for values in on_both(record, "gaps", 0, Buffer("x", ("d0", 40)), d0=400):
        assert 0.4 < np.mean(values == 0) < 0.6
        assert values.min() >= 0
    for values in on_both(record, "wide", 0, Buffer("x", ("d0", 40)), d0=400):
        assert -20 <= values.min() < -19 < 19 < values.max() <= 20
    for values in on_both(record, "uneven", 0, Buffer("x", ("d0", 40)), d0=400):
        assert 0 <= values.min() < 1 < 100 < values[-1, -1] == values.max()
        assert np.median(values) < 2


def test_where_zeros_are_thousands_of_like_terms_all_but_a_few_lie_far_below() -> None:
    """A softmax of long rows: the running sum of an honest float32 drifts so far that luck would judge."""
    for values in on_both(graphs.total(), "bare", 0, Buffer("x", ("d0", "d1")), d0=64, d1=4096):
        assert 1 < np.mean((values > -10).sum(1)) < 8
        assert np.mean(values == -40) > 0.99


def test_an_index_may_be_any_that_there_is_under_one_distribution() -> None:
    """The example had 0 to 99 of a table of 1000; and -1 is asked for by name."""
    seen = Seen(low=3, high=99, mean=50, zeros=0)
    index = graphs.given("i", graphs.tensor("d0", dtype="int64"), seen=seen)
    nodes = [
        graphs.node("y", "aten.embedding.default", [Ref(ref="table"), Ref(ref="i")], graphs.tensor("d0", 8)),
        graphs.node("none", "aten.eq.Scalar", [Ref(ref="i"), -1], graphs.tensor("d0", dtype="bool")),
    ]
    record = graphs.graph([graphs.given("table", graphs.tensor(1000, 8)), index], nodes[:1], {"d0": 64})
    buffer = Buffer("i", ("d0",), "int64")
    for values in on_both(record, "turned", 1, buffer, d0=20_000):
        assert set(values.tolist()) == set(range(1000))
    for values in on_both(record, "own", 1, buffer, d0=20_000):
        assert set(values.tolist()) == set(range(3, 100))
    marked = graphs.graph([graphs.given("table", graphs.tensor(1000, 8)), index], nodes, {"d0": 64}, ("y", 0))
    for values in on_both(marked, "turned", 1, buffer, d0=20_000):
        assert 0.1 < np.mean(values == -1) < 0.15
        assert values[0] >= 0


def test_a_single_number_is_no_gap() -> None:
    record = sums(graphs.given("z", graphs.tensor(1), seen=Seen(low=7.0, high=7.0, mean=7.0, zeros=0.0)))
    for values in on_both(record, "gaps", 1, Buffer("z", (1,)), d0=4, d1=4):
        assert 3.5 <= values[0] <= 10.5


def searched(edges: int | str = "d1") -> GraphRecord:
    """Where the elements of x belong among sorted edges."""
    found = graphs.node("y", "aten.bucketize.Tensor", [Ref(ref="x"), Ref(ref="e")], graphs.tensor("d0", dtype="int64"))
    inputs = [graphs.given("x", graphs.tensor("d0")), graphs.given("e", graphs.tensor(edges))]
    return graphs.graph(inputs, [found], {"d0": 512, "d1": 64})


@pytest.mark.parametrize("kind", [*KINDS, "exceptions:e"])
def test_what_is_searched_is_sorted_and_some_numbers_are_found_in_it(kind: str) -> None:
    dims = {"d0": 512, "d1": 64}
    edges = on_both(searched(), kind, 1, Buffer("e", ("d1",)), **dims)
    for values, ends in zip(on_both(searched(), kind, 0, Buffer("x", ("d0",)), **dims), edges, strict=True):
        assert (np.diff(ends) >= 0).all()
        if kind == "planted" or kind.startswith("exceptions"):
            assert np.isin(values, ends).any(), "left and right of equal numbers would never differ"


def placed(rows: bool) -> GraphRecord:
    """What is written to places of x: of whole rows, or along each row."""
    whole, some = graphs.tensor("d0", "d1"), graphs.tensor("d2", "d1")
    x, i, v = (Ref(ref=name) for name in "xiv")
    if rows:
        index, values, op, args = graphs.tensor("d2", dtype="int64"), some, "aten.index_copy.default", [x, 0, i, v]
    else:
        index, values, op, args = graphs.tensor("d0", "d1", dtype="int64"), whole, "aten.scatter.src", [x, 1, i, v]
    seen = Seen(low=3, high=6, mean=4, zeros=0)
    inputs = [graphs.given("x", whole), graphs.given("i", index, seen=seen), graphs.given("v", values)]
    return graphs.graph(inputs, [graphs.node("y", op, args, whole)], {"d0": 64, "d1": 48, "d2": 16})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [*KINDS, "exceptions:i"])
@pytest.mark.parametrize("dims", [(64, 48, 16), (5, 3, 5), (2, 2, 1)])
def test_places_that_are_written_to_are_all_different(kind: str, dims: tuple[int, int, int]) -> None:
    sizes = dict(zip(("d0", "d1", "d2"), dims, strict=True))
    for values in on_both(placed(True), kind, 1, Buffer("i", ("d2",), "int64"), **sizes):
        assert len(set(values.tolist())) == dims[2]
        assert 0 <= values.min() <= values.max() < dims[0]
        if kind != "own" and dims[2] > 1 and (kind in ("planted",) or "exceptions" in kind):
            assert {0, dims[0] - 1} <= set(values.tolist()), "both ends"
    for values in on_both(placed(False), kind, 1, Buffer("i", ("d0", "d1"), "int64"), **sizes):
        assert (np.sort(values, axis=1) == np.arange(dims[1])).all()


def test_more_places_than_there_are_repeat_as_they_must() -> None:
    for values in on_both(placed(True), "own", 1, Buffer("i", ("d2",), "int64"), d0=4, d1=2, d2=9):
        assert set(values.tolist()) <= set(range(4))


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_bags_begin_at_zero_and_ascend(kind: str, ends: bool) -> None:
    table, places = Ref(ref="table"), graphs.tensor("d0", dtype="int64")
    inputs = [
        graphs.given("table", graphs.tensor(50, 4)),
        graphs.given("i", places, seen=Seen(low=0, high=49, mean=25, zeros=0)),
        graphs.given("o", graphs.tensor("d1", dtype="int64"), seen=Seen(low=0, high=9, mean=5, zeros=0)),
    ]
    args = [table, Ref(ref="i"), Ref(ref="o"), *([False, 0, False, None, True] if ends else [])]
    sums = graphs.node("y", "aten._embedding_bag.default", args, graphs.tensor("d1", 4))  # type: ignore[arg-type]
    record = graphs.graph(inputs, [sums], {"d0": 40, "d1": 8})
    for values in on_both(record, kind, 2, Buffer("o", ("d1",), "int64"), d0=17, d1=9):
        assert values[0] == 0
        assert (np.diff(values) >= 0).all()
        assert values[-1] == 17 if ends else values[-1] <= 17


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_that_no_index_can_be_is_put_among_those_that_index(kind: str) -> None:
    """Seen: a cross entropy that ignores -100 was refused, since its classes were drawn between -100 and the last one."""
    x, t, whole = Ref(ref="x"), Ref(ref="t"), graphs.tensor("d0", dtype="int64")
    flags, picked = graphs.tensor("d0", dtype="bool"), graphs.tensor("d0", 1)
    nodes = [
        graphs.node("kept", "aten.ne.Scalar", [t, -100], flags),
        graphs.node("zero", "aten.scalar_tensor.default", [0], graphs.tensor(dtype="int64")),
        graphs.node("places", "aten.where.self", [Ref(ref="kept"), t, Ref(ref="zero")], whole),
        graphs.node("column", "aten.unsqueeze.default", [Ref(ref="places"), 1], graphs.tensor("d0", 1, dtype="int64")),
        graphs.node("y", "aten.gather.default", [x, 1, Ref(ref="column")], picked),
    ]
    seen = Seen(low=-100, high=9, mean=0, zeros=0)
    inputs = [graphs.given("x", graphs.tensor("d0", 10)), graphs.given("t", whole, seen=seen)]
    record = graphs.graph(inputs, nodes, {"d0": 512})
    for values in on_both(record, kind, 1, Buffer("t", ("d0",), "int64"), d0=512):
        assert {-100} < set(values.tolist()) <= {-100, *range(10)}


def test_the_same_rows_or_slices_are_faint_in_all_inputs_by_the_same_factor() -> None:
    """Seen: what keeps a norm of a sum from dividing by zero could be left out, for only one of its inputs was ever small."""
    record, shape = sums(graphs.given("z", graphs.tensor("d0", "d1"))), ("d0", "d1")
    drawing, sizes = draws(record, ("faint",))["faint"], {"d0": 64, "d1": 48}
    assert isinstance(drawing, Together)
    for places in range(8):
        rng = np.random.default_rng(places)
        host = [drawing.at(places)(rng, Buffer(name, shape), sizes) for name in "xz"]
        there = [array(values) for values in DeviceDraws(record, "cpu").draw(sizes, places, "faint")]
        for first, second in (host, there):
            sizes_of = [np.log2(np.sqrt((values.astype(float) ** 2).mean(1))) for values in (first, second)]
            small = [levels < -3 for levels in sizes_of]
            assert np.array_equal(*small)
            assert 0.2 < small[0].mean() < 0.8
            assert np.abs(sizes_of[0] - sizes_of[1]).max() < 1
            assert min(levels.min() for levels in sizes_of) > -18


@pytest.mark.parametrize("kind", ["heavy", "wide", "uneven"])
def test_one_place_gets_much_of_all(kind: str) -> None:
    """Seen: counters of 16 bits, and places for 192 of 4096, since no number was drawn much oftener than another."""
    for values in on_both(lookup(), kind, 1, Buffer("i", ("d1",), "int64"), d0=100, d1=4096):
        most = np.bincount(values, minlength=100).max()
        assert 0.22 < most / 4096 < 0.8
    for values in on_both(lookup(), "own", 1, Buffer("i", ("d1",), "int64"), d0=100, d1=4096):
        assert np.bincount(values, minlength=100).max() < 100
