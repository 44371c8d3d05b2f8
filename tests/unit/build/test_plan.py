from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kernellab.build.plan import (
    IDENTIFIER,
    MAX_GPU_SCRATCH,
    MAX_SCRATCH,
    MAX_STEPS,
    MAX_THREADS,
    BufferArg,
    FloatArg,
    IntArg,
    Plan,
    ScratchArg,
    Step,
)

BUFFER = {"kind": "buffer", "index": 0}


def step(**changes: Any) -> dict[str, Any]:
    return {"kernel": "k", "grid": None, "args": [BUFFER], **changes}


def plan(**changes: Any) -> Plan:
    return Plan.model_validate({"scratch": [], "steps": [step()], **changes})


def test_a_plan_is_read_as_it_was_written() -> None:
    args = [BUFFER, {"kind": "scratch", "index": 0}, {"kind": "int", "value": -5}, {"kind": "float", "value": 0.5}]
    read = plan(scratch=[64], steps=[step(kernel="a_1", grid=[2, 3, 4], args=args)])
    assert read.steps[0] == Step(
        kernel="a_1",
        grid=[2, 3, 4],
        args=[BufferArg(index=0), ScratchArg(index=0), IntArg(value=-5), FloatArg(value=0.5)],
    )
    assert read.steps[0].signature == ("a_1", True, "ppif")
    assert read.faults(1) == ""


@pytest.mark.parametrize(
    "name",
    ["", "1k", "k;", "k\n", "k\n#include", 'k"', "ké", "a" * 257, "../k", "k\0", "$k", "k{", "k}", "k'", "k\\", "k=1", "(k)",
     "<k>", " k", "k[0]", "k#", "k|k", "k\tk"],
)  # fmt: skip
def test_a_name_that_could_be_more_than_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        plan(steps=[step(kernel=name)])


@pytest.mark.parametrize(
    "name",
    ["k", "_k1", "softmax<bf16, 256, 8>", "a::b<const float *, -1>", "k<(3 + 4)>", "k<1.5>", "k<int &>", "a" * 256],
)
def test_name_expressions_name_kernels_too(name: str) -> None:
    assert plan(steps=[step(kernel=name)]).steps[0].kernel == name


@pytest.mark.parametrize("name", ["k-1", "k k", "k(", "a" * 129, "k<1>"])
def test_only_identifiers_name_c_functions(name: str) -> None:
    assert IDENTIFIER.match("k_1")
    assert not IDENTIFIER.match(name)


@pytest.mark.parametrize(
    "changes",
    [
        {"block": [0]}, {"block": [1, 1, 1, 1]}, {"block": []}, {"block": 32}, {"block": [True]}, {"block": [1 << 31]},
        {"shared": -1}, {"shared": (1 << 20) + 1}, {"shared": 1.0}, {"shared": "1"}, {"shared": None}, {"cluster": [0]},
        {"cluster": [1, 1, 1, 1]}, {"cluster": 2}, {"cooperative": 1}, {"cooperative": "yes"}, {"cooperative": None},
        {"stream": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_hostile_block_cluster_or_shared_size_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        plan(steps=[step(**changes)])


def test_a_gpus_launch_is_read_as_it_was_written() -> None:
    read = plan(steps=[step(grid=[4, 2], block=[32, 4], shared=102400, cluster=[2, 1], cooperative=True)]).steps[0]
    assert (read.grid, read.block, read.shared, read.cluster, read.cooperative) == (
        [4, 2],
        [32, 4],
        102400,
        [2, 1],
        True,
    )
    plain = plan().steps[0]
    assert (plain.block, plain.shared, plain.cluster, plain.cooperative) == (None, 0, None, False)


def test_blocks_have_at_most_so_many_threads() -> None:
    assert plan(steps=[step(block=[32, 32])]).faults(1) == ""
    assert plan(steps=[step(block=[32, 33])]).faults(1) == f"k has blocks of 1056 threads; {MAX_THREADS} is the most"


def test_only_scratch_that_was_asked_for_can_be_zeroed() -> None:
    assert plan(scratch=[64, 64], zeroed=[1]).faults(1) == ""
    assert plan(scratch=[64], zeroed=[1]).faults(1) == "zeroes a scratch buffer that was never asked for"
    for zeroed in ([-1], [64], [True], [0.0], "0", None):
        with pytest.raises(ValidationError):
            plan(scratch=[64], zeroed=zeroed)


@pytest.mark.parametrize(
    "argument",
    [
        {"kind": "buffer", "index": -1},
        {"kind": "buffer", "index": 256},
        {"kind": "buffer", "index": 1.0},
        {"kind": "buffer", "index": True},
        {"kind": "buffer", "index": "0"},
        {"kind": "scratch", "index": 64},
        {"kind": "int", "value": 1 << 63},
        {"kind": "int", "value": -(1 << 63) - 1},
        {"kind": "int", "value": 1.5},
        {"kind": "int", "value": "1"},
        {"kind": "float", "value": float("nan")},
        {"kind": "float", "value": float("inf")},
        {"kind": "float", "value": "1"},
        {"kind": "pointer", "value": 0},
        {"value": 1},
        {**BUFFER, "offset": 8},
        None,
        5,
        [],
    ],
    ids=str,
)
def test_a_hostile_argument_is_refused(argument: Any) -> None:
    with pytest.raises(ValidationError):
        plan(steps=[step(args=[argument])])


@pytest.mark.parametrize("grid", [[0], [-1], [1 << 31], [1.5], ["2"], "2", 2, [True]])
def test_a_hostile_grid_is_refused(grid: Any) -> None:
    with pytest.raises(ValidationError):
        plan(steps=[step(grid=grid)])


@pytest.mark.parametrize("grid", [[], [2, 2, 2, 2]])
def test_a_grid_has_one_to_three_extents(grid: list[int]) -> None:
    with pytest.raises(ValidationError):
        plan(steps=[step(grid=grid)])


@pytest.mark.parametrize("scratch", [[0], [-64], [1.0], ["64"], [64] * 65, "64", None])
def test_hostile_scratch_sizes_are_refused(scratch: Any) -> None:
    with pytest.raises(ValidationError):
        plan(scratch=scratch)


def test_too_many_steps_or_arguments_are_refused() -> None:
    assert len(plan(steps=[step()] * MAX_STEPS).steps) == MAX_STEPS
    with pytest.raises(ValidationError):
        plan(steps=[step()] * (MAX_STEPS + 1))
    with pytest.raises(ValidationError):
        plan(steps=[step(args=[BUFFER] * 65)])


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError):
        plan(library="/tmp/evil.so")
    with pytest.raises(ValidationError):
        plan(steps=[step(stub="system")])


def test_a_plan_without_steps_has_launched_nothing() -> None:
    assert plan(steps=[]).faults(1) == "launch() launched nothing"


def test_too_much_scratch_is_a_fault() -> None:
    assert "bytes of scratch" in plan(scratch=[MAX_SCRATCH, 1]).faults(1)
    assert plan(scratch=[MAX_SCRATCH]).faults(1) == ""
    on_gpu = [step(block=[32, 1, 1])]
    assert plan(scratch=[MAX_GPU_SCRATCH], steps=on_gpu).faults(1) == ""
    assert "bytes of scratch" in plan(scratch=[MAX_GPU_SCRATCH, 1], steps=on_gpu).faults(1)


def test_a_buffer_the_task_does_not_have_is_a_fault() -> None:
    assert plan(steps=[step(args=[{"kind": "buffer", "index": 2}])]).faults(2) == "k is given buffer 2, the task has 2"


def test_a_scratch_that_was_never_asked_for_is_a_fault() -> None:
    assert "scratch 1 that was never asked for" in plan(
        scratch=[64], steps=[step(args=[{"kind": "scratch", "index": 1}])]
    ).faults(1)


def test_the_signature_tells_grids_and_argument_kinds_apart() -> None:
    plain, grid = plan().steps[0], plan(steps=[step(grid=[1])]).steps[0]
    assert (plain.signature, grid.signature) == (("k", False, "p"), ("k", True, "p"))
