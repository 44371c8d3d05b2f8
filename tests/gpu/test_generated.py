"""Generated kernels on a real GPU, judged on their cases: those whose programs wait for each other, and odd lengths."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tests.unit.lower import graphs as plain
from tests.unit.lower import products
from tests.unit.tasks.modules import graphs

from kernellab.build.base import Candidate
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.graph.record import GraphRecord
from kernellab.lower.candidates import written
from kernellab.lower.tensors import Written
from kernellab.propose.recipe import with_defaults
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.locate import write_record
from kernellab.tasks.modules.task import module_task

pytestmark = pytest.mark.gpu
PLAIN = [
    "long_rows", "long_norm", "long_shares", "hinge", "placed", "placed_down", "pooled_mean", "pooled_shares", "pooled_down",
]  # fmt: skip
RAGGED = ["ragged", "ragged_turned", "ragged_batches"]
TOO_LONG = "rows this long do not fit the registers of one program"
"""Said, not computed wrongly: a row that is fine where it is timed can be too long at an edge shape (hinge: 257 x 258)."""
SPREAD = [
    {"BLOCK": 8192, "PROGRAMS": 528, "WARPS": 4}, {"BLOCK": 4096, "PROGRAMS": 264, "WARPS": 8},
    {"BLOCK": 16_384, "PROGRAMS": 264, "WARPS": 8}, {"BLOCK": 32_768, "PROGRAMS": 132, "WARPS": 16},
]  # fmt: skip


def statuses(record: GraphRecord, texts: list[Written]) -> Iterator[tuple[str, str, str]]:
    """Of every text, and of every choice in SPREAD."""
    module = graphs.module_record(record, Wishes())
    task = module_task(module).on("cuda")
    with OpenTask(Settings(device="cuda", effort="quick"), task, write_record(module), torch=False) as opened:
        for text in texts:
            candidate = Candidate(text.text, text.name)
            for more in SPREAD if text.form == "spread" else [{}]:
                params = {**with_defaults(opened.builder, candidate), **more}
                found = opened.evaluate(opened.request(task.tune[0], candidate, params))
                yield text.name, found.status, found.reason


@pytest.mark.parametrize("name", PLAIN)
def test_every_text_is_right(name: str) -> None:
    record = plain.record_of(name)
    found = list(statuses(record, written(record, "triton", record.example)))
    assert any(status == "passed" for _, status, _ in found)
    assert not [s for s in found if s[1] != "passed" and s[2] != TOO_LONG]


@pytest.mark.parametrize("name", RAGGED)
def test_padded_copies_are_right(name: str) -> None:
    record = products.record_of(name)
    texts = written(record, "triton", products.SUBJECTS[name].sizes(record))
    assert any("packed" in text.form for text in texts)
    assert not [s for s in statuses(record, texts) if s[1] != "passed"]
