from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.tasks.inputs import STANDARD, draw_normal
from kernellab.tasks.spec import Array, Buffer, Sizes, Task, dims_label, parse_dims


def add(x: Array, b: Array) -> Array:
    return x + b


def make(**changes: Any) -> Task:
    fields: dict[str, Any] = {
        "name": "add",
        "about": "x + b",
        "inputs": (Buffer("x", ("M", "N")), Buffer("b", ("N",))),
        "outputs": (Buffer("y", ("M", "N")),),
        "reference": add,
        "tune": ({"M": 8, "N": 4},),
        "held_out": ({"M": 9, "N": 5},),
        "edge": ({"M": 1, "N": 1},),
        "distributions": STANDARD,
    }
    return Task(**{**fields, **changes})


def sizes(**changes: Any) -> Sizes:
    fields: dict[str, Any] = {
        "tune": ({"M": 80, "N": 40},),
        "held_out": ({"M": 90, "N": 50},),
        "edge": ({"M": 1, "N": 1},),
    }
    return Sizes(**{**fields, **changes})


@pytest.mark.parametrize(
    ("extent", "value"),
    [(3, 3), ("N", 10), ("2*N+1", 21), ("N//3", 3), ("N*M", 40), ("N-1", 9), ("(N+M)*2", 28), ("7", 7)],
)
def test_extents_are_integers_names_or_arithmetic_over_them(extent: str | int, value: int) -> None:
    assert Buffer("x", (extent,)).shape({"M": 4, "N": 10}) == (value,)


@pytest.mark.parametrize("extent", ["K", "N +", "N/(M-M)", "N['a']", "open('x')", "N(2)"])
def test_an_extent_that_cannot_be_computed_is_refused_with_a_fix(extent: str) -> None:
    with pytest.raises(TaskRefused, match="cannot be computed") as caught:
        Buffer("x", (extent,)).shape({"M": 4, "N": 10})
    assert "dims" in caught.value.fix


@pytest.mark.parametrize("extent", ["N.size", "'N'", "N/4"])
def test_an_extent_that_is_no_integer_is_refused(extent: str) -> None:
    with pytest.raises(TaskRefused):
        Buffer("x", (extent,)).shape({"M": 4, "N": 10})


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 4), ("float64", 8), ("int32", 4), ("int64", 8), ("uint8", 1), ("float16", 2), ("bfloat16", 2)],
)
def test_nbytes_counts_elements_times_item_size(dtype: str, size: int) -> None:
    assert Buffer("x", ("M", "N"), dtype).nbytes({"M": 3, "N": 5}) == 15 * size


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"name": "a b"}, "name may hold"),
        ({"name": "../up"}, "name may hold"),
        ({"name": ""}, "name may hold"),
        ({"inputs": ()}, "at least one input"),
        ({"outputs": ()}, "at least one input and one output"),
        ({"outputs": (Buffer("x", ("M", "N")),)}, "distinct identifiers"),
        ({"outputs": (Buffer("y-1", ("M", "N")),)}, "distinct identifiers"),
        ({"outputs": (Buffer("y", ("M", "N"), "float8_e5m2"),)}, "dtype float8_e5m2"),
        ({"inputs": (Buffer("x", ("M", "N"), "complex64"),)}, "dtype complex64"),
        ({"outputs": (Buffer("y", ("M", "N"), "int32"),)}, "integer outputs"),
        ({"tune": ()}, "no tune shapes"),
        ({"held_out": ()}, "no held_out shapes"),
        ({"edge": ()}, "no edge shapes"),
        ({"edge": ({"M": 1},)}, "does not have the dims"),
        ({"held_out": ({"M": 9, "N": 5, "K": 1},)}, "does not have the dims"),
        ({"edge": ({"M": 0, "N": 1},)}, "is empty at M=0,N=1"),
        ({"edge": ({"M": 1, "N": -3},)}, "is empty"),
        ({"held_out": ({"N": 4, "M": 8},)}, "held-out shape is also a tuning shape"),
        ({"distributions": {"normal": draw_normal}}, "fewer than two input distributions"),
        ({"inputs": (Buffer("x", ("M", "K")),)}, None),
        ({"sizes": {"cuda": sizes(tune=())}}, "no cuda tune shapes"),
        ({"sizes": {"cuda": sizes(edge=({"M": 1},))}}, "cuda edge shape .* does not have the dims"),
        ({"sizes": {"cuda": sizes(edge=({"M": 0, "N": 1},))}}, "is empty at M=0,N=1"),
        ({"sizes": {"cuda": sizes(held_out=({"N": 40, "M": 80},))}}, "cuda held-out shape is also a tuning shape"),
    ],
)
def test_a_task_that_could_not_be_judged_is_refused(changes: dict[str, Any], what: str | None) -> None:
    with pytest.raises(TaskRefused, match=what) as caught:
        make(**changes)
    assert caught.value.fix


def test_an_exact_task_may_have_integer_outputs_and_one_distribution() -> None:
    buffers = {"inputs": (Buffer("x", ("M", "N"), "int32"),), "outputs": (Buffer("y", ("M", "N"), "int64"),)}
    task = make(**buffers, exact=True, distributions={"normal": draw_normal}, reference=lambda x: x)
    assert task.exact


def test_dims_written_in_any_order_come_back_in_the_tasks_order() -> None:
    task = make()
    assert list(parse_dims("N=512,M=4096", task).items()) == [("M", 4096), ("N", 512)]


@pytest.mark.parametrize("text", ["M=4096,N=512", "M = 4096 , N= 512", "4096x512", "4096X512"])
def test_a_shape_is_read_by_name_or_by_position(text: str) -> None:
    assert parse_dims(text, make()) == {"M": 4096, "N": 512}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "4096",
        "1x2x3",
        "M=1",
        "M=1,N=2,K=3",
        "M=1,K=2",
        "M=0,N=1",
        "M=-1,N=1",
        "0x5",
        "axb",
        "M=1=2,N=3",
        "M,N=1",
        "1.5x2",
    ],
)
def test_what_is_not_a_shape_is_a_usage_error_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="is not a shape of task add") as caught:
        parse_dims(text, make())
    assert caught.value.fix.startswith("write it like 8x4 or M=8,N=4, in whole numbers")


def test_a_dim_given_twice_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        parse_dims("M=1,M=2,N=3", make())


def test_a_shapes_label_reads_back_as_the_shape() -> None:
    task = make()
    assert dims_label(task.tune[0]) == "M=8,N=4"
    assert parse_dims(dims_label(task.tune[0]), task) == task.tune[0]


def test_without_a_numpy_baseline_the_reference_in_the_tasks_own_dtype_takes_its_place() -> None:
    x, b, y = np.ones((2, 3), np.float32), np.full(3, 0.5, np.float32), np.zeros((2, 3), np.float32)
    make().baselines["numpy"](x, b, y)
    assert y.tolist() == [[1.5] * 3] * 2


def test_bytes_and_flops_come_from_the_buffers_unless_stated() -> None:
    dims = {"M": 8, "N": 4}
    assert make().least_bytes(dims) == 4 * (32 + 4 + 32)
    assert make(bytes_moved=lambda d: d["M"] * 100).least_bytes(dims) == 800
    assert make().least_flops(dims) == 0
    assert make(flops=lambda d: d["M"] * d["N"]).least_flops(dims) == 32


def test_lists_are_taken_and_become_tuples() -> None:
    task = make(tune=[{"M": 8, "N": 4}], inputs=[Buffer("x", ("M", "N")), Buffer("b", ("N",))])
    assert (type(task.tune), type(task.inputs), task.dim_names) == (tuple, tuple, ("M", "N"))


def test_the_fingerprint_is_stable_and_changes_with_every_part() -> None:
    base = make().fingerprint()
    assert make().fingerprint() == base
    changes: list[dict[str, Any]] = [
        {"name": "other"},
        {"reference": lambda x, b: x - b},
        {"tune": ({"M": 8, "N": 6},)},
        {"exact": True},
        {"held_out": ({"M": 9, "N": 6},)},
        {"edge": ({"M": 2, "N": 1},)},
        {"flops": lambda d: 3},
        {"reduction": lambda d: 3},
        {"distributions": {"normal": draw_normal, "other": STANDARD["large"]}},
        {"scale": lambda x, b: x},
        {"inputs": (Buffer("x", ("M", "N"), constant=True), Buffer("b", ("N",)))},
        {"outputs": (Buffer("y", ("M", "N"), "bfloat16"),)},
        {"sizes": {"cuda": sizes()}},
        {"sizes": {"hip": sizes()}},
        {"sizes": {"cuda": sizes(edge=({"M": 2, "N": 1},))}},
        {"gpu_baselines": {"torch": lambda x, b: x + b}},
        {"gpu_baselines": {"torch": lambda x, b: b + x}},
    ]
    prints = [make(**c).fingerprint() for c in changes]
    assert len({base, *prints}) == 1 + len(changes)


def test_a_task_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().name = "x"  # type: ignore[misc]


def test_on_a_device_with_sizes_of_its_own_the_task_has_those_shapes() -> None:
    task = make(sizes={"cuda": sizes(tune=[{"M": 80, "N": 40}])})
    there = task.on("cuda")
    assert (there.tune, there.held_out) == (({"M": 80, "N": 40},), ({"M": 90, "N": 50},))
    assert (there.name, there.reference, there.dim_names) == (task.name, task.reference, task.dim_names)
    assert there.on("cuda") == there
    assert there.fingerprint() != task.fingerprint()
    assert task.tune == ({"M": 8, "N": 4},)


def test_on_a_device_without_sizes_of_its_own_the_task_is_itself() -> None:
    task = make(sizes={"cuda": sizes()})
    assert task.on("cpu") is task
    assert make().on("cuda").sizes == {}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_numpy_baseline_of_16_bit_buffers_computes_in_float32_and_rounds_once(dtype: str) -> None:
    seen = []

    def with_numpy(x: Array, b: Array, y: Array) -> None:
        seen.extend(a.dtype for a in (x, b, y))
        y[...] = x + b + np.float32(1e-3) - b

    buffers = (Buffer("x", ("M", "N"), dtype), Buffer("b", ("N",), dtype))
    task = make(inputs=buffers, outputs=(Buffer("y", ("M", "N"), dtype),), baselines={"numpy": with_numpy})
    x, b, y = np.zeros((2, 3), dtype), np.full(3, 8, dtype), np.ones((2, 3), dtype)
    task.on("cuda").baselines["numpy"](x, b, y)
    assert seen == [np.float32] * 3
    assert y.dtype == np.dtype(dtype)
    assert np.allclose(y.astype(np.float64), 1e-3, rtol=1e-2)
    assert not x.astype(np.float32).any()


def test_an_exact_task_of_16_bit_buffers_computes_in_them() -> None:
    buffers = (Buffer("x", ("M", "N"), "bfloat16"), Buffer("b", ("N",), "bfloat16"))
    task = make(inputs=buffers, outputs=(Buffer("y", ("M", "N"), "bfloat16"),), exact=True)
    x, b, y = np.full((2, 3), 256, "bfloat16"), np.ones(3, "bfloat16"), np.zeros((2, 3), "bfloat16")
    task.baselines["numpy"](x, b, y)
    assert y.astype(np.float32).tolist() == [[256.0] * 3] * 2
