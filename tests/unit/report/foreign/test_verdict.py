"""Tables of others: the cited ones of a preprint, and small ones with one thing wrong each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.report.foreign.table import column_of, read_tables
from kernellab.report.foreign.verdict import Contradiction, contradictions

DATA = Path(__file__).parents[3] / "data" / "foreign"


def _found(tmp_path: Path, text: str, name: str = "t.csv") -> list[Contradiction]:
    (tmp_path / name).write_text(text)
    return contradictions(read_tables(tmp_path / name))


def test_the_cited_softmax_table() -> None:
    found = contradictions(read_tables(DATA / "softmax_table.csv"))
    assert [(c.sort, c.what) for c in found] == [
        ("bandwidth", "268 MB in 7.82 ms is 34.33 GB/s, not 267"),
        ("bandwidth", "268 MB in 6.1 ms is 44.01 GB/s, not 342"),
        ("bandwidth", "268 MB in 5.41 ms is 49.62 GB/s, not 386"),
        ("bandwidth", "268 MB in 4.93 ms is 54.45 GB/s, not 424"),
        ("bandwidth", "268 MB in 4.1 ms is 65.47 GB/s, not 510"),
        ("caption", "it says 180 GB/s, and no row does; the highest is 510 GB/s"),
        ("share of peak", "it says '5.4 % of theoretical peak'; the highest row, 510 GB/s, is 15.22 %"),
        ("share of peak", "it says '27–33 % of peak'; the highest row, 510 GB/s, is 15.22 %"),
        ("share of peak", "it says '5.4 % of theoretical peak' and '27–33 % of peak' of the same kernels"),
    ]


def test_the_cited_table_of_outcomes() -> None:
    """Fractions that are not their percentages, more successes than working kernels, and a median that says otherwise."""
    found = contradictions(read_tables(DATA / "outcomes_table.md"))
    assert Counter(c.sort for c in found) == {"fraction": 8, "median": 1}
    assert {c.what for c in found if "35" in c.what} == {
        "248/250 is 99.2 %, not 35 (Success >1.01×)",
        "the median 1.05 lies above 1.01, so at least half do, not 35 %",
    }
    assert sum("work at all" in c.what for c in found) == 4


GOOD = """shape,dtype,kernel,latency (us),GB/s,speed-up,peak (GB/s),% of peak
16384x4096,bf16,eager,211.65,1268.3,1.00,4800,26.4
16384x4096,bf16,ours,64.00,4194.3,3.31,4800,87.4
131072x512,bf16,eager,102.40,2621.4,1.00,4800,54.6
131072x512,bf16,ours,64.00,4194.3,1.60,4800,87.4
"""


def test_a_sound_table_is_consistent(tmp_path: Path) -> None:
    assert _found(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "sorts"),
    [
        ("64.00,4194.3,3.31", "64.00,4294.3,3.31", {"bandwidth", "share of peak"}),
        ("64.00,4194.3,3.31", "64.00,4194.3,3.41", {"speed-up"}),
        ("4194.3,3.31,4800,87.4", "4194.3,3.31,4800,78.4", {"share of peak"}),
        ("4194.3,3.31,4800,87.4", "4194.3,3.31,3350,125.2", {"beyond the peak"}),
        ("64.00,4194.3,1.60", "64.00,4194.3,0.90", {"speed-up", "order"}),
        ("latency (us)", "latency", {"unit"}),
        ("64.00,4194.3,1.60", "64.00,4194.3 ms,1.60", {"unit"}),
    ],
)
def test_one_thing_wrong_is_named(tmp_path: Path, old: str, new: str, sorts: set[str]) -> None:
    assert old in GOOD
    assert {c.sort for c in _found(tmp_path, GOOD.replace(old, new, 1))} >= sorts
    assert {c.sort for c in _found(tmp_path, GOOD.replace(old, new, 1))} <= sorts | {"bandwidth", "beyond the peak"}


def test_a_baseline_column_is_held_against_the_speed_up(tmp_path: Path) -> None:
    text = "| kernel | baseline latency (ms) | latency (ms) | speed-up |\n|---|---|---|---|\n| a | 2.0 | 1.0 | {} |\n"
    assert _found(tmp_path, text.format("2.0x"), "t.md") == []
    assert [c.sort for c in _found(tmp_path, text.format("2.9x"), "t.md")] == ["speed-up"]


def test_a_rank_that_the_latencies_deny(tmp_path: Path) -> None:
    assert [c.sort for c in _found(tmp_path, "rank,kernel,latency (ms)\n1,a,2.0\n2,b,1.0\n")] == ["order"]


def test_more_moves_allow_more_bandwidth(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("shape,dtype,latency (us),GB/s\n1024x1024,f32,10.00,1258.3\n")
    assert contradictions(read_tables(tmp_path / "t.csv"), moves=2)
    assert contradictions(read_tables(tmp_path / "t.csv"), moves=3) == []


@pytest.mark.parametrize(
    ("heading", "role"),
    [("Latency (ms)", "latency"), ("Throughput (GB/s)", "rate"), ("Throughput vs eager", "rate-ratio"), ("vs eager", "speedup"),
     ("Speed-up", "speedup"), ("peak (TB/s)", "peak"), ("% of peak", "share"), ("dtype", "dtype"), ("Shape", "shape"),
     ("Kernel", "name"), ("bytes moved (MB)", "bytes")],
)  # fmt: skip
def test_columns_are_known_by_their_headings(heading: str, role: str) -> None:
    assert column_of(heading).role == role


@pytest.mark.parametrize("text", ["", "just words\n", "a,b\n1,2\n", "kernel,latency (ms)\n"])
def test_what_holds_no_table_to_check_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        _found(tmp_path, text)
    assert caught.value.fix


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UsageError):
        read_tables(tmp_path / "t.csv")
