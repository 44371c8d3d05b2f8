"""The profiler: ncu's raw page as it writes it, the words made of it, and the way through a process that speaks like it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kernellab.build.base import Built, Part
from kernellab.build.bundle import Bundle, pack
from kernellab.build.plan import BufferArg, IntArg, Plan, Step
from kernellab.core.records import Artifact, Timing
from kernellab.measurement.profile import (
    METRICS,
    KernelProfile,
    NoCounters,
    Profile,
    from_timing,
    profile,
    read_csv,
    refusal,
)
from kernellab.run.alone import Watched
from kernellab.tasks.spec import Task

NOISE = """==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be inconsistent.
==PROF== Connected to process 954 (/usr/bin/python3.12)
==PROF== Profiling "softmax_row" - 0: 0%....50%....100% - 7 passes
==PROF== Disconnected from process 954
"""
FIXED = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)
ROW = (
    "0",
    "954",
    "python3.12",
    "127.0.0.1",
    "void softmax_row<bf16, 8>(const T1 *, T1 *, int)",
    "1",
    "13",
    "(128, 1, 1)",
    "(16384, 1, 1)",
    "0",
    "9.0",
)
CELLS = {
    "device__attribute_chip": ("", "GH100"),
    "gpu__time_duration.sum": ("ns", "64,480"),
    "dram__bytes.sum.per_second": ("byte/s", "4,113,285,359,801.49"),
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "85.62"),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", "61.30"),
    "launch__registers_per_thread": ("register/thread", "48"),
    "lts__t_sector_hit_rate.pct": ("%", "50.12"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "22.75"),
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": ("sector", "0"),
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": ("sector", "0"),
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": ("inst", "31.45"),
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": ("inst", "4.2"),
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": ("inst", "1.7"),
    "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio": ("inst", "n/a"),
}


def sheet(*changes: dict[str, tuple[str, str]], noise: str = NOISE) -> str:
    """What ncu --csv --page raw prints: a header, a row of units, one row for each launch."""
    rows = [{**CELLS, **change} for change in changes or ({},)]

    def line(cells: list[str]) -> str:
        return ",".join(f'"{cell}"' for cell in cells)

    lines = [line([*FIXED, *rows[0]]), line([*[""] * len(FIXED), *(unit for unit, _ in rows[0].values())])]
    lines += [line([*ROW, *(value for _, value in row.values())]) for row in rows]
    return noise + "\n".join(lines) + "\n"


def test_a_row_becomes_figures_in_base_units() -> None:
    (kernel,) = read_csv(sheet())
    assert kernel.name == "void softmax_row<bf16, 8>(const T1 *, T1 *, int)"
    assert kernel.figures["seconds"] == pytest.approx(64.48e-6)
    assert kernel.figures["dram_bytes_per_s"] == pytest.approx(4.11328535980149e12)
    assert kernel.figures["registers"] == 48
    assert "stall_membar" not in kernel.figures  # not counted is not nought
    assert kernel.stalls[:2] == [("long_scoreboard", 31.45), ("barrier", 4.2)]
    assert kernel.bound == "memory bandwidth"


@pytest.mark.parametrize(
    ("unit", "value", "seconds"),
    [
        ("us", "64.48", 64.48e-6),
        ("usecond", "64.48", 64.48e-6),
        ("ms", "1.5", 1.5e-3),
        ("nsecond", "7", 7e-9),
        ("s", "2", 2.0),
    ],
)
def test_scaled_units_are_understood(unit: str, value: str, seconds: float) -> None:
    text = sheet({"gpu__time_duration.sum": (unit, value), "dram__bytes.sum.per_second": ("Tbyte/second", "4.1")})
    (kernel,) = read_csv(text)
    assert kernel.figures["seconds"] == pytest.approx(seconds)
    assert kernel.figures["dram_bytes_per_s"] == pytest.approx(4.1e12)


@pytest.mark.parametrize(
    "text", ["", NOISE, "==ERROR== nothing\n", '"ID","Kernel Name"\n', NOISE + '"ID","Kernel Name"\n"",""\n']
)
def test_no_rows_are_no_kernels(text: str) -> None:
    assert read_csv(text) == []


def test_what_bounds_a_kernel() -> None:
    low = {"dram__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "12.0")}
    busy = {"sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "93.1")}
    assert read_csv(sheet(low))[0].bound == "memory latency"
    assert read_csv(sheet({**low, **busy}))[0].bound == "arithmetic and instruction throughput"


@pytest.mark.parametrize(("dram", "sm", "bound"), [
    (60.0, 99.0, "memory bandwidth"), (59.9, 60.0, "arithmetic and instruction throughput"), (59.9, 59.9, "barriers"),
])  # fmt: skip
def test_three_fifths_of_the_peak_is_saturated(dram: float, sm: float, bound: str) -> None:
    assert KernelProfile("k", {"dram_pct": dram, "sm_pct": sm, "stall_barrier": 2.0, "stall_wait": 1.0}).bound == bound


def test_where_nothing_was_counted_nothing_is_said_to_bind() -> None:
    assert KernelProfile("k", {}).bound == "neither memory nor arithmetic"
    assert Profile("ncu", kernels=(KernelProfile("a(int)", {}), KernelProfile("b(int)", {}))).lines() == [
        "a is bound by neither memory nor arithmetic: 0 % of 2 launches", "occupancy: not counted", "warps wait for: not counted",
    ]  # fmt: skip


def test_spills_are_told_in_megabytes_and_the_longest_launch_speaks() -> None:
    short = KernelProfile("short(int)", {"seconds": 1e-6})
    long = KernelProfile(
        "long(int)", {"seconds": 3e-6, "local_load_sectors": 100_000.0, "local_store_sectors": 50_000.0}
    )
    assert Profile("ncu", kernels=(short, long)).lines()[:2] == [
        "long is bound by neither memory nor arithmetic: 3.0 us under the profiler, 75 % of 2 launches",
        "4.8 MB of local memory traffic (spills)",
    ]
    uncounted = Profile("ncu", kernels=(short, KernelProfile("uncounted(int)", {})))
    assert uncounted.lines()[0].endswith("1.0 us under the profiler, 100 % of 2 launches")
    loads = KernelProfile("k", {"local_load_sectors": 31_250.0})
    assert Profile("ncu", kernels=(loads,)).lines()[1] == "1 MB of local memory traffic (spills)"


def test_rows_and_units_of_other_lengths_than_the_header_are_read_as_far_as_they_go() -> None:
    metric = METRICS["registers"]
    text = f'"ID","Kernel Name","{metric}"\n"",""\n"0","k","48","more"\n"1","short"\n"2","l","9"\n'
    assert [(k.name, k.figures) for k in read_csv(text)] == [("k", {"registers": 48}), ("l", {"registers": 9})]
    assert len(read_csv(f'"ID","Kernel Name","{metric}"\n"0","k","48"\n')) == 1, "without a row of units"


@pytest.mark.parametrize("cell", ["inf", "-inf", "nan", "n/a", ""])
def test_a_cell_that_is_no_number_is_not_counted(cell: str) -> None:
    (kernel,) = read_csv(sheet({"gpu__time_duration.sum": ("ns", cell)}))
    assert "seconds" not in kernel.figures


def test_a_long_refusal_is_cut() -> None:
    assert refusal(Watched(1, "", "x" * 500)) == "ncu gave no figures: " + "x" * 200


@pytest.mark.parametrize(("memory", "arithmetic", "verdict"), [
    (0.5, 0.5, "bound by memory bandwidth"), (0.49, 0.5, "bound by arithmetic"),
    (0.49, 0.48, "near no floor; memory bandwidth is the nearer one"), (0.4, 0.49, "near no floor; arithmetic is the nearer one"),
])  # fmt: skip
def test_the_nearer_floor_binds_from_half_the_time_on(memory: float, arithmetic: float, verdict: str) -> None:
    figures = {"of_memory_floor": memory, "of_arithmetic_floor": arithmetic, "gb_per_s": 12.34}
    assert Profile("timing", figures=figures, reason="no GPU").lines() == [
        f"{verdict} (from the clock alone: no GPU)", f"memory floor: {memory:.0%} of the time, at 12.3 GB/s".replace("%", " %"),
        f"arithmetic floor: {arithmetic:.0%} of the time".replace("%", " %"),
    ]  # fmt: skip


FAKE = """#!/usr/bin/env python3
import json, pathlib, sys
here = pathlib.Path(__file__).parent
if sys.argv[1:] == ["--version"]:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 36398880) (public-release)")
    sys.exit(0)
plan = json.loads((pathlib.Path(sys.argv[-1]) / "plan.json").read_text())
with open(here / "seen", "a") as file:
    file.write(json.dumps([sys.argv[1:-1], plan["repeats"], len(plan["calls"])]) + "\\n")
wide = "lts__" in sys.argv[sys.argv.index("--metrics") + 1]
said = here / ("wide.txt" if wide and (here / "wide.txt").exists() else "said.txt")
sys.stdout.write(said.read_text())
sys.exit(0 if '"ID"' in said.read_text() else 1)
"""


@pytest.fixture
def ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "ncu"
    program.parent.mkdir()
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program.parent


@pytest.fixture
def built() -> Built:
    artifact = Artifact(
        id="a", backend="cuda", code="c", plans="p", log="l", compiler="none", flags=[], static_bytes=0, build_s=0.0
    )
    step = Step(kernel="k", grid=[1], block=[32], args=[BufferArg(index=0), BufferArg(index=1), IntArg(value=1)])
    return Built(artifact, (Part({"N": 8}, pack(Bundle((b"m",), {"k": (0, "k")})), Plan(steps=[step, step])),))


INPUTS = [np.zeros(8, np.float32)]


def test_a_call_is_profiled_after_one_that_is_not(ncu: Path, built: Built, double_task: Task) -> None:
    (ncu / "said.txt").write_text(sheet({}, {"gpu__time_duration.sum": ("ns", "16120")}))
    found = profile(built, double_task, {"N": 8}, INPUTS)
    ((words, repeats, calls),) = [json.loads(line) for line in (ncu / "seen").read_text().splitlines()]
    assert (repeats, calls) == (2, 1)
    assert [words[words.index(o) + 1] for o in ("--launch-skip", "--launch-count", "--clock-control")] == [
        "2",
        "2",
        "none",
    ]
    assert words[words.index("--metrics") + 1].split(",") == list(METRICS.values())
    assert (found.source, len(found.kernels)) == ("ncu", 2)
    assert found.tool == "Version 2025.3.1.0 (build 36398880) (public-release)"
    assert found.lines() == [
        "softmax_row<bf16, 8> is bound by memory bandwidth: 86 % of DRAM bandwidth, 4113 GB/s, 50 % hits in L2, "
        "64.5 us under the profiler, 80 % of 2 launches",
        "occupancy 61 %, 48 registers a thread, no spills",
        "warps wait for: long_scoreboard 31.45, barrier 4.20, wait 1.70 (warps an issued instruction)",
    ]
    assert json.loads(json.dumps(found.data()))["kernels"][0]["metrics"]["registers"] == 48


def test_a_metric_that_is_not_known_costs_the_others_nothing(ncu: Path, built: Built, double_task: Task) -> None:
    (ncu / "wide.txt").write_text("==ERROR== Failed to find metric lts__t_sector_hit_rate.pct\n")
    (ncu / "said.txt").write_text(sheet())
    found = profile(built, double_task, {"N": 8}, INPUTS)
    assert len((ncu / "seen").read_text().splitlines()) == 2
    assert "l2_hit_pct" not in found.kernels[0].figures
    assert "L2" not in found.lines()[0]
    assert found.lines()[2] == "warps wait for: not counted"


PERMISSION = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.\n"


@pytest.mark.parametrize(("said", "reason", "attempts"), [
    (PERMISSION, "ncu may not read the GPU's counters here (ERR_NVGPUCTRPERM)", 1),
    ("==ERROR== LibraryNotLoaded\n", "ncu gave no figures: ==ERROR== LibraryNotLoaded", 2),
    (NOISE + "==WARNING== No kernels were profiled.\n", "ncu gave no figures: ==WARNING== No kernels were profiled.", 2),
    ("Segmentation fault\n", "ncu gave no figures: Segmentation fault", 2),
], ids=["permission", "library", "no kernels", "crash"])  # fmt: skip
def test_without_counters_it_says_why(
    ncu: Path, built: Built, double_task: Task, said: str, reason: str, attempts: int
) -> None:
    (ncu / "said.txt").write_text(said)
    with pytest.raises(NoCounters) as found:
        profile(built, double_task, {"N": 8}, INPUTS)
    assert str(found.value) == reason
    assert len((ncu / "seen").read_text().splitlines()) == attempts


def test_a_profiler_that_hangs_is_no_profiler() -> None:
    assert refusal(Watched(None, "", "")) == "ncu did not finish in time and was ended"


def test_without_ncu_it_says_where_it_looked(
    built: Built, double_task: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if Path("/usr/local/cuda/bin/ncu").exists():
        pytest.skip("this machine has one")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCounters, match="no ncu on the PATH"):
        profile(built, double_task, {"N": 8}, INPUTS)


@pytest.mark.parametrize(
    ("memory", "flops", "word"),
    [
        (0.9, 1e6, "bound by memory bandwidth"),
        (0.2, 1e6, "near no floor; memory bandwidth is the nearer one"),
        (0.2, 8e8, "bound by arithmetic"),
    ],
)
def test_the_clock_alone_gives_shares_of_the_floors(memory: float, flops: float, word: str) -> None:
    timing = Timing(baseline="numpy", threads=1, calls=1, candidate_s=[1e-3], baseline_s=[2e-3], speedup=2.0, speedup_low=2.0,
                    speedup_high=2.0, latency_s=1e-3, gb_per_s=12.5, floor_s=memory * 1e-3, memory_floor_s=memory * 1e-3,
                    of_floor=memory, of_memory_floor=memory, checked=1, stopped="budget")  # fmt: skip
    found = from_timing(timing, flops, 1e12, "there is no GPU")
    assert found.source == "timing"
    assert found.lines()[0] == f"{word} (from the clock alone: there is no GPU)"
    assert found.lines()[1].startswith(f"memory floor: {memory * 100:.0f} % of the time, at 12.5 GB/s")
    assert found.figures["of_arithmetic_floor"] == pytest.approx(flops / 1e12 / 1e-3)
