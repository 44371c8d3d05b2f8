"""Which device a run gets, and the builders of a GPU that is not here. Real sandboxes and compilers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from kernellab.build import nvrtc_job, triton
from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.router import Router
from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.settings import Settings
from kernellab.propose.recipe import FOLDER, builtin_candidates, load_recipes, read_candidate
from kernellab.run.driver import present
from kernellab.targets.base import DeviceSetup, platform
from kernellab.targets.choose import choose_device, settle_device
from kernellab.tasks.builtin import TASKS

C = read_candidate(FOLDER / "c" / "softmax_blocked.py")
TRITON = read_candidate(FOLDER / "triton" / "softmax_row.py")
CUDA = read_candidate(FOLDER / "cuda" / "softmax_warp_row.py")
BOTH = ("cpu", "cuda")
without_gpu = pytest.mark.skipif(present(), reason="there is a GPU here")
needs_gpu = pytest.mark.skipif(not present(), reason="needs a GPU")


def chosen(device: str, candidates: Sequence[Candidate], builtin: Sequence[str] = ()) -> str:
    return choose_device(Settings(device=device), candidates, builtin, "softmax").device


def opened(settings: Settings) -> DeviceSetup:
    return platform(settings.device).open(settings, TASKS["softmax"].on(settings.device), torch=False)


@pytest.mark.parametrize("device", ["auto", "cpu"])
@pytest.mark.parametrize(
    ("candidates", "builtin"), [([C], ()), ([C], BOTH), ([C], ("cuda",)), ([], ("cpu",)), ([], ())]
)
def test_what_is_for_the_processor_runs_there_wherever_it_is(
    device: str, candidates: list[Candidate], builtin: tuple[str, ...]
) -> None:
    assert chosen(device, candidates, builtin) == "cpu"


def test_what_is_measured_without_a_candidate_gets_the_best_device_that_is_here() -> None:
    settings = Settings(effort="quick", threads=2)
    best = "cuda" if present() else "cpu"
    assert settle_device(settings) == settings.model_copy(update={"device": best})
    assert settle_device(Settings(device="cpu")).device == "cpu"


@without_gpu
def test_a_gpu_that_is_asked_for_without_a_candidate_must_be_here() -> None:
    with pytest.raises(EnvironmentFault, match="--device cuda needs"):
        settle_device(Settings(device="cuda"))


def test_nothing_but_the_device_is_settled() -> None:
    settings = Settings(effort="quick", threads=2, seed=5)
    assert choose_device(settings, [C]) == settings.model_copy(update={"device": "cpu"})


@without_gpu
@pytest.mark.parametrize(
    ("candidates", "builtin"), [([], BOTH), ([TRITON], BOTH), ([C, TRITON], ()), ([CUDA, C], BOTH)]
)
def test_without_a_gpu_what_the_processor_can_run_is_run(candidates: list[Candidate], builtin: tuple[str, ...]) -> None:
    assert chosen("auto", candidates, builtin) == "cpu"


@needs_gpu
@pytest.mark.parametrize("device", ["auto", "cuda"])
@pytest.mark.parametrize(
    ("candidates", "builtin"), [([], BOTH), ([], ("cuda",)), ([TRITON], BOTH), ([CUDA], ()), ([C, TRITON], ()), ([TRITON], ("cpu",))]
)  # fmt: skip
def test_with_a_gpu_what_is_for_it_runs_there(
    device: str, candidates: list[Candidate], builtin: tuple[str, ...]
) -> None:
    assert chosen(device, candidates, builtin) == "cuda"


@without_gpu
@pytest.mark.parametrize("candidate", [TRITON, CUDA], ids=lambda c: c.name)
def test_a_gpu_kernel_without_a_gpu_is_named_and_can_still_be_built(candidate: Candidate) -> None:
    with pytest.raises(EnvironmentFault, match=f"{candidate.name} is for a GPU, and none answers here") as caught:
        chosen("auto", [candidate])
    assert "klab build" in caught.value.fix
    assert "nvidia-smi" in caught.value.fix


@without_gpu
def test_several_gpu_kernels_are_all_named() -> None:
    with pytest.raises(EnvironmentFault, match=f"{TRITON.name}, {CUDA.name} are for a GPU"):
        chosen("auto", [TRITON, CUDA], ("cuda",))


@without_gpu
def test_recipes_for_a_gpu_alone_say_what_the_processor_could_do_instead() -> None:
    with pytest.raises(EnvironmentFault, match="the built-in kernels of softmax are for a GPU") as caught:
        chosen("auto", [], ("cuda",))
    assert "--candidate" in caught.value.fix
    assert "--dtype f32" in caught.value.fix


@without_gpu
@pytest.mark.parametrize(
    ("candidates", "builtin", "fix"),
    [([], BOTH, "leave --device out"), ([C, TRITON], (), "leave --device out"), ([TRITON], (), "klab build"), ([CUDA], ("cuda",), "klab build"),
     ([], ("cuda",), "--dtype f32"), ([], (), "--candidate")],
)  # fmt: skip
def test_a_gpu_that_is_asked_for_and_not_there(candidates: list[Candidate], builtin: tuple[str, ...], fix: str) -> None:
    with pytest.raises(EnvironmentFault, match="none answers here") as caught:
        chosen("cuda", candidates, builtin)
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("device", "candidates", "builtin", "words", "fix"),
    [
        ("cpu", [TRITON], (), "softmax_row is for a GPU, which --device cpu is not", "klab build"),
        ("cpu", [TRITON, CUDA], ("cuda",), "are for a GPU, which --device cpu is not", "leave --device out"),
        ("cpu", [], ("cuda",), "the built-in kernels of softmax are for a GPU", "--dtype f32"),
        ("cuda", [C], (), "softmax_blocked is for the processor, which --device cuda is not", "leave --device out"),
        ("cuda", [C], ("cpu",), "softmax_blocked is for the processor", "a Triton or CUDA C"),
    ],
)
def test_a_device_on_which_nothing_given_can_run_is_a_usage_error(
    device: str, candidates: list[Candidate], builtin: tuple[str, ...], words: str, fix: str
) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        chosen(device, candidates, builtin)
    assert fix in caught.value.fix


@without_gpu
def test_a_gpu_that_is_not_here_is_not_opened_and_what_works_without_is_named() -> None:
    """The way of 'klab resume' and 'klab replay', whose device is the recorded one."""
    with pytest.raises(EnvironmentFault, match="this run is on a GPU, and none answers here") as caught:
        opened(Settings(device="cuda"))
    assert "klab audit" in caught.value.fix


@pytest.mark.backend_c
def test_the_processor_builds_c_and_says_why_it_builds_nothing_else() -> None:
    device = opened(Settings(device="cpu", cache=False))
    try:
        assert device.rig.names == ("numpy",)
        assert (device.rig.device.kind, device.rig.sample_s, device.build_jobs, device.crew) == (
            "cpu",
            0.003,
            0,
            None,
        )
        assert device.gpu_seconds() == 0
        assert device.environment["device"] == device.rig.device.name
        recipes, unusable = load_recipes(device.builder, [C, TRITON, CUDA])
        assert [r.name for r in recipes] == [C.name]
        assert {name: "this run is on cpu" in why for name, why in unusable.items()} == {
            TRITON.name: True,
            CUDA.name: True,
        }
    finally:
        device.close()


@pytest.mark.backend_c
def test_settings_of_the_device_are_the_users() -> None:
    settings = Settings(device="cpu", cache=False, sample_s=0.001, build_jobs=2, threads=2)
    device = opened(settings)
    try:
        assert (device.rig.sample_s, device.rig.threads, device.build_jobs) == (0.001, 2, 2)
    finally:
        device.close()


@pytest.fixture(scope="module")
def gpu_builders() -> Iterator[tuple[Router, str]]:
    if reason := triton.missing() or nvrtc_job.PROBLEM:
        pytest.skip(reason)
    with platform("cuda").workbench(Settings(cache=False, build_timeout_s=60, target="sm_90")) as bench:
        yield bench.builder, bench.compilers


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["softmax_row_triton", "softmax_warp_row_cuda"])
@pytest.mark.parametrize("task", ["softmax", "softmax_bf16"])
def test_both_back_ends_of_a_gpu_build_where_there_is_none(
    name: str, task: str, gpu_builders: tuple[Router, str]
) -> None:
    router, identity = gpu_builders
    (candidate,) = [c for c in builtin_candidates(task, "cuda") if c.name == name]
    (recipe,), unusable = load_recipes(router, [candidate])
    assert unusable == {}
    params = {k: v[0] for k, v in recipe.space.items()}
    dims = [{"M": 16384, "N": 4096}, {"M": 3, "N": 7}]
    built = router.build(TASKS[task].on("cuda"), candidate, params, dims)
    assert isinstance(built, Built), built
    assert built.artifact.backend == name.rpartition("_")[2]
    assert len(built.plans) == 2
    assert all(plan.steps for plan in built.plans)
    assert built.timed.code
    assert "sm_90" in identity


def test_the_builders_of_a_gpu_refuse_c_and_what_does_not_compile(gpu_builders: tuple[Router, str]) -> None:
    router, _ = gpu_builders
    refused = router.build(TASKS["softmax"], C, {}, [{"M": 3, "N": 7}])
    assert refused == NotBuilt("build-failed", "is a kernel for --device cpu (c), this run is on cuda")
    broken = Candidate(
        'SOURCE = r"""__global__ void k(float *x) { nonsense; }"""\ndef launch(x, y):\n    kernel("k")[1, 32](y)\n',
        "broken",
    )
    built = router.build(TASKS["softmax"], broken, {}, [{"M": 3, "N": 7}])
    assert isinstance(built, NotBuilt)
    assert built.status == "build-failed"
    assert "nonsense" in built.reason + built.log
