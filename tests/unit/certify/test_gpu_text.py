"""GPU kernels as plain modules: the same machine code as the candidate they come from."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernellab.build.base import Built, Candidate
from kernellab.build.nvrtc_job import PROBLEM
from kernellab.build.triton import missing
from kernellab.certify.certificate import Certificate
from kernellab.certify.confirmed_trial import prove_trial
from kernellab.certify.gpu_text import accepted_params, plain_module
from kernellab.certify.issue import certify
from kernellab.core.errors import UsageError
from kernellab.core.settings import Settings
from kernellab.targets.base import platform
from kernellab.tasks.builtin import TASKS

TRITON = '''"""Doubles."""
import triton
from kernellab import scratch
SPACE = {"B": [64]}
TASKS = ("x",)

@triton.jit
def k(x, y, n, B): ...

def launch(x, y, B=64):
    name = f"{x.dtype} {x.size}"
    work = scratch(x.size, x.dtype)
    k[(x.shape[0],)](x, y, x.strides[0], B=B)
'''


@pytest.fixture
def gpu(issued: tuple[Certificate, Path]) -> Certificate:
    certificate, _ = issued
    kernel = certificate.kernel.model_copy(update={"backend": "triton", "params": {"B": 64, "ELSE": 1}})
    return certificate.model_copy(update={"kernel": kernel})


def test_only_what_differs_on_tensors_is_rewritten(gpu: Certificate) -> None:
    text = plain_module(TRITON, gpu, 2)
    ast.parse(text)
    assert 'f"{dtype_of(x)} {x.numel()}"' in text
    assert "k[(x.shape[0],)](x, y, x.stride()[0], B=B)" in text
    assert "from ._launch import dtype_of, scratch" in text
    for gone in ("SPACE", "TASKS", "kernellab"):
        assert gone not in text
    assert text.startswith('"""Doubles."""')


CUDA = '''"""Doubles."""
SOURCE = "__global__ void k(const float *x, float *y, int n) {}"

def launch(x, y):
    kernel("k")[x.shape[0], 128](x, y, x.size)
'''


def test_a_language_that_compiles_itself_needs_no_kernels_object(gpu: Certificate) -> None:
    assert "Kernels" not in plain_module(TRITON, gpu, 2)
    bare = TRITON.replace("    work = scratch(x.size, x.dtype)\n", "").replace('    name = f"{x.dtype} {x.size}"\n', "")
    assert "_launch" not in plain_module(bare, gpu, 2)


def test_cuda_text_is_compiled_at_its_end_with_the_candidates_own_options(gpu: Certificate) -> None:
    flags = ["--gpu-architecture=sm_90a", "--std=c++17", "--use_fast_math"]
    cuda = gpu.model_copy(update={"kernel": gpu.kernel.model_copy(update={"backend": "cuda", "flags": flags})})
    text = plain_module(CUDA, cuda, 2)
    assert text.startswith('"""Doubles."""\n\nfrom ._launch import Kernels\n')
    assert 'kernel("k")[x.shape[0], 128](x, y, x.numel())' in text
    assert text.endswith("\n\nkernel = Kernels(SOURCE, ['--std=c++17', '--use_fast_math'])\n")


def test_only_parameters_that_launch_takes_are_handed_over(gpu: Certificate) -> None:
    assert accepted_params(TRITON, gpu) == {"B": 64}
    assert accepted_params(TRITON.replace("B=64)", "B=64, **more)", 1), gpu) == {"B": 64, "ELSE": 1}


def test_a_buffer_handed_to_a_host_function_is_refused(gpu: Certificate) -> None:
    text = TRITON.replace("def launch", "def helper(b): return b.size\n\ndef launch").replace(
        "x.shape[0],", "helper(x),"
    )
    with pytest.raises(UsageError, match=r"hands a buffer to helper\(\)"):
        plain_module(text, gpu, 2)


def test_a_file_without_launch_is_refused(gpu: Certificate) -> None:
    with pytest.raises(UsageError, match=r"no launch\(\)"):
        plain_module("x = 1", gpu, 2)


@pytest.fixture(scope="module")
def build(home: Path) -> Iterator[Callable[..., Built]]:
    """Builds for a Hopper GPU; none is needed."""
    bench = platform("cuda").workbench(Settings(build_timeout_s=60.0, cache=False, target="sm_90"))

    def built(task: str, text: str, params: dict[str, object], dims: dict[str, int]) -> Built:
        found = bench.builder.build(TASKS[task].on("cuda"), Candidate(text, "candidate"), params, [dims])  # type: ignore[arg-type]
        assert isinstance(found, Built), found
        return found

    with bench:
        yield built


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize(
    ("run", "trial", "task"), [("softmax-bf16-quick", 5, "softmax_bf16"), ("stencil5x5-held-out", 60, "stencil5x5")]
)
def test_an_exported_triton_kernel_is_the_certified_one(
    run: str, trial: int, task: str, signed_again: Callable[[str], Path], build: Callable[..., Built]
) -> None:
    folder = signed_again(run)
    certificate, _ = certify(folder, trial)
    source = prove_trial(folder, trial).source
    text = plain_module(source, certificate, 2)
    stand_in = "dtype_of = lambda b: b.dtype\n"
    lines = [stand_in if line.startswith("from ._launch") else line for line in text.splitlines(keepends=True)]
    dims = {"M": 8, "N": 640} if task == "softmax_bf16" else {"H": 20, "W": 64, "C": 3}
    ours = build(task, "".join(lines), accepted_params(source, certificate), dims)
    theirs = build(task, source, dict(certificate.kernel.params), dims)
    assert ours.artifact.id == theirs.artifact.id


@pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM)
def test_an_exported_cuda_kernel_is_the_certified_one(
    signed_again: Callable[[str], Path], build: Callable[..., Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from kernellab.build.bundle import unpack
    from kernellab.certify.export import export

    folder = signed_again("stencil3x3-held-out")
    certificate, path = next(c for c in (certify(folder, n) for n in (33, 57, 103)) if c[0].kernel.backend == "cuda")
    export([path], "module", tmp_path / "out", unreviewed=True)
    monkeypatch.syspath_prepend(str(tmp_path / "out"))
    import importlib

    kernels = importlib.import_module("klab_stencil3x3.kernel_0").kernel
    dims = {"H": 20, "W": 64, "C": 3}
    theirs = build(
        "stencil3x3", prove_trial(folder, certificate.evidence.trial).source, dict(certificate.kernel.params), dims
    )
    name = theirs.plans[0].steps[0].kernel
    kernels._options.insert(0, "--ptxas-options=-v")  # the laboratory asks for a report, and the file notes the options
    cubin, symbol = kernels.compile(name, (9, 0))
    bundle = unpack(theirs.timed.code)
    assert symbol == bundle.kernels[name][1]
    assert cubin == bundle.modules[0]
