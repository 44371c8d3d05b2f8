"""What the Triton back end refuses, and what hostile candidates get out of it. Real sandbox, real compiler, no GPU."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from kernellab.build.base import Candidate
from kernellab.build.cache import CodeCache
from kernellab.build.plan import MAX_GPU_SCRATCH
from kernellab.build.triton import TritonBuilder, missing
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Task

from .conftest import HEAD, KERNEL, LAUNCH, SHAPES, done, failed

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def test_autotune_is_refused_with_the_way_to_do_it(attempt: Any) -> None:
    kernel = '@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])\n' + KERNEL
    fault = failed(attempt(kernel, "def launch(x, y):\n    double[(1,)](x, y, x.size)\n"))
    assert "use SPACE" in fault.reason
    assert "(line 4)" in fault.reason


def test_host_descriptors_are_refused_with_the_way_to_do_it(attempt: Any) -> None:
    launch = """def launch(x, y):
    from triton.tools.tensor_descriptor import TensorDescriptor
    double[(1,)](TensorDescriptor(x, [64, 64], [64, 1], [16, 64]), y, x.size, BLOCK=64)
"""
    assert "tl.make_tensor_descriptor" in failed(attempt(launch=launch)).reason


@pytest.mark.parametrize(("argument", "reason"), [('float("-inf")', "constant in the kernel"), ("'word'", "")])
def test_an_argument_that_a_plan_cannot_hold_is_refused(attempt: Any, argument: str, reason: str) -> None:
    launch = f"def launch(x, y):\n    double[(1,)](x, y, {argument}, BLOCK=64)\n"
    assert reason in failed(attempt(launch=launch)).reason


def test_a_syntax_error_names_the_line(attempt: Any) -> None:
    assert "SyntaxError" in failed(attempt("@triton.jit\ndef k(x)\n    pass\n")).reason
    assert "(line 5)" in failed(attempt("@triton.jit\ndef k(x)\n    pass\n")).reason


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("    v = tl.load(x + nothing)", "nothing is not defined"),
        ("    v = tl.arange(0, 100)", "power of 2"),
        ("    tl.static_assert(BLOCK < 4, 'too much')", "too much"),
    ],
)
def test_a_compile_error_names_the_line_of_the_file(attempt: Any, line: str, says: str) -> None:
    kernel = KERNEL.replace("    tl.store", f"{line}\n    tl.store")
    fault = failed(attempt(kernel))
    assert fault.reason.startswith("does not compile: line 8: "), fault.reason
    assert says in fault.reason


def test_an_error_in_a_helper_names_the_helpers_line(attempt: Any) -> None:
    kernel = "@triton.jit\ndef helper(v):\n    return v + missing\n\n" + KERNEL.replace("2 * v", "helper(v)")
    assert failed(attempt(kernel)).reason.startswith("does not compile: line 6: ")


def test_what_ptxas_says_is_the_reason(attempt: Any) -> None:
    kernel = KERNEL.replace(
        "2 * v",
        'tl.inline_asm_elementwise("nonsense.f32 $0, $1;", "=f,f", [v], dtype=tl.float32, is_pure=True, pack=1)',
    )
    fault = failed(attempt(kernel))
    assert fault.reason.startswith("does not compile: ")
    assert "ptxas" in fault.reason
    assert "nonsense" in fault.reason + fault.log


def test_a_refused_combination_is_invalid_and_an_error_in_launch_is_not(attempt: Any) -> None:
    assert failed(attempt(launch="def launch(x, y):\n    raise ValueError('odd')\n"), "invalid").reason == "odd"
    fault = failed(attempt(launch="def launch(x, y):\n    x.nothing\n"))
    assert fault.reason.startswith("launch() fails: AttributeError")
    assert "(line 11)" in fault.reason
    assert (
        "num_worps"
        in failed(attempt(launch="def launch(x, y):\n    double[(1,)](x, y, 5, BLOCK=64, num_worps=1)\n")).reason
    )


@pytest.mark.heavy
def test_more_shared_memory_than_the_device_has_is_invalid(attempt: Any) -> None:
    kernel = """@triton.jit
def gemm(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, 8):
        a = tl.load(x + i[:, None] * 2048 + i[None, :] + k * B).to(tl.float16)
        b = tl.load(x + i[:, None] * 2048 + i[None, :] + k * B * 2048).to(tl.float16)
        acc = tl.dot(a, b, acc)
    tl.store(y + i[:, None] * B + i[None, :], acc)
"""
    launch = "def launch(x, y):\n    gemm[(1,)](x, y, B=128, num_warps=8, num_stages=5)\n"
    assert "shared memory" in failed(attempt(kernel, launch, shapes=[{"N": 1 << 22}]), "invalid").reason


def test_a_file_that_wants_torch_is_told_why_there_is_none(attempt: Any) -> None:
    fault = failed(attempt("import torch\n" + KERNEL))
    assert "launch() is given stand-ins, not tensors (line 4)" in fault.reason


def test_a_launch_that_changes_its_mind_is_refused(attempt: Any) -> None:
    launch = "calls = []\ndef launch(x, y):\n    calls.append(1)\n    double[(len(calls),)](x, y, x.size, BLOCK=256)\n"
    assert "records another plan" in failed(attempt(launch=launch)).reason


def test_too_much_scratch_and_nothing_launched_are_refused(attempt: Any) -> None:
    launch = f"def launch(x, y):\n    double[(1,)](x, scratch({MAX_GPU_SCRATCH}), 4, BLOCK=64)\n"
    assert "scratch" in failed(attempt(launch=launch)).reason
    assert "launched nothing" in failed(attempt(launch="def launch(x, y):\n    pass\n")).reason


def test_printing_and_programmatic_launches_are_refused(attempt: Any) -> None:
    kernel = KERNEL.replace("    tl.store", '    tl.device_print("v", v)\n    tl.store')
    assert "tl.device_print" in failed(attempt(kernel)).reason
    launch = "def launch(x, y):\n    double[(1,)](x, y, x.size, BLOCK=64, launch_pdl=True)\n"
    assert "launch_pdl" in failed(attempt(launch=launch)).reason


@pytest.mark.heavy
def test_a_compile_that_explodes_is_killed_with_its_compiler(gpu_sandbox: Sandbox, double_task: Task) -> None:
    kernel = """@triton.jit
def huge(x, y, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, 64))
    for i in tl.static_range(N):
        v = tl.sin(v) * tl.cos(v + i)
    tl.store(y + tl.arange(0, 64), v)

def launch(x, y):
    huge[(1,)](x, y, N=20000)
"""
    builder = TritonBuilder(gpu_sandbox, CodeCache(None), "sm_90a", timeout_s=2.0)
    started = time.monotonic()
    fault = failed(builder.build(double_task, Candidate(HEAD + kernel, "huge"), {}, SHAPES))
    assert "did not end within 2 s and was killed" in fault.reason
    assert time.monotonic() - started < 600


@pytest.mark.parametrize(
    "attack",
    [
        "import socket; socket.create_connection(('127.0.0.1', 80), 1)",
        "open('/etc/passwd').read()",
        "import os; os.listdir(os.path.expanduser('~root/.ssh'))",
        "open('/root/.ssh/id_rsa').read()",
        "open('/usr/lib/klab-was-here', 'w')",
    ],
)
def test_host_code_finds_nothing_outside(attempt: Any, attack: str) -> None:
    launch = f"{LAUNCH}\nstate = 'nothing'\ntry:\n    {attack}\n    state = 'reached'\nexcept (OSError, KeyError) as err:\n    pass\nif state == 'reached':\n    raise RuntimeError('REACHED')\n"
    done(attempt(launch=launch))


FORGED = """
import kernellab.build.triton_job as job
def forge(self, name, cubin, shared, device):
    machine = job.Machine({symbol}, {cubin})
    return machine, machine, 0, 0, 1024
job.Utils.load_binary = forge
"""


@pytest.mark.parametrize(
    ("symbol", "cubin"),
    [("name", "b'no cubin'"), ("name", "cubin[:200]"), ("'other'", "cubin"), ("name", "cubin[:64] + bytes(9000)")],
)
def test_forged_machine_code_is_a_failed_build(attempt: Any, symbol: str, cubin: str) -> None:
    failed(attempt(launch=LAUNCH + FORGED.format(symbol=symbol, cubin=cubin)))


WRITE = """
import os
write = os.pwrite
os.pwrite = lambda fd, data, at: write(fd, {reply} if fd == 4 else {code} if fd == 5 else data, at)
"""
STEP = '{"kernel": "%s", "grid": %s, "block": [32], "args": []}'
REPLY = """b'{"status": "recorded", "plan": {"steps": [%s]}, "ptx": %s, "log": 5}'"""


def forged_reply(kernel: str = "k", grid: str = "[9]", ptx: str = "{}") -> str:
    step = STEP % (kernel, grid)
    return REPLY % (step, ptx)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("b'{'", "data"),
        ("b'[]'", "data"),
        ("data", "b'KLABGPU1' + bytes(100)"),
        ("data", "b''"),
        ("data", "data + b'x'"),
        (forged_reply(), "data"),
        (forged_reply(grid="[9, 99999]"), "data"),
        (forged_reply(grid="[0]"), "data"),
        (forged_reply(kernel="k; rm"), "data"),
        (forged_reply(ptx='[{"a": NaN}]'), "data"),
        ("""b'{"status": "recorded", "plan": 5, "ptx": [1]}'""", "data"),
        ("""b'{"status": "invalid", "reason": 5}'""", "data"),
        ("b'[' * 100000", "data"),
    ],
)
def test_a_forged_reply_is_a_failed_build(attempt: Any, reply: str, code: str) -> None:
    result = attempt(launch=LAUNCH + WRITE.format(reply=reply, code=code))
    failed(result, "invalid" if "invalid" in reply else "build-failed")


def test_a_candidate_that_ends_the_job_is_a_failed_build(attempt: Any) -> None:
    assert "without a result" in failed(attempt(launch=LAUNCH + "import os\nos._exit(0)\n")).reason


def test_what_was_refused_is_not_kept(gpu_sandbox: Sandbox, double_task: Task, tmp_path: Path) -> None:
    text = HEAD + KERNEL + LAUNCH + FORGED.format(symbol="name", cubin="b'no cubin'")
    failed(
        TritonBuilder(gpu_sandbox, CodeCache(tmp_path), "sm_90a").build(double_task, Candidate(text, "x"), {}, SHAPES)
    )
    assert not any(tmp_path.iterdir())
