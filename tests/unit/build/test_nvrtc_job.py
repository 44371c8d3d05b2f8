"""What NVRTC is given and what it may do in its job: flags, headers, macros, targets, tiers. No GPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernellab.build import cuda, nvrtc_job
from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.bundle import unpack
from kernellab.build.cache import CodeCache
from kernellab.build.cubin import CubinFacts, audit
from kernellab.build.cuda import CudaBuilder
from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.records import Param
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.spec import Task

pytestmark = pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
SHAPES = [{"N": 16}, {"N": 3}]
K = """__global__ void k(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
LAUNCH = 'def launch(x, y, **params):\n    kernel("k")[-(-x.size // 256), 256](x, y, x.size)\n'
Attempt = Callable[..., Built | NotBuilt]


@pytest.fixture(scope="module")
def gpu_sandbox() -> Iterator[Sandbox]:
    with open_sandbox("auto", cuda.PRELOAD, cuda.header_folders()) as opened:
        yield opened


@pytest.fixture(scope="module")
def gpu_builder(gpu_sandbox: Sandbox) -> CudaBuilder:
    return CudaBuilder(gpu_sandbox, CodeCache(None), "sm_90")


def text(source: str = K, launch: str = LAUNCH, head: str = "") -> Candidate:
    return Candidate(f"{head}\nSOURCE = r'''{source}'''\n{launch}", "test")


@pytest.fixture
def attempt(gpu_builder: CudaBuilder, double_task: Task) -> Attempt:
    def tried(
        source: str = K, launch: str = LAUNCH, params: dict[str, Param] | None = None, head: str = ""
    ) -> Built | NotBuilt:
        return gpu_builder.build(double_task, text(source, launch, head), params or {}, SHAPES)

    return tried


def launching(call: str) -> str:
    return f"def launch(x, y, **params):\n    {call}\n"


def facts_of(built: Built) -> CubinFacts:
    return audit(unpack(built.timed.code).modules[0])


def good(result: Built | NotBuilt) -> Built:
    assert isinstance(result, Built), result.reason
    return result


def failed(result: Built | NotBuilt, status: str = "build-failed") -> NotBuilt:
    assert isinstance(result, NotBuilt), "it was built"
    assert result.status == status
    return result


def test_trusted_text_is_compiled_without_a_sandbox() -> None:
    done = nvrtc_job.compile_source(K, "own", ["--gpu-architecture=sm_90a"], ["k"])
    assert done.cubin is not None
    assert (done.names, done.log) == ({"k": "_Z1kPKfPfi"}, "")
    assert ".target sm_90a" in done.ptx
    broken = nvrtc_job.compile_source("int x = ;", "own", ["--gpu-architecture=sm_90a"], [])
    assert broken.cubin is None
    assert broken.log.startswith("own(1): error")
    assert nvrtc_job.compile_source(K, "own", ["--no-such-option"], []).cubin is None


def test_without_the_library_nothing_is_compiled_and_the_log_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc_job, "nvrtc", None)
    monkeypatch.setattr(nvrtc_job, "PROBLEM", "not there")
    assert nvrtc_job.compile_source(K, "own", [], []) == nvrtc_job.Compiled(None, "not there")


def test_the_architecture_is_the_devices_own(attempt: Attempt) -> None:
    built = good(
        attempt('__global__ void k(const float *x, float *y, int n) { asm("setmaxnreg.dec.sync.aligned.u32 40;"); }')
    )
    assert "--gpu-architecture=sm_90a" in built.artifact.flags
    assert facts_of(built).arch == 90


@pytest.mark.parametrize(
    ("arch", "target"),
    [("sm_80", "sm_80"), ("sm_86", "sm_86"), ("sm_89", "sm_89"), ("sm_90", "sm_90a"), ("sm_90a", "sm_90a"),
     ("sm_100", "sm_100a"), ("sm_100a", "sm_100a"), ("sm_120a", "sm_120a")],
)  # fmt: skip
def test_every_target_compiles(arch: str, target: str, gpu_sandbox: Sandbox, double_task: Task) -> None:
    assert cuda.target_of(arch) == target
    built = good(CudaBuilder(gpu_sandbox, CodeCache(None), arch).build(double_task, text(), {}, SHAPES))
    assert facts_of(built).arch == int("".join(filter(str.isdigit, arch)))


@pytest.mark.parametrize("arch", ["", "90", "sm_9", "compute_90", "sm_90a --x", "gfx942"])
def test_what_is_no_architecture_is_refused(arch: str) -> None:
    with pytest.raises(UsageError):
        cuda.target_of(arch)


def test_half_precision_needs_no_header(attempt: Attempt) -> None:
    source = """struct bf16 { unsigned short bits; }; struct f16 { unsigned short bits; };
    __device__ float up(bf16 v) { return __uint_as_float((unsigned)v.bits << 16); }
    __device__ float up(f16 v) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v.bits)); return r; }
    __device__ void down(float v, bf16 *to) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(v)); }
    __device__ void down(float v, f16 *to) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(v)); }
    template <class T> __global__ void k(const T *x, T *y, int n) {
        if (threadIdx.x < n) down(2 * up(x[threadIdx.x]), y + threadIdx.x);
    }"""
    launch = launching('[kernel(f"k<{t}>")[1, 32](x, y, x.size) for t in ("bf16", "f16")]')
    assert len(facts_of(good(attempt(source, launch))).kernels) == 2


@pytest.mark.heavy
@pytest.mark.skipif(not cuda.header_folders(), reason="no CUDA headers on this machine")
@pytest.mark.parametrize("header", ["<cuda_fp16.h>", '"cuda_bf16.h"', "<cooperative_groups.h>"])
def test_cudas_own_headers_can_be_included_where_they_are_installed(header: str, attempt: Attempt) -> None:
    built = good(attempt(f"#include {header}\n{K}"))
    assert any(flag.startswith("--include-path=") for flag in built.artifact.flags)


def test_the_first_place_that_has_all_headers_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, header in (("half", "cuda_fp16.h"), ("whole", "cuda_fp16.h"), ("whole", "cccl/nv/target")):
        file = tmp_path / place / "include" / header
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    monkeypatch.setattr(cuda.glob, "glob", lambda _: [])
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "half"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "whole"))
    whole = str(tmp_path / "whole" / "include")
    assert cuda.header_folders() == (whole, f"{whole}/cccl")


def test_without_an_include_no_folder_is_named(attempt: Attempt) -> None:
    assert not any("include" in flag for flag in good(attempt()).artifact.flags)


@pytest.mark.parametrize(
    ("params", "condition"),
    [
        ({"ROWS": 4}, "ROWS == 4"), ({"ROWS": -4}, "ROWS == -4"), ({"HALF": 0.5}, "HALF * 2 == 1"),
        ({"ON": True, "OFF": False}, "ON && !OFF"), ({"EXP": "poly"}, "EXP_poly && EXP == 7"),
        ({"MODE": "a-b.c"}, "MODE_a_b_c"),
    ],
)  # fmt: skip
def test_parameters_reach_source_as_macros(params: dict[str, Param], condition: str, attempt: Attempt) -> None:
    good(attempt(f'enum {{ poly = 7 }};\nstatic_assert({condition}, "");\n{K}', params=params))
    assert (
        "static assertion"
        in failed(attempt(f'enum {{ poly = 7 }};\nstatic_assert(!({condition}), "");\n{K}', params=params)).reason
    )


@pytest.mark.parametrize(
    "flag",
    ["--use_fast_math", "-use_fast_math", "--ftz=true", "--prec-div=false", "--prec-sqrt=false", "--fmad=false",
     "--maxrregcount=32", "--extra-device-vectorization", "-DWIDTH=4", "--define-macro=WIDTH", "--std=c++20",
     "-std=c++14", "-lineinfo", "--ptxas-options=-v", "-Xptxas=-v"],
)  # fmt: skip
def test_a_harmless_flag_is_allowed(flag: str, attempt: Attempt) -> None:
    built = good(attempt(head=f"FLAGS = [{flag!r}]"))
    assert flag in built.artifact.flags or "ptxas" in flag
    assert sum("std=" in f for f in built.artifact.flags) == 1


@pytest.mark.parametrize(
    "flag",
    ["-I/", "-I", "--include-path=/etc", "--pre-include=/etc/passwd", "-include=/etc/passwd", "--ptxas-options=-O0",
     "-Xptxas", "-Xptxas=-v,-O1", "--gpu-architecture=sm_80", "-arch=sm_80", "-rdc=true", "--relocatable-device-code=true",
     "-dlto", "-G", "--device-debug", "--time=/tmp/x", "--fdevice-time-trace=x", "@file", "-default-device", "x", "",
     "--create-pch=x", "--use-pch=x", "-DX=1;2", "-D X", "--maxrregcount=32 -I/", "--std=c++17\n-I/", "-DX=\"a\""],
)  # fmt: skip
def test_a_flag_that_is_not_harmless_is_refused_by_name(flag: str, attempt: Attempt) -> None:
    reason = failed(attempt(head=f"FLAGS = [{flag!r}]")).reason
    assert reason.startswith(f"compiler flag '{flag}' is not on the list of harmless ones")


def test_fast_math_changes_the_code(attempt: Attempt) -> None:
    source = "__global__ void k(const float *x, float *y, int n) { y[n] = sinf(x[n]) / x[0]; }"
    plain, fast = good(attempt(source)), good(attempt(source, head='FLAGS = ["--use_fast_math"]'))
    assert fast.artifact.resources["code_bytes"] < plain.artifact.resources["code_bytes"]


def test_parameters_fill_the_templates_of_flags(attempt: Attempt) -> None:
    built = good(attempt(params={"R": 24}, head='FLAGS = ["--maxrregcount={R}"]'))
    assert {"--maxrregcount=24", "-DR=24"} <= set(built.artifact.flags)
    fault = failed(attempt(params={"F": "I/etc"}, head='FLAGS = ["-{F}"]'))
    assert "'-I/etc' is not on the list" in fault.reason


@pytest.mark.parametrize("name", ["KLAB_THREADS", "klab_p", "__CUDA_ARCH__"])
def test_reserved_parameter_names_are_refused(name: str, attempt: Attempt) -> None:
    assert failed(attempt(params={name: 2})).reason == f"parameter name '{name}' is reserved"


@pytest.mark.parametrize(
    "line",
    ['#include "{}"', "#include <{}>", '#  include "{}"', '#inc\\\nlude "{}"', '%:include "{}"', '#define P "{}"\n#include P',
     '/**/ #include "{}"', '#/**/include "{}"', '#embed "{}"', '#include "../../../../../..{}"', '#import "{}"',
     '??=include "{}"', '_Pragma("include \\"{}\\"")\n#error no'],
)  # fmt: skip
def test_no_file_of_the_user_can_be_included(line: str, attempt: Attempt, tmp_path: Path) -> None:
    private = tmp_path / "private.h"
    private.write_text("int secret_of_the_user = 5 +;\n")
    os.chmod(tmp_path, 0o755)
    fault = failed(attempt(f"{line.format(private)}\n{K}"))
    assert "secret_of_the_user" not in fault.reason + fault.log
    fault = failed(attempt(f"{line.format('/etc/passwd')}\n{K}"))
    assert "root:" not in fault.reason + fault.log


def test_a_refused_include_is_named(attempt: Attempt) -> None:
    assert failed(attempt(f'#include "/etc/passwd"\n{K}')).reason.startswith('SOURCE includes "/etc/passwd": only CUDA')


def test_a_file_is_not_there_even_to_ask_for(attempt: Attempt) -> None:
    good(attempt(f'#if __has_include("/etc/passwd")\n#error there\n#endif\n{K}'))


def test_a_compile_error_gives_the_first_error_with_the_line_of_source(attempt: Attempt) -> None:
    fault = failed(attempt("\n\n__global__ void k(const float *x, float *y, int n) {\n  y[0] = nothing;\n  also;\n}"))
    assert fault.reason.startswith('does not compile: SOURCE(4): error: identifier "nothing" is undefined')
    assert "SOURCE(5)" in fault.log


def test_an_error_in_inline_ptx_is_a_reason(attempt: Attempt) -> None:
    fault = failed(attempt('__global__ void k(const float *x, float *y, int n) { asm("no.such.thing;"); }'))
    assert "error" in fault.reason


MANY = """template <int D, long I> struct T { static const long v = T<D - 1, 2 * I>::v + T<D - 1, 2 * I + 1>::v; };
template <long I> struct T<0, I> { static const long v = I; };
__device__ long z = T<28, 1>::v;"""
MACROS = "\n".join(f"#define A{i} A{i - 1} A{i - 1} A{i - 1} A{i - 1}" for i in range(1, 16))


@pytest.mark.heavy
@pytest.mark.parametrize(
    "bomb", [MANY, f"#define A0 +1\n{MACROS}\n__device__ int z = 0 A15;"], ids=["templates", "macros"]
)
def test_a_compilation_that_does_not_end_is_killed(bomb: str, gpu_sandbox: Sandbox, double_task: Task) -> None:
    impatient = CudaBuilder(gpu_sandbox, CodeCache(None), "sm_90", timeout_s=1.0)
    fault = failed(impatient.build(double_task, text(f"{bomb}\n{K}"), {}, SHAPES))
    assert fault.reason.startswith("the compiler ")
    assert "killed" in fault.reason


def test_endless_recursion_of_templates_is_an_error(attempt: Attempt) -> None:
    source = "template <long N> struct F { static const long v = F<N + 1>::v; };\n__device__ long z = F<0>::v;\n"
    assert "SOURCE(1): error: excessive recursion" in failed(attempt(source + K)).reason


@pytest.mark.heavy
def test_a_compilation_that_takes_too_long_is_killed(gpu_sandbox: Sandbox, double_task: Task) -> None:
    impatient = CudaBuilder(gpu_sandbox, CodeCache(None), "sm_90", timeout_s=1.0)
    body = "\n".join(f"v = sin(v * {i}.5) + x[i + {i}];" for i in range(6000))
    source = f"__global__ void k(const double *x, double *y, int n) {{ int i = n; double v = 0; {body} y[0] = v; }}"
    fault = failed(impatient.build(double_task, text(source), {}, SHAPES))
    assert fault.reason == "the compiler did not end within 1 s and was killed"


@pytest.mark.heavy
@pytest.mark.parametrize("tier", ["T1", "T2", "T3", "none"])
def test_nvrtc_works_in_every_tier(tier: Any, double_task: Task) -> None:
    try:
        opened = open_sandbox(tier, cuda.PRELOAD, cuda.header_folders())
    except EnvironmentFault as fault:
        pytest.skip(fault.what)
    with opened as sandbox:
        assert cuda.missing(sandbox) == ""
        good(CudaBuilder(sandbox, CodeCache(None), "sm_90").build(double_task, text(), {}, SHAPES))


def test_without_the_wheels_the_sandbox_starts_and_the_reason_names_the_extra(
    tmp_path: Path, double_task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cuda" / "bindings").mkdir(parents=True)  # hides the real one, which is not there to be imported
    for package in ("cuda", "cuda/bindings"):
        (tmp_path / package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    with open_sandbox("auto", (*cuda.PRELOAD, "cuda")) as sandbox:
        reason = cuda.missing(sandbox)
        assert "pip install 'kernellab[cuda]'" in reason
        built = CudaBuilder(sandbox, CodeCache(None), "sm_90").build(double_task, text(), {}, SHAPES)
        assert failed(built).reason == reason
