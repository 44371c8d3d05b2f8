"""Baselines with knobs: names, settings, refusals, and what a task's fingerprint says of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernellab.core.errors import TaskRefused
from kernellab.tasks import Tunable
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.tunable import MOST_SETTINGS, variants

SOFTMAX = TASKS["softmax"]


def scaled(x: Any, factor: int, shift: float = 0.0) -> Any:
    return factor * x + shift


def test_every_combination_is_a_baseline_of_its_own_name_and_the_rest_stay_as_they_are() -> None:
    found = variants({"plain": abs, "tuned": Tunable(scaled, {"factor": (2, 3), "shift": (0.5,)})})
    assert list(found) == ["plain", "tuned[factor=2,shift=0.5]", "tuned[factor=3,shift=0.5]"]
    assert [v.name for v in found.values()] == ["plain", "tuned", "tuned"]
    assert [v.function(-4) for v in found.values()] == [4, -7.5, -11.5]
    assert [v.setting for v in found.values()] == [{}, {"factor": 2, "shift": 0.5}, {"factor": 3, "shift": 0.5}]


def test_called_as_it_is_it_runs_with_the_first_values() -> None:
    assert Tunable(scaled, {"factor": (5, 7)})(2) == 10


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({}, "has knobs without distinct values"),
        ({"factor": ()}, "has knobs without distinct values"),
        ({"factor": (2, 2)}, "has knobs without distinct values"),
        ({"factor": tuple(range(13))}, f"has 13 settings of its knobs; at most {MOST_SETTINGS} are tried"),
        ({"factor": (1, 2, 3, 4), "shift": (1, 2, 3, 4)}, "has 16 settings of its knobs"),
    ],
)
@pytest.mark.parametrize("field", ["baselines", "gpu_baselines"])
def test_a_task_refuses_knobs_that_cannot_be_tried(field: str, knobs: dict[str, tuple[int, ...]], words: str) -> None:
    with pytest.raises(TaskRefused, match="the baseline 'tuned'") as caught:
        replace(SOFTMAX, **{field: {**getattr(SOFTMAX, field), "tuned": Tunable(scaled, knobs)}})
    assert words in caught.value.what


@pytest.mark.parametrize(("field", "name"), [("baselines", "numpy"), ("gpu_baselines", "torch")])
def test_the_baselines_that_mean_more_than_themselves_have_no_knobs(field: str, name: str) -> None:
    with pytest.raises(TaskRefused, match=f"the baseline '{name}' has knobs"):
        replace(SOFTMAX, **{field: {name: Tunable(scaled, {"factor": (1,)})}})


@pytest.mark.parametrize("field", ["baselines", "gpu_baselines"])
def test_the_fingerprint_changes_with_the_knobs_alone(field: str) -> None:
    plain = {**getattr(SOFTMAX, field), "other": scaled}
    tuned = [{**plain, "other": Tunable(scaled, {"factor": values})} for values in ((1,), (1, 2))]
    prints = [replace(SOFTMAX, **{field: group}).fingerprint() for group in (plain, *tuned)]
    assert len(set(prints)) == 3
    assert prints[1] == replace(SOFTMAX, **{field: tuned[0]}).fingerprint()
