"""The plan follows from the file alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.propose.recipe import Recipe
from kernellab.studies.design import cells_of, key_of, study_tasks_of
from kernellab.studies.hypothesis import Hypothesis
from kernellab.studies.library import read, shipped

RECIPE = Recipe(Candidate("text", "rows"), {"A": [1, 2, 3, 4], "B": ["x", "y", "z"]}, "")


def asking(**population: Any) -> Hypothesis:
    given = {"device": "cpu", "tasks": ["softmax"], "shapes": ["64x128", "64x256"], **population}
    part = {"name": "p", "prediction": "p", "statistic": "transfer-loss", "rule": {"side": "at-most", "bound": 0.2}}
    return Hypothesis.model_validate(
        {"id": "T", "title": "t", "claim": "c", "sample": 1, "seeds": [1, 2], "population": [given], "part": [part]}
    )


def planned(**population: Any) -> list[tuple[str, int, list[dict[str, Any]]]]:
    hypothesis = asking(**population)
    study_task = study_tasks_of(hypothesis, "cpu", Path())[0]
    return [
        (str(c.dims["N"]), c.seed, [i.params for i in c.ideas])
        for c in cells_of(hypothesis, study_task.population, study_task.shapes, [RECIPE])
    ]


def test_every_replicate_has_every_shape_with_the_same_kernels_in_another_order() -> None:
    cells = planned()
    assert [(n, seed) for n, seed, _ in cells] == [("128", 1), ("256", 1), ("128", 2), ("256", 2)]
    assert {len(ideas) for *_, ideas in cells} == {12}
    sets = [sorted(map(str, ideas)) for *_, ideas in cells]
    assert all(s == sets[0] for s in sets)
    assert len({str(ideas) for *_, ideas in cells}) == 4
    assert planned() == cells


def test_a_restricted_space_and_a_sample_of_it() -> None:
    assert {p["A"] for p in planned(space={"A": [1, 2]})[0][2]} == {1, 2}
    assert len(planned(most=5)[0][2]) == 5


def test_a_varied_parameter_takes_all_choices_in_each_context() -> None:
    ideas = planned(vary="A", most=2)[0][2]
    assert len(ideas) == 8
    assert {b: sorted(p["A"] for p in ideas if p["B"] == b) for b in {p["B"] for p in ideas}}.values()
    assert all(sorted(p["A"] for p in ideas if p["B"] == b) == [1, 2, 3, 4] for b in {p["B"] for p in ideas})


@pytest.mark.parametrize(
    ("population", "words"),
    [
        ({"space": {"A": [9]}}, "no choice A=9"),
        ({"candidates": ["nobody"]}, "no built-in candidate 'nobody'"),
        ({"tasks": ["sofmax"]}, "no task 'sofmax'"),
        ({"shapes": ["64"]}, "not a shape"),
        ({"distributions": ["odd"]}, "no distribution 'odd'"),
    ],
)
def test_a_population_that_does_not_exist_is_refused(population: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        planned(**population)


def test_a_plan_without_end_is_refused() -> None:
    wide = Recipe(Candidate("text", "wide"), {f"P{n}": list(range(10)) for n in range(9)}, "")
    with pytest.raises(UsageError, match="asks for 1000000000 combinations"):
        cells_of(asking(), asking().population[0], [{"M": 1}], [wide])
    with pytest.raises(UsageError, match="asks for 1200024 combinations"):
        cells_of(asking(), asking().population[0], [{"M": 1}] * 50_001, [RECIPE])


def test_a_device_of_which_nothing_is_said_is_refused() -> None:
    with pytest.raises(UsageError, match="says nothing of --device cuda"):
        study_tasks_of(asking(), "cuda", Path())


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", list(shipped()))
def test_the_shipped_populations_exist(name: str, device: str) -> None:
    path = shipped()[name]
    for study_task in study_tasks_of(read(path), device, path.parent):
        assert study_task.shapes
        assert study_task.candidates
        spaces = [c.text for c in study_task.candidates]
        assert all(any(f'"{param}"' in text for text in spaces) for param in study_task.population.space)


def test_a_planned_trial_is_named_whatever_the_order_of_its_dims() -> None:
    hypothesis = asking()
    idea = cells_of(hypothesis, hypothesis.population[0], [{"M": 1, "N": 2}], [RECIPE])[0].ideas[0]
    assert key_of("t", {"M": 1, "N": 2}, 1, idea) == key_of("t", {"N": 2, "M": 1}, 1, idea)
    assert key_of("t", {"M": 1, "N": 2}, 1, idea) != key_of("t", {"M": 1, "N": 2}, 2, idea)
