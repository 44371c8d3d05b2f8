"""Formulas by seeds: the same for the same seed, runnable PyTorch, and a structure without numbers."""

from __future__ import annotations

import re
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.tasks.generated.formula import LARGE, SMALL, Formula, draw  # noqa: E402


def module(formula: Formula) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(formula.text, scope)
    return scope


@pytest.mark.parametrize("seed", range(0, 400, 10))
def test_a_formula_runs_and_is_finite_on_its_own_inputs(seed: int) -> None:
    scope = module(draw(seed))
    result = scope["Model"]()(*scope["get_inputs"]())
    assert result.isfinite().all()
    assert result.numel() > 1


def test_a_seed_draws_one_formula_whatever_its_sizes_and_type() -> None:
    for seed in range(50):
        one, large, short = draw(seed), draw(seed, LARGE), draw(seed, SMALL, "bfloat16")
        assert one == draw(seed)
        assert one.structure == large.structure
        assert one.structure.removeprefix("float32") == short.structure.removeprefix("bfloat16")
        assert one.digest != short.digest
        assert all(t.dtype == torch.bfloat16 for t in module(short)["get_inputs"]())


def test_structures_have_no_numbers_and_there_are_many() -> None:
    formulas = [draw(seed) for seed in range(500)]
    assert len({f.structure for f in formulas}) > 400
    assert not any(re.search(r"\d\.\d", f.structure) for f in formulas)
    ways = {"softmax": 0, "layer_norm": 0, "@ m": 0, "cumsum": 0, ".sum(0)": 0, "where": 0}
    for name in ways:
        assert any(name in f.structure for f in formulas), name


def test_every_line_is_needed_and_every_input_is_used() -> None:
    for seed in range(200):
        text = draw(seed).text
        for name in re.findall(r"^        (v\d+) =", text, re.M):
            assert len(re.findall(rf"\b{name}\b", text)) > 1
        for name in re.findall(r"forward\(self, (.*)\)", text)[0].split(", "):
            assert len(re.findall(rf"\b{name}\b", text)) > 1
