"""Which GPU baselines there are, and in which ways torch is run; running them needs a GPU (tests/gpu)."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from kernellab.core.records import Cause
from kernellab.measurement.gpu_baseline_job import WAYS, fault_of
from kernellab.measurement.gpu_baselines import BaselineRunner, Shared, _caches, available
from kernellab.run.base import Sample, WorkerFault
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


class Asked(Quiet):
    """A process that answers, and notes what it was asked, for how long and when."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[tuple[dict[str, Any], float, str]] = []

    def ask(self, request: dict[str, Any], timeout_s: float, when: str) -> dict[str, Any]:
        self.requests.append((request, timeout_s, when))
        return {"seconds": "0.25"}


class Gauges:
    def __init__(self, *throttled: bool) -> None:
        self._left = iter(throttled)
        self.gauges = self

    def throttled(self) -> bool:
        return next(self._left)


def test_a_baseline_prepares_a_call_once_and_in_its_own_time() -> None:
    process: Any = Asked()
    runner = BaselineRunner(NOBODY, Shared(process), "torch.eager")
    runner.ready()
    assert [runner.prepare(calls, timeout_s) for calls, timeout_s in (([0, 1], 5.0), ([1, 0], 5.0), ([2], 90.0))] == [
        0.0
    ] * 3
    assert process.requests == [
        ({"do": "prepare", "calls": calls, "variant": "torch.eager"}, timeout_s, "before a call")
        for calls, timeout_s in (([0], 120.0), ([1], 60.0), ([2], 90.0))
    ]
    assert not runner.begin([3])


@pytest.mark.parametrize(("before", "after"), [(False, False), (True, False), (False, True)])
def test_a_baselines_sample_is_disturbed_where_the_device_was_held_back(before: bool, after: bool) -> None:
    process, device = Asked(), Gauges(before, after)
    runner = BaselineRunner(device, Shared(process), "torch.eager")  # type: ignore[arg-type]
    assert runner.run([4], 7.0) == Sample(0.25, before or after)
    assert process.requests[-1] == ({"do": "run", "calls": [4], "variant": "torch.eager"}, 7.0, "during a call")


def test_compiled_baselines_are_kept_where_the_next_run_finds_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = _caches()
    assert found["TORCHINDUCTOR_CACHE_DIR"].startswith(str(tmp_path))
    assert found["TORCHINDUCTOR_CACHE_DIR"].endswith("torch/inductor")
    assert found["TRITON_CACHE_DIR"].endswith("torch/triton")
    assert found["TORCHINDUCTOR_COMPILE_THREADS"] == "1"


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
