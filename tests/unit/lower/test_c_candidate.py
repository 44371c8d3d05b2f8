"""Generated C, built and judged in the sandbox like anybody's kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

from tests.unit.lower.graphs import SUBJECTS, record_of
from tests.unit.lower.judged import assert_passes, processor, task_of

from kernellab.lower.candidates import written
from kernellab.targets.base import DeviceSetup

FORMS = {
    "pointwise": ["nest", "nest_stored"], "shares": ["row", "nest"], "columns": ["nest", "lanes", "nest_stored"],
    "window": ["nest", "lanes"], "chain": ["tile", "row", "nest", "lanes", "tile_apart"],
    "table": ["nest", "nest_recomputed"], "ordered": ["nest_recomputed", "nest"], "resized": ["nest", "nest_stored"],
    "sent": ["send", "nest", "lanes", "send_recomputed"], "counted": ["send", "nest", "lanes", "send_recomputed"],
    "averaged": ["nest", "lanes", "nest_recomputed"], "sent_rows": ["send", "nest", "lanes", "send_recomputed"],
    "attended": ["tile", "row", "nest", "lanes", "tile_stored"], "running": ["nest", "lanes"],
    "running_down": ["nest", "lanes"], "summed": ["nest", "lanes", "nest_stored"],
    "convolved_back": ["nest", "lanes"], "pooled_back": ["nest", "lanes"],
    "pooled_mean": ["nest", "lanes"], "pooled_shares": ["row", "nest", "lanes"], "pooled_down": ["nest", "lanes"],
    "long_rows": ["nest_stored", "nest"], "long_shares": ["nest", "nest_stored"], "normed_sum": ["nest", "nest_stored"],
    "stepped": ["nest", "lanes"], "turned": ["nest_recomputed", "nest", "nest_recomputed_stored"], "stacked": ["nest_stored", "nest"],
}  # fmt: skip
"""In which ways, and which other plans there are; `nest` alone elsewhere."""


@pytest.fixture(scope="module")
def device() -> Iterator[DeviceSetup]:
    with processor() as opened:
        yield opened


@pytest.mark.sample(4, of="graphs")
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_form_passes_every_case(name: str, device: DeviceSetup) -> None:
    record = record_of(name)
    task = task_of(record)
    found = written(record, "c", task.tune[0])
    assert [w.name.removesuffix(f"_{name}") for w in found] == FORMS.get(name, ["nest"])
    for text in found:
        assert_passes(device, task, text)
