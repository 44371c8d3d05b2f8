from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.search.archive import AnyTrial
from kernellab.search.memory.warm import Place, distance, place_of, warm_start

from .specimens import H200, failed, measured

HERE = Place("softmax", {"M": 256, "N": 512}, "f32", "Neoverse-N1")
DIMS = st.fixed_dictionaries({"M": st.integers(1, 1 << 20), "N": st.integers(1, 1 << 20)})
PLACES = st.builds(
    Place,
    st.just("softmax"),
    DIMS,
    st.sampled_from(["f32", "bf16", "f16"]),
    st.sampled_from([H200, "NVIDIA H100 (sm_90a, 132 SMs)", "NVIDIA A100 (sm_80, 108 SMs)"]),
)


@given(PLACES, PLACES, PLACES)
def test_the_distance_is_a_metric(a: Place, b: Place, c: Place) -> None:
    assert distance(a, a) == 0
    assert distance(a, b) == pytest.approx(distance(b, a))
    assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-9


def test_an_adjacent_shape_is_as_far_as_another_dtype_and_nearer_than_another_architecture() -> None:
    gpu = Place("softmax", {"M": 256, "N": 512}, "f32", H200)
    wide = Place("softmax", {"M": 256, "N": 1024}, "f32", H200)
    half = Place("softmax", {"M": 256, "N": 512}, "bf16", H200)
    other = Place("softmax", {"M": 256, "N": 512}, "f32", "NVIDIA A100 (sm_80, 108 SMs)")
    assert distance(gpu, wide) == distance(gpu, half) == 1.0
    assert distance(gpu, other) == 3.0
    assert distance(gpu, Place("softmax", gpu.dims, "f32", "NVIDIA H100 (sm_90a, 132 SMs)")) == 1.0
    assert distance(half, Place("softmax", half.dims, "f16", H200)) == 0.5  # another dtype of the same size


@pytest.mark.parametrize(
    "there",
    [
        Place("stencil3x3", HERE.dims, "f32", HERE.device),
        Place("softmax", {"H": 1, "W": 1}, "f32", HERE.device),
        Place("softmax", HERE.dims, "f32", H200),
    ],
)
def test_there_is_no_way_from_another_family_or_between_processor_and_gpu(there: Place) -> None:
    assert distance(HERE, there) == math.inf
    assert distance(there, HERE) == math.inf


def test_a_task_s_name_gives_family_and_dtype() -> None:
    assert place_of(measured(0, 1.0)).dtype == "f32"
    half = place_of(measured(0, 1.0, task="particle_filter_bf16"))
    assert (half.family, half.dtype) == ("particle_filter", "bf16")


def test_the_best_of_the_nearest_place_come_first_with_their_origin() -> None:
    far: list[AnyTrial] = [measured(0, 9.0, dims={"M": 4096, "N": 512})]
    near: list[AnyTrial] = [
        measured(0, 2.0, dims={"M": 256, "N": 1024}, params={"ROWS": 1, "UNROLL": 1}),
        measured(1, 3.0, dims={"M": 256, "N": 1024}, params={"ROWS": 2, "UNROLL": 1}),
        measured(2, 3.5, 0.4, dims={"M": 256, "N": 1024}, params={"ROWS": 4, "UNROLL": 1}),
        failed(3, dims={"M": 256, "N": 1024}),
    ]
    found = warm_start({"far": far, "near": near}, HERE, most=3)
    assert [(s.run, s.trial.trial) for s in found] == [("near", 1), ("near", 2), ("near", 0)]
    assert found[0].params == {"ROWS": 2, "UNROLL": 1}
    assert found[0].origin.startswith("trial 1 of near: 3.000x of torch")
    assert "M=256,N=1024 f32 on Neoverse-N1 (distance 1.00)" in found[0].origin
    assert warm_start({"far": far, "near": near}, HERE, most=0) == []


def test_the_same_kernel_comes_once_from_its_nearest_place() -> None:
    runs: dict[str, list[AnyTrial]] = {"a": [measured(0, 9.0, dims={"M": 4096, "N": 512})], "b": [measured(7, 2.0)]}
    assert [(s.run, s.distance) for s in warm_start(runs, HERE)] == [("b", 0.0)]


def test_nothing_recorded_is_nothing_to_start_with() -> None:
    assert warm_start({"a": [failed(0)]}, HERE) == []
