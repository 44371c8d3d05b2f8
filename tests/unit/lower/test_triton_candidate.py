"""Generated Triton: built for a Hopper GPU, and run by Triton's interpreter where that can be told right from wrong."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

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
    "summed": ["tile_recomputed", "flat", "tile", "tile_loop", "row", "row_loop"],
    "loss": ["split", "row", "row_loop"], "window": ["flat"], "chain": ["flat_recomputed", "product_row", "product_row_loop", "packed", "split", "tile", "tile_loop", "row", "row_loop", "flat"],
    "ordered": ["flat_recomputed", "flat"], "resized": ["flat_recomputed", "flat"], "packed": ["flat"],
    "sent": ["split_recomputed", "split", "flat", "tile", "tile_loop", "row", "row_loop"],
    "counted": ["tile_recomputed", "flat", "tile", "tile_loop", "row", "row_loop"], "sent_rows": ["split_recomputed", "split", "flat", "tile", "tile_loop", "row", "row_loop"],
    "attended": [
        "flat_recomputed", "product_tile_recomputed2", "product_row", "product_row_loop", "packed", "split", "tile", "tile_loop",
        "row", "row_loop", "flat",
    ],
    "convolved_back": [
        "flat_recomputed", "product_tile", "product_tile_loop", "product_row", "product_row_loop", "product_flat", "packed", "tile", "tile_loop", "row", "row_loop",
        "flat",
    ],
    "pooled_back": ["flat_recomputed", "flat_recomputed2", "flat"],
    "running": ["scan"], "running_down": ["scan_tile", "scan"], "groups": ["row", "row_loop"], "table": ["flat_recomputed", "flat"], "swish": ["row", "row_loop"],
}  # fmt: skip
INTERPRETED = """
import sys
import numpy as np
import torch
from tests.unit.lower.graphs import record_of
from kernellab.graph.evaluate import evaluate
from kernellab.lower.candidates import written

record = record_of(sys.argv[1])
generator = torch.Generator().manual_seed(3)
inputs = {i.name: torch.randn(i.type.shape(record.example), generator=generator) for i in record.inputs}
wanted = evaluate(record, inputs)
for found in written(record, "triton", record.example):
    space = {"scratch": lambda shape, dtype="float32", zero=False: torch.full(shape, 99, dtype=getattr(torch, dtype))}
    file = f"{sys.argv[2]}/{found.name}.py"
    open(file, "w").write(found.text)  # the interpreter reads a kernel's lines from its file
    exec(compile(found.text, file, "exec"), space)
    parted = "PARTS" in space["SPACE"]  # a part is of 1,024 elements at least
    small = {"BLOCK": 512 if parted else 16, "PIECE": 4, "LANES": 8, "PARTS": 3, "WARPS": 1}
    outputs = [torch.full(tuple(w.shape) or (1,), float("nan")) for w in wanted]
    space["launch"](*inputs.values(), *outputs, **{k: small[k] for k in space["SPACE"]})
    for got, right in zip(outputs, wanted):
        np.testing.assert_allclose(got.reshape(right.shape), right, rtol=2e-5, atol=2e-5)
    print("right", found.name)
"""


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with platform("cuda").workbench(Settings(device="cuda", target="sm_90")) as made:
        yield made


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


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [n for n in SUBJECTS if not any("product" in form for form in FORMS[n])])
def test_interpreted_it_is_right(name: str, tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED, name, str(tmp_path)], env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.count("right") == len(FORMS[name]), done.stderr[-3000:]


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
    first, second = (_space(w.text) for w in written(record, "triton", sizes))
    assert (first["WARPS"], second["BLOCK"]) == (row, loop)


def _space(text: str) -> dict[str, list[int]]:
    statements = ast.parse(text).body
    found = next(s for s in statements if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id == "SPACE")  # fmt: skip
    space: dict[str, list[int]] = ast.literal_eval(found.value)
    return space
