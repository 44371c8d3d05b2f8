"""Real sandbox, real NVRTC, no GPU. The machine code is audited, not run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernellab.build import cuda, nvrtc_job
from kernellab.build.base import Built, Candidate, Described, NotBuilt
from kernellab.build.bundle import unpack
from kernellab.build.cache import CodeCache
from kernellab.build.cubin import CubinFacts, audit
from kernellab.build.cuda import CudaBuilder
from kernellab.build.exchange import MAX_STATIC
from kernellab.core.ids import sha256_hex
from kernellab.core.records import Param, artifact_id
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.spec import Task

pytestmark = pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
SHAPES = [{"N": 16}, {"N": 3}]
PROJECT = Path(__file__).parents[3]
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


def good(result: Built | NotBuilt) -> Built:
    assert isinstance(result, Built), result.reason
    return result


def failed(result: Built | NotBuilt, status: str = "build-failed") -> NotBuilt:
    assert isinstance(result, NotBuilt), "it was built"
    assert result.status == status
    return result


def facts_of(built: Built) -> CubinFacts:
    return audit(unpack(built.timed.code).modules[0])


def test_a_build_gives_a_bundle_plans_in_order_and_an_artifact(attempt: Attempt) -> None:
    built = good(attempt())
    bundle = unpack(built.timed.code)
    assert bundle.kernels == {"k": (0, "_Z1kPKfPfi")}
    assert [p.steps[0].args[2].value for p in built.plans] == [16, 3]  # type: ignore[union-attr]
    assert (built.plans[0].steps[0].grid, built.plans[0].steps[0].block) == ([1], [256])
    assert (built.shapes, built.timed.stubs) == (({"N": 16}, {"N": 3}), {})
    artifact = built.artifact
    assert artifact.code == sha256_hex(built.timed.code)
    assert artifact.id == artifact_id({label: part.id for label, part in artifact.parts.items()})
    assert (artifact.backend, artifact.cached, artifact.static_bytes) == ("cuda", False, 0)
    assert artifact.compiler == f"NVRTC {nvrtc_job.VERSION}"
    assert artifact.log == sha256_hex(built.log.encode())
    assert "ptxas info" in built.log
    assert ".entry _Z1kPKfPfi" in built.listing


def test_templates_are_launched_by_name_expression(attempt: Attempt) -> None:
    source = """template <class T, int B, bool TWICE> __global__ void scale(const T *x, T *y, int n) {
        int i = blockIdx.x * B + threadIdx.x;
        if (i < n) y[i] = (TWICE ? 2 : 1) * x[i];
    }
    namespace inner { template <int N> __global__ void other(float *y) { y[0] = N; } }"""
    launch = launching(
        'kernel("scale<float, 128, true>")[1, 128](x, y, x.size); kernel("inner::other<(3 + 4)>")[1, 1](y)'
        + ' if x.size > 4 else kernel("scale<float, 64, false>")[1, 64](x, y, x.size)'
    )
    built = good(attempt(source, launch))
    kernels = [unpack(part.code).kernels for part in built.parts]
    expected = {"scale<float, 128, true>", "scale<float, 64, false>", "inner::other<(3 + 4)>"}
    assert {name for each in kernels for name in each} == expected
    assert {symbol for _, symbol in kernels[0].values()} == set(facts_of(built).kernels)


def test_launch_bounds_decide_registers_and_are_kept(attempt: Attempt) -> None:
    body = "float v[64]; for (int j = 0; j < 64; j++) v[j] = x[j * n + threadIdx.x]; float s = 0;" + (
        "for (int k = 0; k < n; k++) for (int j = 0; j < 64; j++) { v[j] = v[j] * v[(j + 1) % 64] + k; s += v[j]; } y[threadIdx.x] = s;"
    )
    wide = f"__global__ void __launch_bounds__(128) k(const float *x, float *y, int n) {{ {body} }}"
    tight = wide.replace("(128)", "(1024, 2)")
    loose = good(attempt(wide, launching('kernel("k")[1, 128](x, y, x.size)')))
    squeezed = good(attempt(tight, launching('kernel("k")[1, 1024](x, y, x.size)')))
    assert loose.artifact.resources["registers"] > 64
    assert loose.artifact.resources["spill_bytes"] == 0
    assert squeezed.artifact.resources["registers"] <= 32
    assert squeezed.artifact.resources["spill_bytes"] > 0
    assert squeezed.artifact.resources["local_bytes"] > 0
    fault = failed(attempt(wide, launching('kernel("k")[1, 256](x, y, x.size)')))
    assert fault.reason == "k: a block of 256 threads; its __launch_bounds__ say 128"


def test_dynamic_shared_memory_above_48_kb(attempt: Attempt) -> None:
    source = """__global__ void k(const float *x, float *y, int n) {
        extern __shared__ float tile[]; __shared__ float few[8];
        tile[threadIdx.x] = few[n] = x[n]; __syncthreads(); y[0] = tile[n] + few[n - 1];
    }"""
    built = good(attempt(source, launching('kernel("k")[1, 256, 100 * 1024](x, y, x.size)')))
    assert built.plans[0].steps[0].shared == 100 * 1024
    assert built.artifact.resources["shared"] == 100 * 1024 + 32
    good(attempt(source, launching('kernel("k")[1, 256, 232448 - 32](x, y, x.size)')))
    fault = failed(attempt(source, launching('kernel("k")[1, 256, 232448](x, y, x.size)')))
    assert fault.reason == "k: 232448 + 32 bytes of dynamic and static shared memory; 232448 is the most"


def test_clusters_and_cooperative_launches_are_recorded(attempt: Attempt) -> None:
    call = 'kernel("k", {})[(4, 2), (32, 4)](x, y, x.size)'
    built = good(attempt(K, launching(call.format("cluster=(2, 1)"))))
    assert built.plans[0].steps[0].cluster == [2, 1]
    assert not built.plans[0].steps[0].cooperative
    assert good(attempt(K, launching(call.format("cooperative=True")))).plans[0].steps[0].cooperative
    fault = failed(attempt(K, launching(call.format("cluster=3"))))
    assert fault.reason == "k: a grid of 4 x 2 is not made of whole clusters of 3"
    assert "8 is the most" in failed(attempt(K, launching(call.format("cluster=(4, 2, 2)")))).reason


def test_clusters_need_hopper(gpu_sandbox: Sandbox, double_task: Task) -> None:
    old = CudaBuilder(gpu_sandbox, CodeCache(None), "sm_80")
    launch = launching('kernel("k", cluster=2)[2, 32](x, y, x.size)')
    assert "clusters need compute capability 9.0" in failed(old.build(double_task, text(K, launch), {}, SHAPES)).reason
    too_much = launching('kernel("k")[1, 32, 200_000](x, y, x.size)')
    assert "166912 is the most" in failed(old.build(double_task, text(K, too_much), {}, SHAPES)).reason


@pytest.mark.parametrize("name", ["other", "k<float>", "inner::k", "helper"])
def test_a_kernel_that_source_does_not_have_is_a_reason(name: str, attempt: Attempt) -> None:
    source = f"__device__ int table[4]; __device__ float helper(float v) {{ return table[0] + v; }}\n{K}"
    fault = failed(attempt(source, launching(f'kernel("{name}")[1, 32](x, y, x.size)')))
    assert fault.reason.startswith(f"does not compile: SOURCE has no kernel '{name}' (")


def test_a_variable_is_no_kernel(attempt: Attempt) -> None:
    source = f"__device__ int table[4];\n{K}__global__ void use() {{ table[0] = 1; }}"
    fault = failed(attempt(source, launching('kernel("table")[1, 32](x, y, 1)')))
    assert fault.reason == "'table' is not a __global__ function of SOURCE"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("x, y", "k: is given 2 arguments, it has 3 parameters (of 8, 8, 4 bytes)"),
        ("x, y, 1, 2", "k: is given 4 arguments, it has 3 parameters (of 8, 8, 4 bytes)"),
        ("x, 0, 1", None),
        ("x, 1, 1", "k: argument 2 is the integer 1, the parameter is a pointer"),
        ("x, y, y", "k: argument 3 is a buffer, the parameter is no pointer (4 bytes)"),
        ("x, y, 1.0", "k: argument 3 is the float 1, the parameter is no float (4 bytes)"),
        ("x, y, 1 << 32", "k: argument 3 is 4294967296, the parameter has 4 bytes"),
        ("x, y, -(1 << 31)", None),
        ("x, y, (1 << 32) - 1", None),
        ("x, scratch(4), True", None),
    ],
)
def test_arguments_are_held_against_the_kernels_parameters(
    arguments: str, reason: str | None, attempt: Attempt
) -> None:
    result = attempt(K, launching(f'kernel("k")[1, 32]({arguments})'))
    if reason is None or (isinstance(result, Built) and "is a pointer" in reason and ".ptr" not in result.listing):
        good(result)
    else:
        assert failed(result).reason == reason


def test_an_integer_for_a_float_parameter_is_named(attempt: Attempt) -> None:
    source = "__global__ void k(const float *x, float *y, float s, double d) { y[0] = s * x[0] + d; }"
    fault = failed(attempt(source, launching('kernel("k")[1, 32](x, y, 2, 1.0)')))
    assert fault.reason == "k: argument 3 is the integer 2, the parameter is a float of 4 bytes: write 2.0"
    good(attempt(source, launching('kernel("k")[1, 32](x, y, 2.0, 1.0)')))


@pytest.mark.parametrize("fields", ["int a, b;", "unsigned short a;", "int a[2000];"])
def test_a_struct_as_a_parameter_is_refused(fields: str, attempt: Attempt) -> None:
    source = f"struct S {{ {fields} }};\n__global__ void k(const float *x, float *y, S s) {{ y[0] = x[sizeof(s)]; }}"
    assert "parameter" in failed(attempt(source, launching('kernel("k")[1, 32](x, y, 1)'))).reason


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ('kernel("k")[1, 2048](x, y, 1)', "2048 threads; 1024 is the most"),
        ('kernel("k")[1, (2, 2, 128)](x, y, 1)', "64 along the third axis"),
        ('kernel("k")[(1, 65536), 32](x, y, 1)', "65535 is the most"),
        ('kernel("k")[(1, 1, 65536), 32](x, y, 1)', "65535 is the most"),
        ('kernel("k")[1, 32, 300_000](x, y, 1)', "232448 is the most"),
        ('kernel("k")[1, 32, 1 << 30](x, y, 1)', "the recorded plan is not a plan"),
        ('kernel("k")[1, 32, -1](x, y, 1)', "the recorded plan is not a plan"),
        ('kernel("k;")[1, 32](x, y, 1)', "does not name a kernel"),
        ('kernel("k\\n#include")[1, 32](x, y, 1)', "does not name a kernel"),
        ('kernel("k", stream=1)[1, 32](x, y, 1)', "unexpected keyword argument"),
        ("pass", "launch() launched nothing"),
        ('kernel("k")[1, 32](x, y, scratch(1 << 33))', "bytes of scratch"),
        ("__import__('os')._exit(3)", "ended without a result (exit code 3)"),
    ],
)
def test_a_launch_that_cannot_work_is_a_reason_not_a_crash(call: str, reason: str, attempt: Attempt) -> None:
    assert reason in failed(attempt(K, launching(call))).reason


@pytest.mark.parametrize("index", ["1", "(1, 2, 3, 4), 32", "0, 32", "1, 0", "1, 32, 0, 0", "(), 32"])
def test_a_launch_of_another_shape_is_invalid(index: str, attempt: Attempt) -> None:
    failed(attempt(K, launching(f'kernel("k")[{index}](x, y, 1)')), "invalid")


def test_too_many_registers_for_the_block_are_found_before_the_launch(attempt: Attempt) -> None:
    wide = "float v[80]; for (int j = 0; j < 80; j++) v[j] = x[j * n + threadIdx.x]; float s = 0;" + (
        "for (int k = 0; k < n; k++) for (int j = 0; j < 80; j++) { v[j] = v[j] * v[(j + 1) % 80] + k; s += v[j]; } y[threadIdx.x] = s;"
    )
    source = f"__global__ void k(const float *x, float *y, int n) {{ {wide} }}"
    assert (
        "registers each; a block has 65536"
        in failed(attempt(source, launching('kernel("k")[1, 1024](x, y, 1)'))).reason
    )
    good(attempt(source, launching('kernel("k")[1, 256](x, y, 1)')))


def test_static_memory_beyond_the_limit_is_refused(attempt: Attempt) -> None:
    source = (
        "__device__ char keep[%d]%s;\n__global__ void k(const float *x, float *y, int n) { keep[n]++; y[0] = keep[0]; }"
    )
    for start in ("", " = {1}"):
        fault = failed(attempt(source % (2 * MAX_STATIC, start)))
        assert fault.reason == (
            f"static-memory: {2 * MAX_STATIC} bytes of writable static memory could keep answers between calls "
            f"({MAX_STATIC} allowed); use scratch()"
        )
    assert good(attempt(source % (MAX_STATIC, ""))).artifact.static_bytes == MAX_STATIC


@pytest.mark.parametrize(
    "memory",
    ["static __device__ char keep[1 << 20];", "__managed__ char keep[1 << 20];", "namespace { __device__ char keep[1 << 20]; }",
     "template <class T> __device__ char kept[1 << 20];\n#define keep kept<int>"],
)  # fmt: skip
def test_no_kind_of_static_memory_gets_past(memory: str, attempt: Attempt) -> None:
    fault = failed(
        attempt(f"{memory}\n__global__ void k(const float *x, float *y, int n) {{ keep[n]++; y[0] = keep[0]; }}")
    )
    assert fault.reason.startswith("static-memory: 1048576 bytes")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("float *m = (float *)malloc(4 * n); m[0] = x[0]; y[0] = m[n];", "device-heap: "),
        ("float *m = new float[n]; m[0] = x[0]; y[0] = m[n];", "device-heap: "),
        ('printf("%d", n);', "SOURCE calls printf(), which a kernel here does not have"),
    ],
)
def test_calls_into_the_driver_are_refused(body: str, reason: str, attempt: Attempt) -> None:
    assert failed(attempt(f"__global__ void k(const float *x, float *y, int n) {{ {body} }}")).reason.startswith(reason)


@pytest.mark.heavy
def test_python_that_does_not_end_is_killed(gpu_sandbox: Sandbox, double_task: Task) -> None:
    impatient = CudaBuilder(gpu_sandbox, CodeCache(None), "sm_90", timeout_s=0.3)
    fault = failed(impatient.build(double_task, text(K, launching("while True: pass")), {}, SHAPES))
    assert "did not end within 0.3 s and was killed" in fault.reason


@pytest.mark.parametrize(
    "attack",
    [
        "import socket; s = socket.create_connection(('1.1.1.1', 53), 1)",
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/x')",
        "open('/etc/passwd').read()",
        pytest.param(f"open({str(PROJECT / 'pyproject.toml')!r}).read()", id="a file of the project"),
        "open('/usr/klab', 'w')",
        "from kernellab.build import nvrtc_job; open(nvrtc_job.__file__, 'a').write('x')",
        "import os; os.kill(os.getppid(), 9); raise OSError('it has no parent to kill')",
    ],
)
def test_the_candidates_python_is_confined(attack: str, attempt: Attempt) -> None:
    launch = f"def launch(x, y):\n    {attack}\n    kernel('k')[1, 32](x, y, 1)\n"
    fault = failed(attempt(K, launch))
    assert "Error" in fault.reason or "killed" in fault.reason


def test_what_python_does_to_its_own_nvrtc_reaches_no_compilation(attempt: Attempt) -> None:
    spoil = "import kernellab.build.nvrtc_job as j\nj.compile_source = None\nj.nvrtc = None\nj.VERSION = 'mine'\n"
    assert good(attempt(K, spoil + LAUNCH)).timed.code == good(attempt()).timed.code


def test_a_plan_that_differs_at_the_second_call_is_refused(attempt: Attempt) -> None:
    launch = "n = 0\ndef launch(x, y):\n    global n\n    n += 1\n    kernel('k')[n, 32](x, y, 1)\n"
    assert failed(attempt(K, launch)).reason == "launch() records another plan when it is called again"


@pytest.mark.parametrize(
    "reply",
    ["b''", "b'[]'", "b'{}'", 'b\'{"status": "recorded"}\'', "b'[' * 200000",
     'b\'{"status": "recorded", "plan": [], "source": "int f;", "flags": []}\'',
     'b\'{"status": "recorded", "plan": {"steps": [{"kernel": "k", "args": []}]}, "source": "", "flags": 5}\''],
)  # fmt: skip
def test_a_forged_reply_is_a_reason_not_a_crash(reply: str, attempt: Attempt) -> None:
    forging = f"import os\ndef launch(x, y):\n    os.pwrite(4, {reply}, 0)\n    os._exit(0)\n"
    assert failed(attempt(K, forging)).reason


def test_a_recorded_step_without_a_block_is_refused(attempt: Attempt) -> None:
    plan = '{"steps": [{"kernel": "k", "grid": [1], "args": []}]}'
    reply = f'{{"status": "recorded", "plan": {plan}, "source": "__global__ void k() {{}}", "flags": []}}'
    forging = f"import os\ndef launch(x, y):\n    os.pwrite(4, {reply.encode()!r}, 0)\n    os._exit(0)\n"
    assert failed(attempt(K, forging)).reason.startswith("k: a launch needs a grid and a block")


def test_an_invalid_combination_is_a_record_of_its_own_kind(attempt: Attempt) -> None:
    refusal = "def launch(x, y, ROWS=1):\n    raise ValueError('too many rows')\n"
    assert failed(attempt(K, refusal), "invalid").reason == "too many rows"


def test_the_same_text_is_the_same_artifact_in_another_sandbox(attempt: Attempt, double_task: Task) -> None:
    source = f"namespace {{ __device__ int count; }}\nstatic __device__ int other;\n{K}__global__ void c() {{ count += other++; }}"
    first = good(attempt(source))
    with open_sandbox("auto", cuda.PRELOAD) as other:
        second = good(CudaBuilder(other, CodeCache(None), "sm_90a").build(double_task, text(source), {}, SHAPES))
    assert first.timed.code == second.timed.code
    assert first.artifact.id == second.artifact.id
    assert first.log == second.log


def test_another_plan_or_another_code_is_another_artifact(attempt: Attempt) -> None:
    first = good(attempt())
    other_plan = good(attempt(K, LAUNCH.replace("x.size)", "x.size + 1)")))
    other_code = good(attempt(K.replace("2 *", "3 *")))
    assert first.artifact.code == other_plan.artifact.code
    assert len({b.artifact.id for b in (first, other_plan, other_code)}) == 3


def test_the_second_build_comes_from_the_cache_and_is_equal(
    gpu_sandbox: Sandbox, double_task: Task, tmp_path: Path
) -> None:
    caching = CudaBuilder(gpu_sandbox, CodeCache(tmp_path), "sm_90")
    first, second = (good(caching.build(double_task, text(), {}, SHAPES)) for _ in range(2))
    assert (first.artifact.cached, second.artifact.cached) == (False, True)
    assert first.artifact.id == second.artifact.id
    assert (first.log, first.listing, first.artifact.resources) == (
        second.log,
        second.listing,
        second.artifact.resources,
    )
    for other in ({"A": 1}, {"A": 2}):
        assert not good(caching.build(double_task, text(), other, SHAPES)).artifact.cached
    older = CudaBuilder(gpu_sandbox, CodeCache(tmp_path), "sm_80")
    assert not good(older.build(double_task, text(), {}, SHAPES)).artifact.cached


def test_a_spoilt_cache_entry_is_built_again(gpu_sandbox: Sandbox, double_task: Task, tmp_path: Path) -> None:
    caching = CudaBuilder(gpu_sandbox, CodeCache(tmp_path), "sm_90")
    good(caching.build(double_task, text(), {}, SHAPES))
    (entry,) = (p for p in tmp_path.rglob("*") if p.is_file())
    CodeCache(tmp_path).put(entry.name, b"no bundle")
    assert not good(caching.build(double_task, text(), {}, SHAPES)).artifact.cached


def test_a_description_is_read_in_the_sandbox(gpu_builder: CudaBuilder) -> None:
    head = '"""Why it may win."""\nTASKS = ("double",)\nSPACE = {"A": [1, 2.5], "B": ["x"]}'
    described = gpu_builder.describe(text(head=head))
    assert described == Described({"A": [1, 2.5], "B": ["x"]}, ["double"], "Why it may win.")
