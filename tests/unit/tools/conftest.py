"""A context of its own for every module: the small task of the other tests, and one artifact of it that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab import tools
from kernellab.tools import Spec, ToolContext, Workspace
from kernellab.tools.records import Compiled

TINY = {"sample_s": 0.0003, "cache": False}
GOOD = '''"""Twice the cube. Refuted if it is no faster than NumPy."""
FLAGS = ["-O3"]
SPACE = {"PAD": [1, 2]}
SOURCE = r"""
const int pad = PAD;
void cube(const float *restrict x, float *restrict y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * (x[i] * x[i] * x[i]); }
"""

def launch(x, y, **_):
    kernel("cube")(x, y, x.size)
'''
SPEC = Spec(task="cube", shape="4096")


@pytest.fixture(scope="module")
def context(task_file: Path, tmp_path_factory: pytest.TempPathFactory) -> ToolContext:
    return ToolContext(Workspace(tmp_path_factory.mktemp("context") / "work"), {"cube": str(task_file)}, TINY)


@pytest.fixture(scope="module")
def artifact(context: ToolContext) -> Compiled:
    made = tools.compile(GOOD, spec=SPEC, context=context)
    assert isinstance(made, Compiled), made
    return made
