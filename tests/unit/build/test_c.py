from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernellab.build.base import Built, NotBuilt
from kernellab.build.c import PRELOAD, CBuilder
from kernellab.build.cache import CodeCache
from kernellab.build.compiler import Compiler
from kernellab.build.exchange import MAX_STATIC
from kernellab.core.ids import sha256_hex
from kernellab.core.records import Artifact, Param, artifact_id
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.spec import Task

pytestmark = pytest.mark.backend_c
SHAPES = [{"N": 16}, {"N": 3}]
LAUNCH = 'def launch(x, y, **params):\n    kernel("k")(x, y, x.size)\n'


@pytest.fixture
def attempt(builder: CBuilder, double_task: Task, make_candidate: Any):  # type: ignore[no-untyped-def]
    def tried(
        source: str, launch: str = LAUNCH, params: dict[str, Param] | None = None, head: str = ""
    ) -> Built | NotBuilt:
        return builder.build(double_task, make_candidate(source, launch, head), params or {}, SHAPES)

    return tried


def failed(result: Built | NotBuilt, status: str = "build-failed") -> NotBuilt:
    assert isinstance(result, NotBuilt), "it was built"
    assert result.status == status
    return result


def value_of(built: Built | NotBuilt, folder: Path) -> int:
    """Load our own harmless code here and ask it for its one number."""
    assert isinstance(built, Built), built
    path = folder / f"{built.artifact.code[:16]}.so"
    path.write_bytes(built.timed.code)
    return int(ctypes.CDLL(str(path)).value())


K = "void k(const float *x, float *y, long n) { y[0] = x[0] * n; }\n"


def test_a_build_gives_machine_code_plans_in_order_and_an_artifact(attempt: Any, compiler: Compiler) -> None:
    built = attempt(f"{K}/* {os.urandom(8).hex()} */\n")  # that no other test has built before
    assert isinstance(built, Built)
    assert built.timed.code[:4] == b"\x7fELF"
    assert [p.steps[0].args[2].value for p in built.plans] == [16, 3]  # type: ignore[union-attr]
    assert built.shapes == ({"N": 16}, {"N": 3})
    assert built.timed.stubs == {("k", False, "ppi"): "klab_stub_0"}
    artifact = built.artifact
    assert artifact.code == sha256_hex(built.timed.code)
    assert artifact.id == artifact_id({label: part.id for label, part in artifact.parts.items()})
    assert (artifact.backend, artifact.compiler, artifact.cached) == ("c", compiler.identity, False)
    assert artifact.resources["code_bytes"] > 0


def test_a_compile_error_gives_the_first_error_with_the_line_of_source(attempt: Any) -> None:
    fault = failed(attempt("\n\nvoid k(const float *x, float *y, long n) {\n    y[0] = nothing;\n    also;\n}"))
    assert fault.reason.startswith("does not compile: SOURCE:4:")
    assert "nothing" in fault.reason
    assert "SOURCE:5:" in fault.log


SUBNORMAL = """int value(void) { volatile float least = 2e-38f; least *= 0.25f; return least > 0; }
"""


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-funsafe-math-optimizations"])
def test_no_flag_reaches_the_floating_point_state_of_the_thread_that_loads_the_code(
    flag: str, attempt: Any, tmp_path: Path
) -> None:
    assert value_of(attempt(SUBNORMAL + K, head=f"FLAGS = ['-O1', '{flag}']\n"), tmp_path) == 1
    assert sys.float_info.min / 2 > 0


def test_a_kernel_that_source_does_not_define_is_a_compile_error(attempt: Any) -> None:
    assert "other" in failed(attempt(K, LAUNCH.replace('"k"', '"other"'))).reason


def test_an_undefined_symbol_is_found_when_linking(attempt: Any) -> None:
    assert (
        "missing"
        in failed(
            attempt("float missing(float);\nvoid k(const float *x, float *y, long n) { y[0] = missing(x[0]); }")
        ).reason
    )


@pytest.mark.parametrize("first", ["the clock", "the processor time"])
def test_a_compilation_that_does_not_end_is_killed(
    first: str, sandbox: Sandbox, compiler: Compiler, double_task: Task, make_candidate: Any
) -> None:
    """On a busy machine it is waited for longer, and its processor time may end first: then the driver says so."""
    impatient = CBuilder(sandbox, compiler, CodeCache(None), timeout_s=1.0)
    if first == "the processor time":
        impatient._compile_limits = replace(impatient._compile_limits, wall_s=60.0, cpu_s=1)
    powers = "\n".join(f"#define A{i} A{i - 1} A{i - 1} A{i - 1} A{i - 1}" for i in range(1, 16))
    bomb = f"#define A0 +1\n{powers}\nint z = 0 A15;\n{K}"
    fault = failed(impatient.build(double_task, make_candidate(bomb), {}, SHAPES))
    assert fault.reason.startswith("the compiler ")
    assert "killed" in fault.reason


@pytest.mark.heavy
def test_python_that_does_not_end_is_killed(
    sandbox: Sandbox, compiler: Compiler, double_task: Task, make_candidate: Any
) -> None:
    impatient = CBuilder(sandbox, compiler, CodeCache(None), timeout_s=0.3)
    fault = failed(
        impatient.build(double_task, make_candidate(K, "def launch(x, y):\n    while True: pass\n"), {}, SHAPES)
    )
    assert "did not end within 0.3 s and was killed" in fault.reason


@pytest.mark.parametrize(
    ("params", "expression", "value"),
    [
        ({"ROWS": 4}, "ROWS", 4),
        ({"ROWS": -4}, "ROWS", -4),
        ({"HALF": 0.5}, "(int)(HALF * 8)", 4),
        ({"ON": True, "OFF": False}, "10 * ON + OFF", 10),
        ({"EXP": "poly"}, "EXP_poly", 1),
        ({"EXP": "poly"}, "EXP", 7),
        ({"MODE": "a-b.c"}, "MODE_a_b_c", 1),
        ({}, "KLAB_THREADS", 1),
    ],
)
def test_parameters_reach_source_as_macros(
    params: dict[str, Param], expression: str, value: int, attempt: Any, tmp_path: Path
) -> None:
    source = f"enum {{ poly = 7 }};\nint value(void) {{ return {expression}; }}\n{K}"
    assert value_of(attempt(source, params=params), tmp_path) == value


def test_parameters_fill_the_templates_of_flags(attempt: Any, tmp_path: Path) -> None:
    source = f"int value(void) {{ return WIDTH; }}\n{K}"
    built = attempt(source, params={"W": 5, "LEVEL": "1"}, head='FLAGS = ["-DWIDTH={W}", "-O{LEVEL}"]')
    assert value_of(built, tmp_path) == 5
    assert {"-DWIDTH=5", "-O1", "-DW=5"} <= set(built.artifact.flags)


@pytest.mark.parametrize(
    "flag",
    ["-include/etc/passwd", "-fplugin=x.so", "-Wl,-z,now", "-o/tmp/x", "@file", "-B/tmp", "-I/", "x.c", "-xc++", "-"],
)
def test_a_flag_that_is_not_harmless_is_refused(flag: str, attempt: Any) -> None:
    assert "is not allowed" in failed(attempt(K, head=f"FLAGS = [{flag!r}]")).reason


def test_a_template_cannot_smuggle_a_flag_past_the_list(attempt: Any) -> None:
    fault = failed(attempt(K, params={"F": "include/etc/passwd"}, head='FLAGS = ["-{F}"]'))
    assert "is not allowed" in fault.reason


@pytest.mark.parametrize("name", ["KLAB_THREADS", "klab_p", "program_id", "_OPENMP", "__GNUC__"])
def test_reserved_parameter_names_are_refused(name: str, attempt: Any) -> None:
    assert failed(attempt(K, params={name: 2})).reason == f"parameter name '{name}' is reserved"


def test_static_memory_beyond_the_limit_is_refused(attempt: Any) -> None:
    source = "static char keep[%d];\nvoid k(const float *x, float *y, long n) { keep[n]++; y[0] = keep[0]; }"
    fault = failed(attempt(source % (2 * MAX_STATIC)))
    assert fault.reason.startswith("static-memory: ")
    small = attempt(source % 1024)
    assert isinstance(small, Built)
    assert small.artifact.static_bytes > 1024


def test_equal_source_gives_byte_identical_code_and_an_equal_artifact_id(attempt: Any) -> None:
    first, second = attempt(K), attempt(K)
    assert first.timed.code == second.timed.code
    assert first.artifact.id == second.artifact.id


def test_the_day_of_the_build_is_not_in_the_code(attempt: Any) -> None:
    built = attempt('const char *day(void) { return __DATE__ " " __TIME__; }\n' + K)
    assert b"Jan  1 1970 00:00:00" in built.timed.code


def test_another_plan_or_another_code_is_another_artifact(attempt: Any) -> None:
    first = attempt(K)
    other_plan = attempt(K, LAUNCH.replace("x.size", "x.size + 1"))
    other_code = attempt(K.replace("* n", "+ n"))
    assert first.artifact.code == other_plan.artifact.code
    assert len({b.artifact.id for b in (first, other_plan, other_code)}) == 3


def test_the_second_build_comes_from_the_cache(
    sandbox: Sandbox, compiler: Compiler, double_task: Task, make_candidate: Any, tmp_path: Path
) -> None:
    caching = CBuilder(sandbox, compiler, CodeCache(tmp_path))
    first, second = (caching.build(double_task, make_candidate(K), {}, SHAPES) for _ in range(2))
    assert isinstance(first, Built)
    assert isinstance(second, Built)
    assert (first.artifact.cached, second.artifact.cached) == (False, True)
    assert first.artifact.id == second.artifact.id
    third = caching.build(double_task, make_candidate(K), {"A": 1}, SHAPES)
    assert isinstance(third, Built)
    assert not third.artifact.cached


def test_an_invalid_combination_is_a_record_of_its_own_kind(attempt: Any) -> None:
    refusal = "    if ROWS > x.shape[0]:\n        raise ValueError('too many rows')\n"
    launch = f"def launch(x, y, ROWS=1):\n{refusal}    kernel('k')(x, y, 1)\n"
    assert isinstance(attempt(K, launch, {"ROWS": 2}), Built)
    assert failed(attempt(K, launch, {"ROWS": 4}), "invalid").reason == "too many rows"


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        ("def launch(x, y):\n    pass\n", "launch() launched nothing"),
        ("def launch(x, y):\n    kernel('k')[0](x, y, 1)\n", "the recorded plan is not a plan"),
        ("def launch(x, y):\n    kernel('k;')(x, y, 1)\n", "the recorded plan is not a plan"),
        ("def launch(x, y):\n    kernel('k k')(x, y, 1)\n", "'k k' is not a C identifier"),
        ("def launch(x, y):\n    kernel('k(')(x, y, 1)\n", "'k(' is not a C identifier"),
        ("def launch(x, y):\n    kernel('k<1>')(x, y, 1)\n", "'k<1>' is not a C identifier"),
        ("def launch(x, y):\n    kernel('a' * 129)(x, y, 1)\n", "is not a C identifier"),
        ("def launch(x, y):\n    kernel('k', cooperative=True)(x, y, 1)\n", "unexpected keyword argument"),
        (
            "def launch(x, y):\n    kernel('k')(x, y, scratch(4, zero=True))\n",
            "the C runner does not zero scratch buffers",
        ),
        ("def launch(x, y):\n    kernel('k')(x, y, 1 << 64)\n", "the recorded plan is not a plan"),
        ("def launch(x, y):\n    kernel('k')(x, y, scratch(1 << 30))\n", "bytes of scratch"),
        ("def launch(x, y):\n    for i in range(300): kernel('k')(x, y, 1)\n", "the recorded plan is not a plan"),
        ("import os\ndef launch(x, y):\n    os._exit(3)\n", "ended without a result (exit code 3)"),
        ("def launch(x, y):\n    import ctypes; ctypes.string_at(0)\n", "was killed by signal 11"),
        ("def launch(x, y):\n    raise SystemExit(0)\n", "ended without a result (exit code 0)"),
    ],
)
def test_a_launch_that_misbehaves_is_a_reason_not_a_crash(launch: str, reason: str, attempt: Any) -> None:
    assert reason in failed(attempt(K, launch)).reason


def forging(reply: str) -> str:
    """A launch() that takes the recorder over and writes the reply itself."""
    return f"import os\ndef launch(x, y):\n    os.pwrite(4, {reply}, 0)\n    os._exit(0)\n"


@pytest.mark.parametrize(
    "reply",
    [
        "b''",
        "b'{'",
        "b'[]'",
        "b'5'",
        "b'\\xff\\xfe'",
        "b'{}'",
        'b\'{"status": "recorded"}\'',
        "b'{\"status\": 5}'",
        'b\'{"status": "recorded", "plan": 5, "source": "", "flags": []}\'',
        'b\'{"status": "recorded", "plan": {"steps": [{"kernel": "k", "args": []}]}, "source": "", "flags": 5}\'',
        'b\'{"status": "recorded", "plan": {"steps": [], "scratch": []}, "source": "int f;", "flags": []}\'',
        "b'9' * 100000",
        "b'[' * 200000",
        'b\'{"status": "recorded", "plan": [], "source": "int f;", "flags": []}\'',
    ],
)
def test_a_forged_reply_is_a_reason_not_a_crash(reply: str, attempt: Any) -> None:
    assert failed(attempt(K, forging(reply))).reason


@pytest.mark.parametrize("extra", ['"block": [32]', '"shared": 16', '"cluster": [2]', '"cooperative": true'])
def test_a_forged_plan_with_blocks_is_refused(extra: str, attempt: Any) -> None:
    plan = f'{{"steps": [{{"kernel": "k", "args": [], {extra}}}]}}'
    reply = f'{{"status": "recorded", "plan": {plan}, "source": "void k(void) {{}}", "flags": []}}'
    assert (
        failed(attempt(K, forging(repr(reply.encode())))).reason
        == "k: a C kernel has no blocks, clusters or shared memory"
    )


def test_source_that_is_no_text_is_a_reason_not_a_crash(attempt: Any) -> None:
    failed(attempt(K, LAUNCH + 'SOURCE = "\\ud800" + SOURCE\n'))


def test_a_reason_can_always_be_recorded(attempt: Any) -> None:
    fault = failed(attempt(K, "def launch(x, y):\n    raise ValueError('\\ud800')\n"))
    assert fault.reason.encode()


def test_a_description_is_read_in_the_sandbox(builder: CBuilder, make_candidate: Any) -> None:
    head = '"""Why it may win."""\nTASKS = ("double",)\nSPACE = {"A": [1, 2.5], "B": ["x", "y"], "C": [True, False]}'
    described = builder.describe(make_candidate(K, head=head))
    assert not isinstance(described, NotBuilt)
    assert described.space == {"A": [1, 2.5], "B": ["x", "y"], "C": [True, False]}
    assert (described.tasks, described.about) == (["double"], "Why it may win.")


@pytest.mark.parametrize(
    "space",
    [
        "5",
        "{'A': 5}",
        "{'a b': [1]}",
        "{'A': [[1]]}",
        "{'A': [None]}",
        "{'A': [object()]}",
        "[1]",
        "{'A': [float('nan')]}",
        "{'A': [float('inf')]}",
        "{'A': ['\\ud800']}",
    ],
)
def test_a_space_that_is_none_is_a_reason(space: str, builder: CBuilder, make_candidate: Any) -> None:
    assert isinstance(builder.describe(make_candidate(K, head=f"SPACE = {space}")), NotBuilt)


def test_build_logs_are_named_by_their_hash(attempt: Any) -> None:
    built = attempt(f"#warning look here\n{K}")
    assert isinstance(built.artifact, Artifact)
    assert "look here" in built.log
    assert built.artifact.log == sha256_hex(built.log.encode())


@pytest.mark.heavy
@pytest.mark.parametrize("tier", ["T1", "T2", "T3"])
def test_native_means_this_processor_inside_the_sandbox_too(
    tier: str, compiler: Compiler, double_task: Task, make_candidate: Any
) -> None:
    """What the compiler says of the processor outside stands in the candidate's text as a condition to be compiled."""
    told = subprocess.run(
        [*compiler.command, compiler.native, "-dM", "-E", "-x", "c", "/dev/null"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    names = [
        w[1]
        for w in map(str.split, told.splitlines())
        if w[1].startswith(("__ARM_FEATURE_", "__AVX", "__SSE", "__BMI"))
    ]
    assert names
    asked = "".join(f"#ifndef {name}\n#error no {name}\n#endif\n" for name in names)
    with open_sandbox(tier, PRELOAD, compiler.trees) as sandbox:
        builder = CBuilder(sandbox, compiler, CodeCache(None))
        built = builder.build(double_task, make_candidate(asked + K, LAUNCH, ""), {}, SHAPES)
    assert isinstance(built, Built), built
