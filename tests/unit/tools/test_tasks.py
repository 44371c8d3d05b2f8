"""list_tasks() and the guide: enough to write a kernel from, and nothing of the held-out shapes."""

from __future__ import annotations

import pytest

from kernellab.propose.prompts import Withheld, estimate_tokens
from kernellab.tasks.builtin import TASKS
from kernellab.tools import ToolContext, list_tasks
from kernellab.tools.tasks import guide


def test_lists_families_and_task_files(context: ToolContext) -> None:
    found = {t.name: t for t in list_tasks(context.files).tasks}
    assert set(found) == {"softmax", "stencil3x3", "stencil5x5", "particle_filter", "cube"}
    assert found["softmax"].dtypes == ("f32", "bf16", "f16")
    assert "c: softmax_blocked" in found["softmax"].recipes
    assert found["cube"].shapes == ("N=65536", "N=32768")


@pytest.mark.parametrize("backend", ["c", "triton", "cuda"])
@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_guide_has_task_format_and_example_and_no_secret(name: str, backend) -> None:  # type: ignore[no-untyped-def]
    text = guide(TASKS[name], backend)
    for part in ("<task_spec>", "# Candidate format", "def launch(", TASKS[name].about[:20]):
        assert part in text
    assert "<answer>" not in text
    assert estimate_tokens(text) < 4000
    secret = Withheld.of(TASKS[name].on("cpu" if backend == "c" else "cuda"))
    assert secret.clean(text) == text
