"""Inputs that a build draws for itself; the rest runs in the sandbox (test_host_build.py)."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

pytest.importorskip("torch")


def drawn() -> list[str]:
    """In a fork: the module changes logging."""
    from kernellab.run.host_build_job import _drawn

    found = [_drawn({"shape": [2, 0, 3], "dtype": dtype}) for dtype in ("float32", "bfloat16", "int64", "bool")]
    whole = _drawn({"shape": [9], "dtype": "int64"})
    return [*(f"{tensor.dtype} {list(tensor.shape)}" for tensor in found), str(bool((whole == 0).all()))]


def test_every_dtype_can_be_drawn() -> None:
    with ProcessPoolExecutor(1, get_context("fork")) as fork:
        assert fork.submit(drawn).result() == [
            *(f"torch.{d} [2, 0, 3]" for d in ("float32", "bfloat16", "int64", "bool")),
            "True",
        ]
