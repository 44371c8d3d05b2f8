"""compute-sanitizer over a candidate's edge shapes: stray accesses, races in shared memory, reads of unwritten memory.

The judge sees outputs; this sees accesses. It is slow and needs NVIDIA's tool, so it is asked for.
Covered: what memcheck, racecheck and initcheck report of the replay of recorded plans on exact allocations.
Not covered: races in global memory (no tool sees those), shapes beyond the edges, warnings of racecheck (accesses of one
warp that the hardware orders), inputs that the two distributions do not hold.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernellab.build.base import Built
from kernellab.core.records import dump
from kernellab.ledger.records import SanitizerError
from kernellab.run.alone import Watched, Work, find_tool, version_of, watch, write
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.spec import Task, dims_label
from kernellab.verdict.cases import Case

TOOLS = ("memcheck", "racecheck", "initcheck")
TIMEOUT_S = 120.0
NAME = "compute-sanitizer"
_FOUND = 9
_DISTRIBUTIONS = 2
_PADDING = 4096
_LINE = re.compile(r"^={5,} ?(.*)$", re.MULTILINE)
_SUMMARY = re.compile(r"^(?:ERROR|INITCHECK) SUMMARY: (\d+) errors?\b")
_RACES = re.compile(r"^RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, \d+ warnings?\)")
_REPORT = re.compile(
    r"^(?:Error: |Fatal: )?(?:Invalid |Uninitialized |Misaligned |Host API |Barrier error|Stack overflow|Race reported"
    r"|Potential |Out-of-range |Illegal |Malloc/Free error|Device-side |Hardware |Unused |(?:RAW|WAR|WAW) hazard)"
)
_PLACE = re.compile(r"^\s+at (?:0x[0-9a-fA-F]+ in )?(.+)$")
_RACE_PLACE = re.compile(r"\baccess at (?:0x[0-9a-fA-F]+ in )?(.+)$")
_FRAME = re.compile(r"^\s+Device Frame:\s*(?:0x[0-9a-fA-F]+ in )?(.+)$")


@dataclass(frozen=True)
class Sanitized:
    """`unfinished`: tools that came to no end, and why; they say nothing about the candidate."""

    tools: tuple[str, ...]
    findings: tuple[SanitizerError, ...]
    unfinished: dict[str, str] = field(default_factory=dict)
    version: str = ""
    cases: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        return {
            "tools": list(self.tools),
            "findings": [dump(f) for f in self.findings],
            "unfinished": self.unfinished,
            "version": self.version,
            "cases": list(self.cases),
        }


def missing() -> str:
    """Why candidates cannot be sanitized here, or ''."""
    return "" if find_tool(NAME) else f"there is no {NAME} on the PATH, in /usr/local/cuda/bin or in CUDA_HOME/bin"


def sanitizer_cases(task: Task) -> list[Case]:
    """Small and odd: every edge shape under two distributions."""
    return [Case(dims, name, "edge") for dims in task.edge for name in list(task.distributions)[:_DISTRIBUTIONS]]


def sanitize(
    built: Built, task: Task, cases: Sequence[Case], tools: Sequence[str] = TOOLS, timeout_s: float = TIMEOUT_S
) -> Sanitized:
    """Replay the cases under each tool in turn. The artifact needs a plan for every case's shape."""
    program = find_tool(NAME)
    findings: list[SanitizerError] = []
    unfinished: dict[str, str] = {}
    seed = np.frombuffer(os.urandom(32), np.uint32).tolist()
    with tempfile.TemporaryDirectory(prefix="klab-sanitize-") as name:
        folder = Path(name)
        works = []
        for number, case in enumerate(cases):
            rng = np.random.default_rng([*seed, number])
            works.append(Work(case.dims, draw_inputs(task, case.dims, case.distribution, rng)))
        # Outputs stay where they are: fetching them would be an access of the host's, and reported as one.
        write(folder, built, task, works, fetch=False)
        for tool in tools:
            watched = watch(_command(program, tool), folder, timeout_s)
            found = read_report(tool, watched)
            if isinstance(found, SanitizerError):
                findings.append(found)
            elif found:
                unfinished[tool] = found
    labels = tuple(f"{dims_label(c.dims)}, {c.distribution}" for c in cases)
    return Sanitized(tuple(tools), tuple(findings), unfinished, version_of(program), labels)


def _command(program: str, tool: str) -> list[str]:
    # The bindings probe the driver for functions it may lack: those failures are not the candidate's. Padding keeps
    # neighbouring allocations apart, or a write just past one would be a good one in the next.
    own = ["--report-api-errors", "no", "--padding", str(_PADDING)] if tool == "memcheck" else []
    return [program, "--tool", tool, *own, "--error-exitcode", str(_FOUND), "--print-limit", "20"]


def read_report(tool: str, watched: Watched) -> SanitizerError | str:
    """What the tool found, '' where it found nothing, or why it came to no verdict (a text)."""
    lines = _LINE.findall(watched.out + "\n" + watched.err)
    first, kernel = _first(lines)
    count = _count(lines)
    if first:
        return SanitizerError(tool=tool, count=max(count or 1, 1), message=first, kernel=kernel)
    if watched.code is None:
        return "did not finish in time and was ended"
    if count is None or watched.code not in (0, _FOUND):
        return f"ended with code {watched.code}: {watched.last}"
    # Counted and not understood (a newer tool words things anew): better a finding too many than one too few.
    return SanitizerError(tool=tool, count=count, message=_other(lines), kernel="") if count else ""


def _count(lines: Sequence[str]) -> int | None:
    """Errors by the tool's own summary; warnings of racecheck do not count. None where there is no summary."""
    counts = [int(m[1]) for line in lines for m in (_SUMMARY.match(line), _RACES.match(line)) if m]
    return max(counts) if counts else None


def _first(lines: Sequence[str]) -> tuple[str, str]:
    """The first report's headline and its kernel."""
    for number, line in enumerate(lines):
        if not _REPORT.match(line):
            continue
        kernel = ""
        whole = " ".join(part.strip() for part in lines[number : number + 2]) if line.endswith(" at") else line
        if race := _RACE_PLACE.search(whole):
            return whole[: race.start()].strip() + " access", kernel_name(race[1])
        for detail in lines[number + 1 :]:
            if not detail.startswith(" "):
                break
            place = _FRAME.match(detail) or (None if kernel else _PLACE.match(detail))
            kernel = kernel_name(place[1]) if place else kernel  # the outermost frame is the kernel itself
        return line.strip(), kernel
    return "", ""


def _other(lines: Sequence[str]) -> str:
    neutral = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Target application returned", " ")
    return next((line for line in lines if line and not line.startswith(neutral)), "reports errors it does not name")


def kernel_name(place: str) -> str:
    """ "void softmax<float, (int)4>(float *)+0x70 in file.cu:41" -> "softmax<float, (int)4>"."""
    name = re.split(r"\+0x[0-9a-fA-F]+|\s+in \S+$", place.strip())[0].strip().removeprefix("void ")
    if not name.endswith(")"):
        return name
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return name[:at] or name
    return name
