"""Formulas as a suite: by seed, in either type, at the sizes of either device; named by their structure."""

from __future__ import annotations

import pytest

from kernellab.core.errors import UsageError
from kernellab.learn.dataset import split_of
from kernellab.tasks.suites import find_problem
from kernellab.tasks.suites.finding import find_suite
from kernellab.tasks.suites.formulas import structure_in


def test_a_formula_is_named_by_its_structure_and_its_seed() -> None:
    plain, short = find_problem("formulas:7"), find_problem("formulas:7-bf16")
    assert plain is not None
    assert short is not None
    assert plain.name.endswith("_7")
    assert short.name.endswith("_7-bf16")
    assert len(structure_in(plain.name)) == 12
    assert structure_in(plain.name) != structure_in(short.name)
    assert plain.request.text is not None
    assert plain.on_accelerator is not None
    assert plain.on_accelerator.text not in (None, plain.request.text)
    assert structure_in("softmax") == structure_in("formula_of_mine") == ""


@pytest.mark.parametrize("asked", ["", "x", "-1", "7-f16", "1e3", "7.py", "99999999999"])
def test_what_is_no_seed_is_said(asked: str) -> None:
    with pytest.raises(UsageError, match="there is no formula"):
        find_problem(f"formulas:{asked}")


def test_the_suite_lists_a_thousand_and_a_sample_is_drawn_from_it() -> None:
    suite = find_suite("formulas")
    assert len({p.name for p in suite.problems}) == 1000


def test_formulas_of_one_structure_are_on_one_side_of_a_split_at_every_shape() -> None:
    names = [f"formula_{structure}_{seed}" for structure in ("00aa11bb22cc", "000000051234") for seed in (1, 2)]
    sides = [split_of(name, {"d0": size}) for name in names for size in (3, 4, 5, 6)]
    assert len(set(sides[:8])) == len(set(sides[8:])) == 1
    assert sides[8] == "test"
