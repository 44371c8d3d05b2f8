"""The runner's words for what went wrong; the rest of it needs a GPU (tests/gpu)."""

from __future__ import annotations

import os
from typing import get_args

import pytest

from kernellab.core.records import Cause
from kernellab.run.cuda_process import files_of
from kernellab.run.cuda_serve import contents, fault_of
from kernellab.run.cuda_static import StaticMemoryChanged
from kernellab.run.driver import DriverFault


def driver(name: str) -> DriverFault:
    return DriverFault(f"CUDA_ERROR_{name}", "cuLaunchKernel")


@pytest.mark.parametrize(
    ("error", "cause", "words", "lost"),
    [
        (ValueError("k takes 3 parameters, the plan gives 2"), "plan", "k takes 3 parameters, the plan gives 2", False),
        (KeyError("no_such_kernel"), "plan", "'no_such_kernel'", False),
        (IndexError("list index out of range"), "plan", "list index out of range", False),
        (driver("OUT_OF_MEMORY"), "memory", "the GPU has too little memory: out of memory (cuLaunchKernel)", False),
        (driver("INVALID_VALUE"), "plan", "cannot be launched: invalid value (cuLaunchKernel)", False),
        (driver("COOPERATIVE_LAUNCH_TOO_LARGE"), "plan",
         "cannot be launched: cooperative launch too large (cuLaunchKernel)", False),
        (driver("ILLEGAL_ADDRESS"), "crash", "the GPU reports: illegal address (cuLaunchKernel)", True),
        (driver("MISALIGNED_ADDRESS"), "crash", "the GPU reports: misaligned address (cuLaunchKernel)", True),
        (driver("LAUNCH_FAILED"), "crash", "the GPU reports: launch failed (cuLaunchKernel)", True),
        (driver("UNKNOWN"), "crash", "the GPU reports: unknown (cuLaunchKernel)", True),
    ],
)  # fmt: skip
def test_every_error_has_a_cause_that_records_know_and_words(
    error: Exception, cause: str, words: str, lost: bool
) -> None:
    found = fault_of(error)
    assert (found["fault"], found["reason"], found.get("lost", False)) == (cause, words, lost)
    assert cause in get_args(Cause)


def test_changed_static_memory_is_a_cause_of_its_own_and_says_when_itself() -> None:
    found = fault_of(StaticMemoryChanged("a call left its static memory changed: 4 bytes of 'calls'"))
    assert found == {"fault": "static-memory", "when": "",
                     "reason": "a call left its static memory changed: 4 bytes of 'calls'"}  # fmt: skip
    assert found["fault"] in get_args(Cause)


@pytest.mark.parametrize("error", [RuntimeError("odd"), TypeError("odd"), MemoryError()])
def test_what_it_cannot_name_it_raises_again(error: Exception) -> None:
    with pytest.raises(type(error)):
        fault_of(error)


def test_contents_are_read_whole_and_without_moving_the_file() -> None:
    data = os.urandom(200_000)
    with files_of(data) as (fd,):
        assert contents(fd) == contents(fd) == data
