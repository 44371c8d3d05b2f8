"""The first of several ways to make a module small that runs, found out in the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.graph.source import Request
from kernellab.tasks.modules.importing import Importer

pytest.importorskip("torch")
TEXT = """
import torch
n = {n}
class Model(torch.nn.Module):
    def forward(self, x):
        return x.reshape(n // 4, -1).sum(1)
def get_inputs():
    return [torch.rand(n)]
"""


def test_too_large_and_failing_ways_are_passed_over(importer: Importer, tmp_path: Path) -> None:
    def way(n: int, most: int) -> tuple[Request, int]:
        return Request(str(tmp_path / "m.py"), text=TEXT.format(n=n)), most

    ask = importer.capturer.first_that_runs
    assert ask([way(4096, 64), way(2, 64), way(64, 64), way(32, 64)]) == 2
    assert "has no elements" in str(ask([way(0, 64)]))
    assert ask([way(4096, 64)]) == "all of them are too large"
