"""What a run with a model will ask and cost: counted from its settings and its own prompts."""

from __future__ import annotations

import pytest

from kernellab.core.settings import Science, Settings
from kernellab.propose.prompts import PromptBook
from kernellab.search.scientist.estimate import Forecast, estimate
from kernellab.tasks.load import load_task

KERNEL = "SOURCE = 'void k(void) {}'\ndef launch(x, y):\n    kernel('k')()\n"


def forecast(known: list[str], shapes: int = 1, trials: int = 40, **science: object) -> Forecast:
    asked = Science.model_validate({"model": "openai:nobody", "experiments": 3, "tune": 6, "repairs": 2, **science})
    settings = Settings(device="cpu", trials=trials)
    return estimate(load_task("softmax"), settings, asked, shapes, known, PromptBook())


@pytest.mark.parametrize("known", [1, 2, 5])
def test_a_generation_selects_designs_and_writes_from_any_number_of_known_kernels(known: int) -> None:
    found = forecast([KERNEL] * known, trials=known)
    assert (found.generations, found.calls, found.most_calls) == (1, 1 + 1 + 3, 2 + 2 + 3 + 3 * 2)
    assert 0 < found.tokens < found.most_tokens


def test_without_a_known_kernel_one_is_translated_first() -> None:
    found = forecast([], trials=1, samples=4)
    assert (found.generations, found.calls, found.most_calls) == (1, 4, 4 + 4 * 2)


@pytest.mark.parametrize(("trials", "generations"), [(1, 1), (18, 1), (19, 1), (20, 2), (37, 2), (38, 3)])
def test_there_are_as_many_generations_as_trials_are_left_for(trials: int, generations: int) -> None:
    """One trial is the known kernel's; a generation takes three experiments of six trials."""
    assert forecast([KERNEL], trials=trials).generations == generations
    assert forecast([KERNEL], shapes=3, trials=trials).generations == 3 * generations
    assert forecast([KERNEL], trials=1000, budget_trials=trials).generations == generations


def test_checks_by_a_model_are_counted_again_for_every_repair() -> None:
    plain, soft = forecast([KERNEL], trials=1), forecast([KERNEL], trials=1, soft=True)
    assert soft.calls - plain.calls == 3 * 3
    assert soft.most_calls - plain.most_calls == 3 * 3 * (1 + 2)


def test_a_model_without_a_price_has_no_cost_and_limits_are_told() -> None:
    found = forecast([KERNEL], budget_calls=7, budget_usd=1.5)
    assert (found.usd, found.most_usd, found.model) == (None, None, "openai:nobody")
    assert (found.limits["calls"], found.limits["usd"]) == (7, 1.5)
    assert found.data()["status"] == "estimate"


def test_a_known_price_is_multiplied_by_the_generations() -> None:
    one, three = (forecast([KERNEL], shapes=n, trials=1, model="anthropic:claude-sonnet-4-5") for n in (1, 3))
    assert one.usd is not None
    assert three.usd == pytest.approx(3 * one.usd)
    assert (three.calls, three.tokens) == (3 * one.calls, 3 * one.tokens)
