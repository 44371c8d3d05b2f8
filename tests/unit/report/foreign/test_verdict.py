"""Tables of others: the cited ones of a preprint, and small ones with one thing wrong each."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernellab.core.errors import UsageError
from kernellab.report.foreign.column import column_of
from kernellab.report.foreign.finding import Contradiction, TableAudit
from kernellab.report.foreign.table import read_tables
from kernellab.report.foreign.verdict import audit_tables, contradictions

DATA = Path(__file__).parents[3] / "data" / "foreign"


def _found(tmp_path: Path, text: str, name: str = "t.csv") -> list[Contradiction]:
    (tmp_path / name).write_text(text)
    return contradictions(read_tables(tmp_path / name))


def _audit(tmp_path: Path, text: str) -> TableAudit:
    (tmp_path / "t.csv").write_text(text)
    return audit_tables(read_tables(tmp_path / "t.csv"))


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


@pytest.mark.parametrize("file", sorted((DATA / "true").iterdir()), ids=lambda f: f.stem)
def test_a_true_table_is_never_accused(file: Path) -> None:
    """In the manner of papers, benchmarks and tutorials; what is ambiguous in them is left unchecked."""
    assert contradictions(read_tables(file)) == []


@pytest.mark.parametrize("file", sorted((DATA / "false").iterdir()), ids=lambda f: f.stem)
def test_a_false_table_does_not_pass(file: Path) -> None:
    assert contradictions(read_tables(file))


@pytest.mark.parametrize("cell", ["~40x", ">2x", "3k"])
def test_a_claim_that_cannot_be_read_leaves_the_table_checked_in_part(tmp_path: Path, cell: str) -> None:
    text = "shape,dtype,latency (ms),GB/s,speed-up\n4096x4096,fp32,0.1342,1000,1.00x\n4096x4096,fp32,0.0671,2000,{}\n"
    assert _audit(tmp_path, text.format("2.00x")).status == "consistent"
    assert _audit(tmp_path, text.format(cell)).status == "partial"


def test_a_time_without_a_unit_could_not_be_checked(tmp_path: Path) -> None:
    audit = _audit(tmp_path, GOOD.replace("latency (us)", "latency"))
    assert audit.found == []
    assert {g.why for g in audit.gaps if g.column == "latency"} >= {"'211.65' has no unit, and its heading none either"}


def test_moves_that_were_said_bind(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("shape,dtype,latency (us),GB/s\n1024x1024,f32,10.00,1258.3\n")
    audit = audit_tables(read_tables(tmp_path / "t.csv"))
    assert (audit.status, [g.why for g in audit.gaps][-1]) == (
        "unchecked", "it fits 3 moves of each element, not 2: --moves 3 checks it so")  # fmt: skip
    assert audit_tables(read_tables(tmp_path / "t.csv"), moves=2).status == "contradictions"


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
        ("4194.3,3.31,4800,87.4", "4194.3,3.31,3350,125.2", {"beyond the peak", "impossible"}),
        ("64.00,4194.3,1.60", "64.00,4194.3,0.90", {"speed-up", "order"}),
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
     ("Kernel", "name"), ("bytes moved (MB)", "bytes"), ("slowdown vs torch", "slowdown"), ("torch (ms)", "base-latency"),
     ("compile latency (ms)", "latency"), ("compile time (s)", "name"), ("max error vs reference", "beside"),
     ("diff vs gcc (ms)", "figure"), ("geomean speed-up", "mean"), ("% of peak FLOPs", "figure"), ("TFLOP/s", "flops")],
)  # fmt: skip
def test_columns_are_known_by_their_headings(heading: str, role: str) -> None:
    assert column_of(heading).role == role


@pytest.mark.parametrize(
    ("heading", "scale"),
    [("latency (ns)", 1e-9), ("latency (us)", 1e-6), ("latency (µs)", 1e-6), ("latency (ms)", 1e-3), ("latency (s)", 1.0),
     ("time in seconds", 1.0), ("time (milliseconds)", 1e-3), ("time (microseconds)", 1e-6), ("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12),
     ("MiB/s", 2.0**20), ("GiB/s", 2.0**30), ("TiB/s", 2.0**40), ("Gbit/s", 0.125e9), ("moved (KB)", 1e3), ("moved (MB)", 1e6),
     ("moved (GB)", 1e9), ("moved (KiB)", 1024.0), ("moved (MiB)", 2.0**20), ("moved (GiB)", 2.0**30), ("bytes", 1.0),
     ("latency", 0.0), ("Throughput", 0.0), ("% of peak", 0.01), ("fraction of peak", 1.0)],
)  # fmt: skip
def test_units_bring_figures_to_seconds_and_bytes(heading: str, scale: float) -> None:
    assert column_of(heading).scale == scale


def test_of_several_peaks_the_first_is_held_against_the_row(tmp_path: Path) -> None:
    """Which device the second one belongs to is not said: it is left unchecked, not taken for the limit."""
    text = "kernel,GB/s,peak (GB/s),other peak (TB/s)\na,{},2000,9\n"
    audit = _audit(tmp_path, text.format("1500"))
    assert audit.found == []
    assert [g.column for g in audit.gaps] == ["other peak (TB/s)"]
    assert [c.what for c in _audit(tmp_path, text.format("2500")).found] == [
        "2500 GB/s lies above the peak of 2000 GB/s"
    ]


@pytest.mark.parametrize("text", ["", "just words\n", "a,b\n1,2\n", "kernel,latency (ms)\n"])
def test_what_holds_no_table_to_check_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        _found(tmp_path, text)
    assert caught.value.fix


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UsageError):
        read_tables(tmp_path / "t.csv")


@pytest.mark.parametrize("value", ["-1.0", "0", "0.00", "1e400", "inf", "∞", "1e-400"])
def test_a_latency_that_nothing_can_have_is_named(tmp_path: Path, value: str) -> None:
    audit = _audit(tmp_path, f"shape,dtype,latency (ms),GB/s,peak (GB/s)\n1024x1024,f32,{value},8.4,0\n")
    assert [c.sort for c in audit.found] == ["impossible", "impossible"]
    assert value in audit.found[0].what


@pytest.mark.parametrize(
    "text",
    ["shape;dtype;latency (ms);GB/s\n1024x1024;f32;1.0;{}\n", "shape\tdtype\tlatency (ms)\tGB/s\n1024x1024\tf32\t1.0\t{}\n",
     "shape;dtype;latency (ms);GB/s\n1024x1024;f32;1,00;{}\n2048x1024;f32;1,000;16,78\n",
     "| shape | dtype | latency (ms) | GB/s |\n|---|---|---|---|\n| 1024x1024 | f32 | **1.0** | `{}` |\n"],
)  # fmt: skip
def test_every_way_to_part_cells_is_read(tmp_path: Path, text: str) -> None:
    for rate, sorts in (("8.4" if "," not in text else "8,4", []), ("8400", ["bandwidth"])):
        audit = _audit(tmp_path, text.format(rate))
        assert [c.sort for c in audit.found] == sorts
        assert audit.comparisons["bandwidth"] == audit.rows == audit.checked


@pytest.mark.parametrize(
    "shape",
    ["1,024 x 1,024", "1 024 × 1 024", "(1024, 1024)", "[1024;1024]", "1k x 1k", "2^20", "2**10 x 2**10", "1M", "1048576",
     "M=1024,N=1024", "1024, 1024", "1024*1024", "1_024x1_024", "1024x1024 (square)"],
)  # fmt: skip
def test_shapes_as_people_write_them(tmp_path: Path, shape: str) -> None:
    text = "| shape | dtype | latency (ms) | GB/s |\n|---|---|---|---|\n| {} | f32 | 1.00 | {} |\n"
    assert _audit(tmp_path, text.format(shape, "8.39")).status == "consistent"
    assert _audit(tmp_path, text.format(shape, "84")).status == "contradictions"


@pytest.mark.parametrize(
    ("shape", "dtype", "why"),
    [("1024x1024", "bfloat17", "dtype 'bfloat17' is not known"), ("1024x1024", "", "no dtype is given"),
     ("16,384", "f32", "'16,384' has is not clear"), ("large", "f32", "'large' has is not clear"), ("", "f32", "no shape")],
)  # fmt: skip
def test_what_cannot_be_checked_is_said_with_the_reason(tmp_path: Path, shape: str, dtype: str, why: str) -> None:
    audit = _audit(tmp_path, f'shape,dtype,latency (ms),GB/s\n"{shape}",{dtype},1.0,8400\n')
    assert (audit.status, audit.checked, audit.comparisons) == ("unchecked", 0, {})
    assert {(g.column, why in g.why) for g in audit.gaps} == {("latency (ms)", True), ("GB/s", True)}


def test_a_side_of_a_square_is_no_number_of_elements(tmp_path: Path) -> None:
    assert _audit(tmp_path, "size,dtype,latency (ms),GB/s\n1024,f32,1.0,8.39\n").status == "unchecked"


@pytest.mark.parametrize(
    ("head", "cells", "quotient"),
    [("torch (ms),klab (µs)", "2.0,1.0", "2000"), ("torch (s),klab (ms)", "2.0,1000", "2"), ("a (ns),b (us)", "500.0,0.250", "2"),
     ("torch time (ms),ours", "2.0,1000 us", "2")],
)  # fmt: skip
def test_speed_ups_across_units(tmp_path: Path, head: str, cells: str, quotient: str) -> None:
    text = f"shape,{head.replace('ours', 'latency')},speedup\n1024,{cells},{{}}x\n"
    assert _audit(tmp_path, text.format(quotient + ".0")).status == "consistent"
    assert [c.sort for c in _audit(tmp_path, text.format("3.0")).found] == ["speed-up"]


def test_the_quotient_is_that_of_the_printed_figures(tmp_path: Path) -> None:
    (found,) = _found(tmp_path, "shape,dtype,latency (ms),GB/s\n1024x1024,f32,1.0,84\n")
    assert found.what == "8388.6 kB in 1 ms is 8.389 GB/s, not 84"


@pytest.mark.parametrize("cell", ["~3", ">2x", "3k", "—", "n/a", "nan"])
def test_words_are_not_read_as_figures(tmp_path: Path, cell: str) -> None:
    audit = _audit(tmp_path, f"kernel,latency (ms),speed-up\na,2.0,1.00\nb,1.0,{cell}\n")
    assert audit.found == []
    assert [g.column for g in audit.gaps if "line 3" in g.where][-1] == "speed-up"


def test_a_throughput_in_other_units_is_no_bandwidth(tmp_path: Path) -> None:
    text = "shape,dtype,latency (ms),Throughput ({})\n1024x1024,f32,1.0,{}\n"
    assert _audit(tmp_path, text.format("TFLOPS", "12.0")).status == "unchecked"
    assert _audit(tmp_path, text.format("Gb/s", "67.1")).status == "consistent"


def test_a_range_is_any_value_in_it(tmp_path: Path) -> None:
    text = "kernel,baseline (ms),latency (ms),speed-up\na,2.0,0.9–1.1,{}\n"
    assert _audit(tmp_path, text.format("2.1")).status == "consistent"
    assert _audit(tmp_path, text.format("2.9")).status == "contradictions"


def test_rows_that_do_not_fit_their_headings_are_not_read(tmp_path: Path) -> None:
    audit = _audit(tmp_path, "shape,dtype,latency (ms),GB/s\n1,024 x 1,024,f32,1.0,8.39\n1024x1024,f32,1.0,8.39\n")
    assert (audit.found, audit.checked, audit.rows) == ([], 1, 2)
    assert "6 cells under 4 headings" in audit.gaps[0].why


_PIECES = st.sampled_from(
    ["1.0", "0", "-3", "1e400", "1e-999", "9" * 5000, "1,0", "1 000", "inf", "nan", "%", "x", "1k", "2^99", "0^0", "5/0", "3/2 (1.2.3 %)",
     "ms", "GB/s", "f32", "1024x1024", "(", "[1;2]", "peak 0 GB/s", "5.4 % of peak", "–", '"', ";", "|", "\x00", "٣", "²"]
)  # fmt: skip
_HEADS = ["shape", "dtype", "latency (ms)", "baseline (us)", "GB/s", "speed-up", "peak (TB/s)", "% of peak", "passed >1.0", "Median",
          "rank", "bytes moved (MB)", "Throughput vs eager"]  # fmt: skip


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    heads=st.lists(st.sampled_from(_HEADS), min_size=1, max_size=8),
    rows=st.lists(st.lists(st.lists(_PIECES, max_size=3).map(" ".join), max_size=9), min_size=1, max_size=5),
    caption=st.lists(_PIECES, max_size=4).map(" ".join),
    glue=st.sampled_from([",", ";", "\t", " | "]),
)
def test_no_table_whatever_ends_in_a_traceback(
    heads: list[str], rows: list[list[str]], caption: str, glue: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = [glue.join(row) for row in (heads, *rows)]
    text = "\n".join([f"# {caption}", *(f"| {line} |" if "|" in glue else line for line in lines)])
    file = tmp_path_factory.getbasetemp() / "any.csv"
    file.write_text(text)
    with suppress(UsageError):
        audit_tables(read_tables(file))
