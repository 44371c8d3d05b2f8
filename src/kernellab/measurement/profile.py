"""What bounds a kernel: hardware counters by Nsight Compute (ncu), or the share of each floor where there are none.

Counters explain, they never decide: a claim rests on the confirmation's own clock. ncu runs a kernel several times over
with cold caches and its own overhead, so its durations are not the published ones.
Covered: every launch of one call. Not covered: what the copies and memsets of a plan do.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kernellab.build.base import Built
from kernellab.core.records import Timing
from kernellab.run.alone import Watched, Work, find_tool, version_of, watch, write
from kernellab.tasks.spec import Array, Dims, Task
from kernellab.verdict.sanitize import kernel_name

TIMEOUT_S = 300.0
_NAME = "ncu"
_STALLS = ("long_scoreboard", "short_scoreboard", "barrier", "mio_throttle", "math_pipe_throttle", "lg_throttle",
           "not_selected", "wait", "membar")  # fmt: skip
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
CORE = {
    "seconds": "gpu__time_duration.sum",
    "dram_bytes_per_s": "dram__bytes.sum.per_second",
    "dram_pct": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "occupancy_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
}
METRICS = {
    **CORE,
    "l2_hit_pct": "lts__t_sector_hit_rate.pct",
    "sm_pct": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "local_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "local_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    **{f"stall_{name}": _STALL.format(name) for name in _STALLS},
}
_WAITING_FOR = {
    "long_scoreboard": "memory latency", "lg_throttle": "the queue of memory instructions",
    "short_scoreboard": "shared memory and special functions", "mio_throttle": "the queue of shared-memory instructions",
    "barrier": "barriers", "membar": "memory fences", "math_pipe_throttle": "arithmetic pipes",
    "not_selected": "instruction issue", "wait": "fixed instruction latency",
}  # fmt: skip
_SCALE = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_UNIT = re.compile(r"(|[numKkMGT])(byte|second|s)(?:/(?:second|s))?\Z")
_REFUSED = re.compile(r"ERR_NVGPUCTRPERM|LibraryNotLoaded|==ERROR==[^\n]*|==WARNING== No kernels were profiled[^\n]*")
_SATURATED, _NEAR = 60.0, 0.5
_SECTOR = 32


class NoCounters(Exception):
    """The counters cannot be read here; the message says why."""


@dataclass(frozen=True)
class KernelProfile:
    """One launch: its kernel and what was counted (seconds, bytes a second, percentages as their names say)."""

    name: str
    figures: dict[str, float]

    @property
    def stalls(self) -> list[tuple[str, float]]:
        """Reasons why warps waited, the most frequent first; warps per issued instruction."""
        found = [(k.removeprefix("stall_"), v) for k, v in self.figures.items() if k.startswith("stall_")]
        return sorted(found, key=lambda pair: -pair[1])

    @property
    def bound(self) -> str:
        """What holds it back, in words."""
        if self.figures.get("dram_pct", 0.0) >= _SATURATED:
            return "memory bandwidth"
        if self.figures.get("sm_pct", 0.0) >= _SATURATED:
            return "arithmetic and instruction throughput"
        return _WAITING_FOR[self.stalls[0][0]] if self.stalls else "neither memory nor arithmetic"


@dataclass(frozen=True)
class Profile:
    """`source` says where it is from: hardware counters ("ncu") or the clock alone ("timing", with `reason`)."""

    source: Literal["ncu", "timing"]
    tool: str = ""
    kernels: tuple[KernelProfile, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    def data(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "tool": self.tool,
            "kernels": [{"name": k.name, "bound": k.bound, "metrics": k.figures} for k in self.kernels],
            "figures": self.figures,
            "reason": self.reason,
            "lines": self.lines(),
        }

    def lines(self) -> list[str]:
        """Three lines for people: what bounds it, how full the device is, what its warps wait for."""
        return _from_counters(self.kernels) if self.source == "ncu" else _from_clock(self.figures, self.reason)


def profile(built: Built, task: Task, dims: Dims, inputs: Sequence[Array], timeout_s: float = TIMEOUT_S) -> Profile:
    """Counters of one call, after one that is not counted. Raises NoCounters where there are none to be had."""
    program = find_tool(_NAME)
    if not program:
        raise NoCounters(f"there is no {_NAME} on the PATH or in /usr/local/cuda/bin")
    launches = len(built.part(dims).plan.steps)
    with tempfile.TemporaryDirectory(prefix="klab-profile-") as name:
        folder = Path(name)
        write(folder, built, task, [Work(dims, inputs)], repeats=2, fetch=False)
        why = ""
        for metrics in (METRICS, CORE):  # one name that this version does not know costs the whole report
            watched = watch(_command(program, metrics, launches), folder, timeout_s)
            kernels = read_csv(watched.out, metrics)
            if kernels:
                return Profile("ncu", version_of(program), tuple(kernels))
            why = why or refusal(watched)
            if "ERR_NVGPUCTRPERM" in why:
                break
    raise NoCounters(why)


def _command(program: str, metrics: Mapping[str, str], launches: int) -> list[str]:
    return [program, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
            "--launch-skip", str(launches), "--launch-count", str(launches),
            "--metrics", ",".join(metrics.values())]  # fmt: skip


def refusal(watched: Watched) -> str:
    """Why ncu gave no figures, in one line."""
    if watched.code is None:
        return f"{_NAME} did not finish in time and was ended"
    said = watched.out + "\n" + watched.err
    if "ERR_NVGPUCTRPERM" in said:
        return f"{_NAME} may not read the GPU's counters here (ERR_NVGPUCTRPERM)"
    found = _REFUSED.search(said)
    return f"{_NAME} gave no figures: {(found[0] if found else watched.last)[:200]}"


def read_csv(text: str, metrics: Mapping[str, str] = METRICS) -> list[KernelProfile]:
    """The launches in ncu's raw page: a header after the tool's and the program's own lines, units, then the rows."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID",') and '"Kernel Name"' in line), None)
    if start is None:
        return []
    table = list(csv.reader(io.StringIO("\n".join(line for line in lines[start:] if line.startswith('"')))))
    header, rows = table[0], table[1:]
    units = dict(zip(header, rows[0], strict=False)) if rows and not rows[0][0].strip() else {}
    found = []
    for row in rows[1:] if units else rows:
        cells = dict(zip(header, row, strict=False))
        figures = {}
        for key, metric in metrics.items():
            value = _number(cells.get(metric, ""), units.get(metric, ""))
            if value is not None:
                figures[key] = value
        if figures:
            found.append(KernelProfile(cells.get("Kernel Name", ""), figures))
    return found


def _number(text: str, unit: str) -> float | None:
    """A cell in base units (seconds, bytes, bytes a second); None for "n/a" and what is empty."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    if value != value or value in (float("inf"), float("-inf")):
        return None
    match = _UNIT.match(unit)
    return value * _SCALE[match[1]] if match else value


def from_timing(timing: Timing, flops: float, flops_per_s: float, reason: str) -> Profile:
    """The roofline alone: how much of the confirmed time each floor accounts for."""
    figures = {
        "latency_s": timing.latency_s,
        "of_memory_floor": timing.of_memory_floor,
        "of_arithmetic_floor": flops / flops_per_s / timing.latency_s,
        "gb_per_s": timing.gb_per_s,
    }
    return Profile("timing", figures=figures, reason=reason)


def _from_counters(kernels: Sequence[KernelProfile]) -> list[str]:
    """Of the launch that takes longest; it speaks for the call. What was not counted is not mentioned."""
    longest = max(kernels, key=lambda k: k.figures.get("seconds", 0.0))
    f = longest.figures
    memory = _told(f, {"dram_pct": "{:.0f} % of DRAM bandwidth", "dram_gb_per_s": "{:.0f} GB/s",
                       "l2_hit_pct": "{:.0f} % hits in L2", "microseconds": "{:.1f} us under the profiler"})  # fmt: skip
    if len(kernels) > 1:
        total = sum(k.figures.get("seconds", 0.0) for k in kernels)
        memory.append(f"{100 * f.get('seconds', 0.0) / (total or 1.0):.0f} % of {len(kernels)} launches")
    device = _told(f, {"occupancy_pct": "occupancy {:.0f} %", "registers": "{:.0f} registers a thread",
                       "local_mb": "{:.3g} MB of local memory traffic (spills)"})  # fmt: skip
    device = ["no spills" if text.startswith("0 MB") else text for text in device]
    waits = ", ".join(f"{name} {value:.2f}" for name, value in longest.stalls[:3])
    return [
        f"{kernel_name(longest.name)} is bound by {longest.bound}: {', '.join(memory)}",
        ", ".join(device) or "occupancy: not counted",
        f"warps wait for: {waits} (warps an issued instruction)" if waits else "warps wait for: not counted",
    ]


def _told(figures: Mapping[str, float], wording: Mapping[str, str]) -> list[str]:
    known = dict(figures)
    if "dram_bytes_per_s" in known:
        known["dram_gb_per_s"] = known["dram_bytes_per_s"] / 1e9
    if "seconds" in known:
        known["microseconds"] = known["seconds"] * 1e6
    if "local_load_sectors" in known:
        sectors = known["local_load_sectors"] + known.get("local_store_sectors", 0.0)
        known["local_mb"] = _SECTOR * sectors / 1e6
    return [text.format(known[key]) for key, text in wording.items() if key in known]


def _from_clock(figures: Mapping[str, float], reason: str) -> list[str]:
    memory, arithmetic = figures["of_memory_floor"], figures["of_arithmetic_floor"]
    name, share = ("memory bandwidth", memory) if memory >= arithmetic else ("arithmetic", arithmetic)
    verdict = f"bound by {name}" if share >= _NEAR else f"near no floor; {name} is the nearer one"
    return [
        f"{verdict} (from the clock alone: {reason})",
        f"memory floor: {100 * memory:.0f} % of the time, at {figures['gb_per_s']:.1f} GB/s",
        f"arithmetic floor: {100 * arithmetic:.0f} % of the time",
    ]
