"""Recorded launches as formulas of the dims, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernellab.build.plan import BufferArg, FloatArg, IntArg, Plan, ScratchArg, Step
from kernellab.certify.lift import lift, plain_argument, shapes_to_record
from kernellab.tasks.spec import Dims

LOW, HIGH = {"M": 1, "N": 1}, {"M": 3000, "N": 4096}
SHAPES = shapes_to_record(LOW, HIGH, [{"M": 512, "N": 781}, {"M": 1, "N": 1}])


def plans(number: Callable[[Dims], int], scratch: Callable[[Dims], int] = lambda d: 4) -> list[Plan]:
    args = [BufferArg(index=0), ScratchArg(index=0), FloatArg(value=0.5)]
    return [
        Plan(scratch=[scratch(d)], steps=[Step(kernel="k", grid=[d["M"]], args=[*args, IntArg(value=number(d))])])
        for d in SHAPES
    ]


@pytest.mark.parametrize(
    ("number", "formula"),
    [
        (lambda d: 7, "7LL"),
        (lambda d: d["N"], "N"),
        (lambda d: d["M"] * d["N"], "M * N"),
        (lambda d: 4 * d["N"], "4LL * N"),
        (lambda d: -(-d["N"] // 96), "((N + 95) / 96)"),
        (lambda d: -(-d["M"] * d["N"] // 1024), "((M * N + 1023) / 1024)"),
        (lambda d: d["M"] * -(-d["N"] // 128), "((N + 127) / 128) * M"),
    ],
)
def test_numbers_become_formulas(number: Callable[[Dims], int], formula: str) -> None:
    found = lift(plans(number), SHAPES, {"BLOCK": 96, "WORD": "x", "FLAG": True}, ["x"])
    assert found is not None
    assert found.steps[0].args == ("(void *)x", "scratch[0]", "0.5", formula)
    assert found.steps[0].grid == ("M",)
    assert found.shapes == len(SHAPES)


@pytest.mark.parametrize(
    "number",
    [lambda d: d["N"] if d["N"] < 4000 else d["N"] + 1, lambda d: min(d["N"], 64), lambda d: d["N"] ** 3 % 1000],
)
def test_what_no_formula_gives_stays_a_table(number: Callable[[Dims], int]) -> None:
    assert lift(plans(number), SHAPES, {}, ["x"]) is None
    assert lift(plans(lambda d: 1, number), SHAPES, {}, ["x"]) is None


def test_plans_that_differ_in_more_than_numbers_stay_a_table() -> None:
    mixed = plans(lambda d: 1)
    mixed[3] = Plan(scratch=[4], steps=[*mixed[3].steps, *mixed[3].steps])
    assert lift(mixed, SHAPES, {}, ["x"]) is None


def test_recorded_shapes_are_many_different_and_always_the_same() -> None:
    assert len(SHAPES) == 72
    assert len({tuple(d.items()) for d in SHAPES}) == 72
    assert shapes_to_record(LOW, HIGH, [{"M": 512, "N": 781}, {"M": 1, "N": 1}]) == SHAPES
    assert all(LOW[n] <= d[n] <= HIGH[n] for d in SHAPES for n in d)
    for corner in ({"M": 3000, "N": 4096}, {"M": 3000, "N": 1}, {"M": 1, "N": 4096}):
        assert corner in SHAPES


def test_recorded_extents_lie_at_beside_and_between_the_powers_of_two() -> None:
    found = sorted(d["N"] for d in shapes_to_record({"N": 1}, {"N": 100}, [{"N": 77}]))
    assert found == sorted(
        {1, 100, 77}
        | {1, 2, 4, 8, 16, 32, 64}
        | {3, 7, 15, 31, 63, 5, 9, 17, 33, 65}
        | {3, 6, 12, 24, 48, 96}  # half as much again
        | {3, 6, 13, 26, 53}  # five thirds
    )


def test_arguments_of_one_plan_are_c_expressions() -> None:
    assert plain_argument(IntArg(value=-3), ["x"]) == "-3LL"
    assert plain_argument(FloatArg(value=1e-3), ["x"]) == "0.001"
