"""compute-sanitizer: its reports as it writes them, and the whole way through a process that speaks like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernellab.build.base import Built, Part
from kernellab.build.bundle import Bundle, pack
from kernellab.build.plan import BufferArg, IntArg, Plan, Step
from kernellab.core.records import Artifact
from kernellab.ledger.records import SanitizerError
from kernellab.run.alone import Watched
from kernellab.tasks.spec import Task
from kernellab.verdict.sanitize import TOOLS, missing, read_report, sanitize, sanitizer_cases

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
NO_RACE = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
STRAY = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at void softmax_stages<unsigned short, (int)8>(const unsigned short *, unsigned short *, int)+0x2d0
=========     by thread (31,0,0) in block (3,0,0)
=========     Access to 0x7f2b0ea00080 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2b0ea00000 of size 128 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame:  [0x27324] in cydriver.cpython-312-x86_64-linux-gnu.so
=========
========= Invalid __global__ write of size 4 bytes
=========     at void softmax_stages<unsigned short, (int)8>(const unsigned short *, unsigned short *, int)+0x2d0
=========     by thread (30,0,0) in block (3,0,0)
=========
========= ERROR SUMMARY: 292 errors
========= ERROR SUMMARY: 272 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at reduce_rows(float *, int)+0x550
=========     and Read access at reduce_rows(float *, int)+0x580 [65536 hazards]
=========
========= RACECHECK SUMMARY: 5 hazards displayed (4 errors, 1 warning)
"""
BROKEN_RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at
=========     reduce_rows(float *)+0xb0 in rows.cu:28
=========     and Read access at
=========     reduce_rows(float *)+0xc0 in rows.cu:30
=========     [1024 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
WARNED = """========= COMPUTE-SANITIZER
========= Warning: Race reported between Write access at reduce_rows(float *, int)+0x550
=========     and Read access at reduce_rows(float *, int)+0x580 [64 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
"""
UNWRITTEN = """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at load_pair+0x90 in particle.cu:12
=========         Device Frame: weights_0d1d2d(float *)+0x130 in particle.cu:40
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f3c7ec000fc
=========
========= ERROR SUMMARY: 1 error
"""
API_ERRORS = """========= COMPUTE-SANITIZER
========= Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to "invalid argument" on CUDA API call to cuGetProcAddress_v2.
=========     Saved host backtrace up to driver entry point at error
=========
launch failed (cuStreamSynchronize)
========= Target application returned an error
========= ERROR SUMMARY: 1 error
"""
UNATTACHED = """========= COMPUTE-SANITIZER
========= Error: No attachable process found. compute-sanitizer timed-out.
========= Default timeout can be adjusted with --launch-timeout. Awaiting target completion.
"""


@pytest.mark.parametrize(
    ("tool", "text"), [("memcheck", CLEAN), ("racecheck", NO_RACE), ("initcheck", CLEAN), ("racecheck", WARNED)]
)
def test_a_clean_report_is_no_finding(tool: str, text: str) -> None:
    assert read_report(tool, Watched(0, text, "")) == ""


@pytest.mark.parametrize(("tool", "text", "finding"), [
    ("memcheck", STRAY, SanitizerError(tool="memcheck", count=292, message="Invalid __global__ write of size 4 bytes", kernel="softmax_stages<unsigned short, (int)8>")),
    ("racecheck", RACE, SanitizerError(tool="racecheck", count=4, message="Error: Race reported between Write access", kernel="reduce_rows")),
    ("racecheck", BROKEN_RACE, SanitizerError(tool="racecheck", count=1, message="Error: Race reported between Write access", kernel="reduce_rows")),
    ("initcheck", UNWRITTEN, SanitizerError(tool="initcheck", count=1, message="Uninitialized __global__ memory read of size 4 bytes", kernel="weights_0d1d2d")),
], ids=["memcheck", "racecheck", "racecheck-wrapped", "initcheck"])  # fmt: skip
def test_a_report_is_read(tool: str, text: str, finding: SanitizerError) -> None:
    assert read_report(tool, Watched(9, text, "")) == finding
    assert read_report(tool, Watched(3, text, "the GPU reports: launch failed\n")) == finding  # the replay broke off
    assert read_report(tool, Watched(None, text, "")) == finding  # found before it was ended


def test_a_tool_that_comes_to_no_end_says_nothing_about_the_candidate() -> None:
    assert (
        read_report("memcheck", Watched(None, "========= COMPUTE-SANITIZER\n", ""))
        == "did not finish in time and was ended"
    )
    said = read_report("memcheck", Watched(3, API_ERRORS, "the GPU reports: out of memory (cuMemAlloc)\n"))
    assert said == "ended with code 3: the GPU reports: out of memory (cuMemAlloc)"
    assert "Awaiting target completion" in str(read_report("memcheck", Watched(0, UNATTACHED, "")))
    assert read_report("memcheck", Watched(127, "", "")) == "ended with code 127: no message"


def test_an_error_in_words_unknown_is_still_one() -> None:
    text = "========= COMPUTE-SANITIZER\n========= Something new went wrong\n========= ERROR SUMMARY: 2 errors\n"
    assert read_report("memcheck", Watched(9, text, "")) == SanitizerError(
        tool="memcheck", count=2, message="Something new went wrong", kernel=""
    )


def test_a_finding_in_words() -> None:
    assert (
        str(SanitizerError(tool="memcheck", count=1, message="Invalid read", kernel="k"))
        == "memcheck in k: Invalid read (1 error)"
    )
    assert str(SanitizerError(tool="racecheck", count=2, message="Race", kernel="")) == "racecheck: Race (2 errors)"


def test_the_cases_are_the_edge_shapes_under_two_distributions(double_task: Task) -> None:
    cases = sanitizer_cases(double_task)
    assert [(c.dims["N"], c.distribution) for c in cases] == [
        (1, "normal"), (1, "offset"), (7, "normal"), (7, "offset"), (1025, "normal"), (1025, "offset")]  # fmt: skip


FAKE = """#!/usr/bin/env python3
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
if sys.argv[1:] == ["--version"]:
    print("NVIDIA (R) Compute Sanitizer\\nVersion 2025.3.1.0 (build 36398880)")
    sys.exit(0)
tool = sys.argv[sys.argv.index("--tool") + 1]
work = pathlib.Path(sys.argv[-1])
plan = json.loads((work / "plan.json").read_text())
seen = {"arguments": sys.argv[1:-1], "calls": len(plan["calls"]), "fetch": plan["fetch"], "files": sorted(os.listdir(work))}
(here / f"{tool}.json").write_text(json.dumps(seen))
sys.stdout.write((here / f"{tool}.txt").read_text())
sys.exit(int((here / f"{tool}.code").read_text()))
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that is called like compute-sanitizer and says what the files beside it hold."""
    program = tmp_path / "bin" / "compute-sanitizer"
    program.parent.mkdir()
    program.write_text(FAKE)
    program.chmod(0o755)
    for name, text, code in (("memcheck", STRAY, 9), ("racecheck", NO_RACE, 0), ("initcheck", "", 1)):
        (program.parent / f"{name}.txt").write_text(text)
        (program.parent / f"{name}.code").write_text(str(code))
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program.parent


@pytest.fixture
def built(double_task: Task) -> Built:
    artifact = Artifact(
        id="a", backend="cuda", code="c", plans="p", log="l", compiler="none", flags=[], static_bytes=0, build_s=0.0
    )
    step = Step(kernel="k", grid=[1], block=[32], args=[BufferArg(index=0), BufferArg(index=1), IntArg(value=1)])
    code = pack(Bundle((b"m",), {"k": (0, "k")}))
    return Built(artifact, tuple(Part(dims, code, Plan(steps=[step])) for dims in double_task.edge))


def test_every_tool_is_run_and_read(tool: Path, built: Built, double_task: Task) -> None:
    found = sanitize(built, double_task, sanitizer_cases(double_task))
    assert missing() == ""
    assert [f.tool for f in found.findings] == ["memcheck"]
    assert found.unfinished == {"initcheck": "ended with code 1: no message"}
    assert found.version == "Version 2025.3.1.0 (build 36398880)"
    assert found.cases[0] == "N=1, normal"
    assert json.dumps(found.data())
    for name in TOOLS:
        seen = json.loads((tool / f"{name}.json").read_text())
        words = seen["arguments"]
        assert words[:2] == ["--tool", name]
        assert words[-2:] == ["-m", "kernellab.run.alone"]
        assert words[words.index("--error-exitcode") + 1] == "9"
        assert ("--report-api-errors" in words) == (name == "memcheck")
        assert (seen["calls"], seen["fetch"]) == (6, False)
        assert "bundle.bin" in seen["files"]


def test_a_tool_that_hangs_is_unfinished(tool: Path, built: Built, double_task: Task) -> None:
    (tool / "compute-sanitizer").write_text('#!/bin/sh\n[ "$1" = --version ] || sleep 600\n')
    found = sanitize(built, double_task, sanitizer_cases(double_task)[:1], ("memcheck",), timeout_s=0.5)
    assert found.findings == ()
    assert found.unfinished == {"memcheck": "did not finish in time and was ended"}


def test_without_the_tool_it_says_where_it_looked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if Path("/usr/local/cuda/bin/compute-sanitizer").exists():
        pytest.skip("this machine has one")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "compute-sanitizer on the PATH, in /usr/local/cuda/bin" in missing()
