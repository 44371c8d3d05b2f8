"""Which GPU baselines there are, and in which ways torch is run; running them needs a GPU (tests/gpu)."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any, get_args

import pytest

from kernellab.core.records import Cause
from kernellab.measure.gpu_baseline_job import WAYS, fault_of
from kernellab.measure.gpu_baselines import BaselineRunner, Shared, available
from kernellab.run.base import WorkerFault
from kernellab.run.driver import DriverFault
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.tunable import variants

NOBODY: Any = None
NAMES = {f"torch.{way}" for way in WAYS}
has_torch, has_triton = (importlib.util.find_spec(name) is not None for name in ("torch", "triton"))


@pytest.mark.parametrize("name", TASKS)
def test_torch_is_run_in_every_way_and_vendor_paths_as_they_are(name: str) -> None:
    names, missing = available(TASKS[name])
    found = set(names) | set(missing)
    assert found >= NAMES
    assert found - NAMES == set(variants(TASKS[name].gpu_baselines)) - {"torch"}
    assert len(names) == len(set(names)), "a vendor path must not be named like one of torch's ways"
    assert bool(missing) != (has_torch and has_triton)
    assert all("pip install" in reason for reason in missing.values())


def test_a_baseline_with_knobs_is_there_at_every_setting() -> None:
    found = [n for group in available(TASKS["softmax_bf16"]) for n in group if n.startswith("triton-rows")]
    assert found == [f"triton-rows[num_warps={n}]" for n in (4, 1, 2, 8, 16)]


@pytest.mark.skipif(not has_torch, reason="torch is not installed")
def test_without_triton_its_baselines_are_missing_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "triton" else there(name))
    names, missing = available(TASKS["softmax"])
    assert set(names) == NAMES
    assert all(n.startswith("triton") for n in missing)
    assert set(missing.values()) == {"triton is not installed (pip install 'kernellab[cuda]')"}


class Quiet:
    """A process that starts or does not; it counts how often it was ended."""

    def __init__(self, fault: WorkerFault | None = None) -> None:
        self.fault, self.ended, self.asked = fault, 0, 0

    def ready(self) -> None:
        self.asked += 1
        if self.fault is not None:
            raise self.fault

    def end(self) -> None:
        self.ended += 1


def test_a_shared_process_ends_with_its_last_runner() -> None:
    process: Any = Quiet()
    shared = Shared(process)
    runners = [BaselineRunner(NOBODY, shared, name) for name in ("a", "b")]
    for runner in (runners[0], runners[0]):
        runner.close()
    assert process.ended == 0
    runners[1].end()
    assert process.ended == 1


def test_where_a_shared_process_does_not_start_each_of_its_runners_hears_why() -> None:
    process: Any = Quiet(WorkerFault("crash", "does not start: no memory"))
    shared = Shared(process)
    for runner in [BaselineRunner(NOBODY, shared, name) for name in ("a", "b")]:
        with pytest.raises(WorkerFault, match="does not start: no memory"):
            runner.ready()
    assert (process.asked, process.ended) == (1, 1)


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
