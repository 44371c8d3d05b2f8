"""Generated Triton: built for a Hopper GPU, and run by Triton's interpreter where that can be told right from wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tests.unit.lower.conftest import Interpret
from tests.unit.lower.graphs import SUBJECTS, record_of
from tests.unit.tasks.modules import graphs

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.settings import Settings
from kernellab.lower.candidates import written
from kernellab.propose.recipe import with_defaults
from kernellab.targets.base import Workbench, platform
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.task import module_task

FORMS = {
    "pointwise": ["flat"], "rows": ["row", "row_loop"], "shares": ["row", "row_loop"], "columns": ["tile", "tile_loop", "row", "row_loop"],
    "summed": ["row_recomputed", "flat", "tile", "tile_loop", "row", "row_loop"],
    "loss": ["split", "row", "row_loop"], "window": ["flat"], "chain": ["flat_recomputed", "product_row", "product_row_loop", "packed", "split", "tile", "tile_loop", "row", "row_loop", "flat"],
    "ordered": ["flat_recomputed", "flat"], "resized": ["flat_recomputed", "flat"], "packed": ["flat"],
    "sent": ["split_recomputed", "split", "flat", "row", "row_loop"],
    "counted": ["row_recomputed", "flat", "row", "row_loop"], "sent_rows": ["split_recomputed", "split", "flat", "tile", "tile_loop", "row", "row_loop"],
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
    "normed_sum": ["row", "row_loop"], "stepped": ["tile", "tile_loop", "row", "row_loop"], "swish": ["row", "row_loop"],
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


def _space(text: str) -> dict[str, list[int]]:
    statements = ast.parse(text).body
    found = next(s for s in statements if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id == "SPACE")  # fmt: skip
    space: dict[str, list[int]] = ast.literal_eval(found.value)
    return space
