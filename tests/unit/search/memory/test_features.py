from __future__ import annotations

import dataclasses

import pytest

from kernellab.search.memory.features import _block_threads, backend_of, bound_of, features, occupancy, strip_comments
from kernellab.search.memory.specimen import recall

from .specimens import CUDA, H200, ROWS, artifact, duplicate, failed, measured, read, rejected, timing


def test_every_feature_has_a_value_for_every_kind_of_trial() -> None:
    trials = [measured(0, 1.5), failed(1), rejected(2), duplicate(3, of=0), duplicate(4, of=99)]
    for specimen in recall(trials, read):
        found = features(specimen)
        assert all(value is not None for value in dataclasses.asdict(found).values())
        assert found.outcome == specimen.trial.status
        assert found.niche


def test_a_failure_has_an_unknown_bound_and_no_resources_but_its_tags() -> None:
    found = features(recall([failed(0)], read)[0])
    assert (found.bound, found.registers, found.occupancy, found.of_floor) == ("unknown", 0, 0.0, 0.0)
    assert found.backend == "c"
    assert "vector-extension" in found.tags


def test_a_c_kernel_is_tagged_by_its_code_and_not_by_its_comments() -> None:
    found = features(recall([measured(0, 1.0, params={"BLOCK": 8, "UNROLL": 4})], read)[0])
    assert found.tags == {"vector-extension", "blocking"}
    assert (found.passes, found.vector, found.tile) == (2, 0, 5)


def test_a_cuda_kernel_is_tagged_by_vector_width_shared_memory_and_persistence() -> None:
    trial = measured(
        0, 1.0, text=CUDA, device=H200, params={"THREADS": 256}, built=artifact("cuda", registers=64, shared=9000)
    )
    found = features(recall([trial], read)[0])
    assert {"shared", "persistent", "online"} <= found.tags
    assert "tensor-core" not in found.tags
    assert found.vector == 4
    assert found.shared_bytes == 9000


@pytest.mark.parametrize(
    ("floor", "memory", "latency", "backend", "bound"),
    [(1e-4, 1e-4, 2e-4, "cuda", "memory"), (2e-4, 1e-4, 3e-4, "c", "arithmetic"), (1e-6, 1e-6, 4e-6, "cuda", "launch"),
     (1e-6, 1e-6, 4e-6, "c", "memory")],
)  # fmt: skip
def test_the_bound_follows_the_floors(floor: float, memory: float, latency: float, backend: str, bound: str) -> None:
    assert bound_of(timing(1.0, floor_s=floor, memory_floor_s=memory, latency_s=latency), backend) == bound


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "share"),
    [(32, 0, 1024, 1.0), (64, 0, 256, 0.5), (255, 0, 256, 0.125), (32, 100_000, 128, 0.125), (0, 0, 128, 0.0)],
)
def test_occupancy_on_an_h200(registers: int, shared: int, threads: int, share: float) -> None:
    assert occupancy(H200, "cuda", {"registers": registers, "shared": shared}, {"THREADS": threads}) == share


def test_a_block_too_large_for_the_registers_has_no_occupancy() -> None:
    assert occupancy(H200, "cuda", {"registers": 255}, {"THREADS": 1024}) == 0.0


def test_a_language_that_is_not_known_here_says_nothing_of_its_blocks() -> None:
    resources = {"registers": 32, "shared": 0}
    assert occupancy(H200, "a language of tomorrow", resources, {}) == 0.0
    assert occupancy(H200, "a language of tomorrow", resources, {"WARPS": 8}) == 1.0
    assert occupancy(H200, "triton", resources, {}) > 0.0  # Triton takes four warps where nobody says how many


def test_occupancy_of_a_processor_or_of_an_unknown_gpu_is_not_guessed() -> None:
    assert occupancy("Neoverse-N1", "c", {"registers": 32}, {"THREADS": 128}) == 0.0
    assert occupancy("Future (sm_999, 1 SMs)", "cuda", {"registers": 32}, {"THREADS": 128}) == 0.0


def test_niches_do_not_depend_on_the_length_of_the_text() -> None:
    longer = ROWS.replace("/* __shared__ */", "/* " + "words " * 500 + "*/")
    one, other = (features(recall([measured(0, 1.0)], lambda _, t=text: t)[0]) for text in (ROWS, longer))
    assert one.niche == other.niche


def test_spills_make_another_niche() -> None:
    built = [artifact("cuda", registers=255, spill_bytes=s) for s in (0, 64)]
    one, other = (features(recall([measured(0, 1.0, text=CUDA, built=b)], read)[0]).niche for b in built)
    assert one != other
    assert "spills" in other


def test_preprocessor_lines_are_no_comments() -> None:
    assert "omp parallel" in strip_comments("#pragma omp parallel for\n# words of Python\n")
    assert "words" not in strip_comments("#pragma omp parallel for\n# words of Python\n")


@pytest.mark.parametrize(
    ("text", "backend"), [(ROWS, "c"), (CUDA, "cuda"), ("import triton\n", "triton"), ("", "unknown")]
)
def test_the_language_of_what_was_never_built(text: str, backend: str) -> None:
    assert backend_of(text) == backend


@pytest.mark.parametrize(("text", "params", "threads"), [
    ("import triton\n", {}, 128), (ROWS, {}, 0), (CUDA, {}, 0), (CUDA, {"THREADS": 96}, 96), (CUDA, {"WARPS": 3}, 96),
    ("import triton\n", {"num_warps": 8}, 256), (CUDA, {"BLOCK_THREADS": 64}, 64),
])  # fmt: skip
def test_the_threads_of_a_block_are_told_by_the_parameters(text: str, params: dict[str, int], threads: int) -> None:
    assert _block_threads(backend_of(text), dict(params)) == threads
