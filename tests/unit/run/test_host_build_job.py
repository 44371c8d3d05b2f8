"""Inputs that a build draws for itself; the rest runs in the sandbox (test_host_build.py)."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")
_DRAWN = """
from kernellab.run.host_build_job import _drawn
for dtype in ("float32", "bfloat16", "int64", "bool"):
    found = _drawn({"shape": [2, 0, 3], "dtype": dtype})
    print(str(found.dtype), list(found.shape))
print(bool((_drawn({"shape": [9], "dtype": "int64"}) == 0).all()))
"""


def test_every_dtype_can_be_drawn() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DRAWN], capture_output=True, text=True, check=True
    )  # it changes logging
    assert done.stdout.splitlines() == [
        *(f"torch.{d} [2, 0, 3]" for d in ("float32", "bfloat16", "int64", "bool")),
        "True",
    ]
