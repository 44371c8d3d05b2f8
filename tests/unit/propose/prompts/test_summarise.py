"""Error summaries, mostly from real compilers: few lines, the candidate's own numbering, no paths, no secrets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.propose.prompts.examples import CUDA, TRITON, C, make_task

from kernellab.build.base import Candidate, NotBuilt
from kernellab.build.c import CBuilder
from kernellab.build.cache import CodeCache
from kernellab.build.compiler import find_compiler
from kernellab.core.records import Rejected
from kernellab.core.settings import Settings
from kernellab.propose.prompts import FormatFailure, Withheld, summarise
from kernellab.propose.prompts.facts import Failure
from kernellab.targets.base import platform
from kernellab.tasks.spec import Task

BROKEN = '''"""Comment."""
FLAGS = ["-O3"]
SOURCE = r"""
#include <math.h>
void k(const float *x, float *y, long n) {
    for (long i = 0; i < n; i++) y[i] = x[j] * two;
}
"""


def launch(x, y):
    kernel("k")(x, y, x.size)
'''


def refused(builder: Any, task: Task, source: str) -> Failure:
    outcome = builder.build(task, Candidate(source, "candidate"), {}, list(task.tune))
    assert isinstance(outcome, NotBuilt), outcome
    return summarise(outcome, source)


@pytest.mark.backend_c
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_errors_of_c_compilers_come_with_the_candidates_own_lines(name: str, sandbox: Any, double_task: Task) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    builder = CBuilder(sandbox, find_compiler(name), CodeCache(None))
    failure = refused(builder, double_task, BROKEN)
    assert (failure.stage, failure.cause) == ("build", "does not compile")
    first, code = failure.summary.splitlines()[:2]
    assert first.startswith("line 6: ")
    assert "j" in first
    assert code == "    for (long i = 0; i < n; i++) y[i] = x[j] * two;"
    assert "two" in failure.summary
    assert len(failure.summary.splitlines()) <= 5


@pytest.mark.backend_c
@pytest.mark.parametrize(
    ("source", "stage", "said"),
    [
        (BROKEN.replace("x[j] * two", "helper(x[i])").replace("void k", "float helper(float);\nvoid k"), "build", "undefined"),
        (BROKEN.replace("x[j] * two", "x[i]").replace("x, y, x.size)\n", "x, y)\n"), "build", "where launch() calls the kernel: too few arguments"),
        (BROKEN.replace("math.h", "nothing.h"), "build", "line 4: nothing.h: No such file"),
        (BROKEN.replace("x.size", "undefined_name"), "launch", "NameError"),
        (BROKEN.replace("    kernel(", "    raise ValueError('no')\n    kernel("), "launch", "refused the parameters or the shape: no"),
        (BROKEN.replace("-O3", "-fplugin=x"), "build", "-fplugin"),
        (BROKEN.replace("def launch", "def start"), "build", "no launch() function"),
    ],
)  # fmt: skip
def test_other_ways_not_to_build(source: str, stage: str, said: str, builder: Any, double_task: Task) -> None:
    failure = refused(builder, double_task, source)
    assert failure.stage == stage, failure
    assert said in failure.summary


@pytest.mark.backend_c
def test_an_exception_in_launch_is_shown_with_its_line(builder: Any, double_task: Task) -> None:
    failure = refused(builder, double_task, BROKEN.replace("x.size", "undefined_name"))
    assert failure.summary.splitlines()[-1] == '    12: kernel("k")(x, y, undefined_name)'


@pytest.fixture(scope="module")
def gpu_builder() -> Iterator[Any]:
    with platform("cuda").workbench(Settings(target="sm_90")) as bench:
        yield bench.builder


def gpu_refused(builder: Any, task: Task, source: str) -> Failure:
    if builder.lacks(Candidate(source, "c")):
        pytest.skip(builder.lacks(Candidate(source, "c")))
    return refused(builder, task, source)


def test_errors_of_nvrtc_come_with_the_candidates_own_lines(gpu_builder: Any, double_task: Task) -> None:
    failure = gpu_refused(gpu_builder, double_task, CUDA.replace("x[i] + x[i]", "f(x[i])").replace("i < n", "i < m"))
    lines = failure.summary.splitlines()
    assert lines[0] == 'line 5: identifier "m" is undefined'
    assert lines[1] == "    if (i < m) y[i] = f(x[i]);"
    assert 'line 5: identifier "f" is undefined' in lines


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("mask=at < n), mask", "mask=at < m), mask", 9, "m is not defined"),
        ("B=16)", "B=17)", 8, "power of 2"),
        ("x.size, B=16", "x.sizes, B=16", 13, "sizes"),
    ],
)
def test_errors_of_triton_come_with_the_candidates_own_lines(
    gpu_builder: Any, double_task: Task, old: str, new: str, line: int, said: str
) -> None:
    source = TRITON.replace(old, new)
    assert source != TRITON
    failure = gpu_refused(gpu_builder, double_task, source)
    assert said in failure.summary
    assert failure.summary.splitlines()[-1].strip() == f"{line}: {source.splitlines()[line - 1].strip()}"


def test_a_source_that_is_put_together_keeps_the_code_and_gives_no_wrong_line() -> None:
    source = "SOURCE = '''a\n''' + '''b'''\ndef launch(x): ...\n"
    failure = summarise(
        NotBuilt("build-failed", "does not compile: x", "SOURCE:1:1: error: unknown type name 'a'"), source
    )
    assert failure.summary == "unknown type name 'a'"
    escaped = 'SOURCE = "one\\ntwo\\nthree"\ndef launch(x): ...\n'
    failure = summarise(NotBuilt("build-failed", "r", "SOURCE:3:1: error: bad"), escaped)
    assert failure.summary == "bad\n    three"


def test_a_flood_of_errors_is_cut() -> None:
    log = "\n".join(f"SOURCE:{i % 5 + 1}:1: error: e{i} " + "x" * 2000 for i in range(500))
    failure = summarise(NotBuilt("build-failed", "does not compile", log), C)
    assert len(failure.summary) <= 2400
    assert "496 more errors" in failure.summary


def test_paths_of_the_machine_are_not_shown(tmp_path: Path) -> None:
    reason = f"launch() fails: FileNotFoundError: '{tmp_path}/a/b.bin' (line 10)"
    failure = summarise(NotBuilt("build-failed", reason, f"{tmp_path}/candidate.c:3: error: x"), C)
    assert str(tmp_path) not in failure.summary
    assert "b.bin" in failure.summary


def test_a_held_out_shape_in_a_candidates_own_message_is_withheld() -> None:
    secret = Withheld.of(make_task(128, 1531))
    failure = summarise(NotBuilt("invalid", "cannot do (1531, 4): 6124 elements, N=1531"), C, secret)
    assert "1531" not in failure.summary
    assert "6124" not in failure.summary
    assert failure.stage == "launch"


def test_a_verdict_keeps_reason_and_case_and_adds_what_it_usually_means() -> None:
    verdict = Rejected(
        cause="nondeterministic",
        reason="right at first, then wrong: y: 3 of 8 elements wrong",
        case="M=17,N=513, normal",
    )
    failure = summarise(verdict, C)
    assert (failure.stage, failure.cause) == ("verify", "nondeterministic")
    assert failure.summary.splitlines()[:2] == [verdict.reason, "case: M=17,N=513, normal"]
    assert "barrier" in failure.summary


def test_a_format_failure_says_what_was_missing() -> None:
    failure = summarise(
        FormatFailure(expected="write", fault="two-answers", what="there are 2", excerpt="<answer>"), ""
    )
    assert failure == Failure("format", "two-answers", "there are 2\nIn the reply: <answer>")


SECRETS = Withheld.of(make_task(128, 1531))


@given(st.text(), st.text(), st.text())
@settings(max_examples=200, deadline=None)
def test_no_log_makes_a_summary_fail_or_grow(reason: str, log: str, source: str) -> None:
    for status in ("invalid", "build-failed"):
        failure = summarise(NotBuilt(status, reason, log), source, SECRETS)  # type: ignore[arg-type]
        assert len(failure.summary) <= 2400
