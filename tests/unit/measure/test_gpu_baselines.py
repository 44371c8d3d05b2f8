"""Which GPU baselines there are, and in which ways torch is run; running them needs a GPU (tests/gpu)."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import get_args

import pytest

from kernellab.core.records import Cause
from kernellab.measure.gpu_baseline_job import WAYS, fault_of
from kernellab.measure.gpu_baselines import available
from kernellab.run.driver import DriverFault
from kernellab.tasks.builtin import TASKS

NAMES = {f"torch.{way}" for way in WAYS}
has_torch = importlib.util.find_spec("torch") is not None


@pytest.mark.parametrize("name", TASKS)
def test_torch_is_run_in_every_way_and_vendor_paths_as_they_are(name: str) -> None:
    names, missing = available(TASKS[name])
    found = set(names) | set(missing)
    assert found >= NAMES
    assert found - NAMES == set(TASKS[name].gpu_baselines) - {"torch"}
    assert len(names) == len(set(names)), "a vendor path must not be named like one of torch's ways"
    assert bool(missing) != has_torch
    assert all("pip install" in reason for reason in missing.values())


def test_a_task_without_gpu_baselines_has_none() -> None:
    assert available(replace(TASKS["softmax"], gpu_baselines={})) == ([], {})


def test_the_ways_are_what_a_user_of_torch_has() -> None:
    assert set(WAYS) == {"eager", "graph", "compile", "max-autotune", "max-autotune-no-cudagraphs"}
    assert [way for way, mode in WAYS.items() if not mode] == ["eager", "graph"]


@pytest.mark.skipif(not has_torch, reason="torch is not installed")
def test_torch_knows_the_modes() -> None:
    from torch._inductor import list_mode_options

    assert {mode for mode in WAYS.values() if mode} <= set(list_mode_options())


@pytest.mark.parametrize(
    ("error", "reason", "lost"),
    [
        (RuntimeError("CUDA out of memory.\nTried to allocate 20 GiB"), "RuntimeError: CUDA out of memory.", False),
        (ImportError(), "ImportError: ImportError", False),
        (ValueError("x" * 1000), f"ValueError: {'x' * 300}", False),
        (DriverFault("CUDA_ERROR_ILLEGAL_ADDRESS", "cuEventSynchronize"),
         "DriverFault: illegal address (cuEventSynchronize)", True),
    ],
)  # fmt: skip
def test_every_error_of_a_baseline_is_a_reason_in_one_line(error: Exception, reason: str, lost: bool) -> None:
    assert fault_of(error) == {"fault": "crash", "reason": reason, "lost": lost}
    assert "crash" in get_args(Cause)
