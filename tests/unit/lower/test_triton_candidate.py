"""Generated Triton: built for a Hopper GPU, and run by Triton's interpreter where that can be told right from wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import torch
from tests.unit.lower.conftest import Interpret
from tests.unit.lower.graphs import SUBJECTS, record_of
from tests.unit.tasks.modules import graphs
from torch.nn import functional as F

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.settings import Settings
from kernellab.graph.live import capture_object
from kernellab.lower.candidates import written
from kernellab.lower.triton_candidate import ONE_AND_ERF
from kernellab.propose.recipe import with_defaults
from kernellab.targets.base import Workbench, platform
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.task import module_task

FORMS = {
    "pointwise": ["flat"], "rows": ["row", "row_loop"], "shares": ["row", "row_loop"], "columns": ["tile", "tile_loop", "row", "row_loop"],
    "summed": ["row_recomputed", "flat", "row", "row_loop"],
    "loss": ["split", "row", "row_loop"], "window": ["flat"], "chain": ["flat_recomputed", "product_row", "product_row_loop", "packed", "tile", "tile_loop", "row", "row_loop", "flat"],
    "averaged": ["split_recomputed", "split", "flat", "row", "row_loop"], "ordered": ["flat_recomputed", "flat"], "resized": ["flat_recomputed", "flat"], "packed": ["flat"],
    "sent": ["split_recomputed", "split", "flat", "row", "row_loop"],
    "counted": ["row_recomputed", "flat", "row", "row_loop"], "sent_rows": ["tile_recomputed", "flat", "tile", "tile_loop", "row", "row_loop"],
    "attended": [
        "flat_recomputed", "product_tile_recomputed2", "product_row", "product_row_loop", "packed", "split", "row", "row_loop",
        "flat", "tile", "tile_loop",
    ],
    "convolved_back": [
        "flat_recomputed", "product_split", "product_row", "product_row_loop", "product_flat", "packed", "split",
        "tile", "tile_loop", "row", "row_loop", "flat",
    ],
    "pooled_back": ["flat"],
    "long_rows": ["spread", "row", "row_loop"], "long_norm": ["spread", "row", "row_loop"], "long_shares": ["spread", "row", "row_loop"],
    "hinge": ["split", "row", "row_loop"], "placed": ["row_recomputed", "flat", "row", "row_loop"], "placed_down": ["tile", "tile_loop", "row", "row_loop", "flat"],
    "pooled_mean": ["row", "row_loop"], "pooled_shares": ["row_recomputed", "flat", "row", "row_loop"], "pooled_down": ["tile", "tile_loop", "row", "row_loop"],
    "running": ["scan"], "running_down": ["scan_tile", "scan"], "groups": ["row", "row_loop"], "table": ["flat_recomputed", "flat"],
    "normed_sum": ["row", "row_loop"], "stepped": ["tile", "tile_loop", "row", "row_loop"], "gradients": ["split", "row", "row_loop", "tile", "tile_loop", "flat"], "swish": ["row", "row_loop"],
    "turned": ["grid_recomputed", "grid", "flat"], "gated": ["grid", "flat"], "stacked": ["grid", "flat"],
}  # fmt: skip


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with platform("cuda").workbench(Settings(device="cuda", target="sm_90")) as made:
        yield made


@pytest.mark.heavy
@pytest.mark.sample(5)
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_form_is_built(name: str, bench: Workbench) -> None:
    record = record_of(name)
    found = written(record, "triton", record.example)
    assert [w.name.removesuffix(f"_{name}_triton") for w in found] == FORMS[name]
    task = module_task(graphs.module_record(record, Wishes()))
    for text in found:
        ast.parse(text.text)
        candidate = Candidate(text.text, text.name)
        built = bench.builder.build(task, candidate, with_defaults(bench.builder, candidate), [record.example])
        assert not isinstance(built, NotBuilt), (text.name, built.reason, text.text)


@pytest.mark.heavy
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [n for n in SUBJECTS if not any("product" in form for form in FORMS[n])])
def test_interpreted_it_is_right(name: str, interpret: Interpret, tmp_path: Path) -> None:
    right, failed = interpret("plain", name, str(tmp_path))
    assert not failed, (right, failed)
    assert len(right) == len(FORMS[name])


@pytest.mark.parametrize(
    ("length", "row", "loop"),
    [
        (100, [1], [1024, 2048, 512, 4096, 256]),
        (4096, [8, 4, 16, 2, 32], [1024, 2048, 512, 4096, 256]),
        (65_535, [32, 16], [1024, 4096, 2048, 8192, 16_384]),
    ],
)
def test_choices_follow_the_length_of_the_rows_that_are_timed(length: int, row: list[int], loop: list[int]) -> None:
    record = record_of("rows")
    sizes = {s.name: n for s, n in zip(record.symbols, (4096, length), strict=True)}
    first, second = (_space(w.text) for w in written(record, "triton", sizes) if w.form != "spread")
    assert (first["WARPS"], second["BLOCK"]) == (row, loop)


def test_what_rows_share_is_read_once_for_those_of_a_program() -> None:
    """And all rows are read before the first is written, so that their reads are under way together."""
    record = record_of("turned")
    first = written(record, "triton", record.example)[0].text
    before, making, storing = first.split("    for nth in tl.static_range(GROUPS):\n")
    assert (before.count("tl.load(table"), making.count("tl.load(table")) == (1, 0)
    assert making.count("tl.load(x") == 3
    assert "tl.store" not in making
    assert "tl.store(out" in storing


def test_blocks_that_fill_the_rows_come_first() -> None:
    record = record_of("gated")
    sizes = {s.name: n for s, n in zip(record.symbols, (4096, 10240), strict=True)}
    first = written(record, "triton", sizes)[0]
    assert (first.form, _space(first.text)["BLOCK"]) == ("grid", [1024, 512, 256, 2048, 4096])
    narrow = {s.name: n for s, n in zip(record.symbols, (4096, 500), strict=True)}
    assert [w.form for w in written(record, "triton", narrow)] == ["flat"]


def test_a_loop_over_a_long_row_takes_several_pieces_at_a_time() -> None:
    """And looks once for the largest and the sum below it."""
    record = record_of("rows")
    sizes = {s.name: n for s, n in zip(record.symbols, (4096, 128_256), strict=True)}
    loop = next(w.text for w in written(record, "triton", sizes) if w.form == "row_loop")
    assert [loop.count(f"for first in range(0, d1, {step})") for step in ("DEEP * BLOCK", "BLOCK")] == [1, 1]
    assert "DEEP = next((n for n in (8, 4, 2) if n * BLOCK <= min(d1, 2048 * WARPS)), 1)" in loop


def test_windows_inside_a_row_are_loops() -> None:
    """Written out, of as many elements as a thread has of a row, they take a compiler the better part of a minute."""
    record = record_of("pooled_mean")
    for found in written(record, "triton", record.example):
        assert "static_range" not in found.text
        assert found.text.count("in range(2):") == 2
    record = record_of("window")
    assert written(record, "triton", record.example)[0].text.count("tl.static_range(3)") == 2


def test_rows_are_no_neighbours_where_only_what_is_made_of_them_is() -> None:
    """A target lies beside the next row's, what is summed does not."""
    record = capture_object(
        lambda x, y: (torch.logsumexp(x, 1) - y).relu(), (torch.rand(7, 100), torch.rand(7)), "lost"
    )
    assert [w.form for w in written(record, "triton", record.example)] == ["row", "row_loop", "flat"]


def test_one_and_erf_is_right_to_sixteen_bits_where_it_is_small_too() -> None:
    space: dict[str, Any] = {"tl": SimpleNamespace(abs=np.abs, exp2=np.exp2, where=np.where)}
    exec(ONE_AND_ERF.replace("@triton.jit\n", ""), space)
    x = np.linspace(-5, 12, 40_001, dtype=np.float32)
    wanted = torch.special.erfc(-torch.from_numpy(x).double()).numpy()
    assert (np.abs(space["_one_and_erf"](x) / wanted - 1)).max() < 2e-5
    assert space["_one_and_erf"](np.float32([-np.inf, np.inf, -40])).tolist() == [0, 2, 0]
    assert np.isnan(space["_one_and_erf"](np.float32("nan")))


@pytest.mark.parametrize(("dtype", "short"), [(torch.float32, False), (torch.bfloat16, True)])
def test_erf_is_short_only_where_results_are(dtype: torch.dtype, short: bool) -> None:
    record = capture_object(lambda x: F.gelu(x.float()).to(dtype), (torch.rand(7, 100).to(dtype),), "gelu")
    text = written(record, "triton", record.example)[0].text
    assert ("_one_and_erf(" in text, "tl.erf(" in text) == (short, not short)


def _space(text: str) -> dict[str, list[int]]:
    statements = ast.parse(text).body
    found = next(s for s in statements if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id == "SPACE")  # fmt: skip
    space: dict[str, list[int]] = ast.literal_eval(found.value)
    return space
