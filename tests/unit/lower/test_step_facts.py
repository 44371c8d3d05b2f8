"""What the generator says of the steps that it wrote."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from tests.unit.lower.graphs import SUBJECTS, record_of

from kernellab.graph.extents import evaluate
from kernellab.lower.candidates import written
from kernellab.lower.facts import StepFacts
from kernellab.propose.recipe import space_in

SIZES = {"PARTS": 512, "SPLITS": 4}


def steps(name: str, form: str, language: str = "triton") -> tuple[StepFacts, ...]:
    record = record_of(name)
    return next(w.steps for w in written(record, language, record.example) if w.form == form)


def number(text: str, name: str) -> float:
    return evaluate(text, {**record_of(name).example, **SIZES})


@pytest.mark.heavy
@pytest.mark.sample(6, each="language")
@pytest.mark.parametrize("language", ["c", "triton"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_text_says_what_its_steps_are_in_plain_data(name: str, language: str) -> None:
    record = record_of(name)
    for found in written(record, language, record.example):
        assert found.steps
        assert json.loads(json.dumps([asdict(s) for s in found.steps]))[0]["form"] == found.steps[0].form
        choices = {c for s in found.steps for c in s.choices}
        assert choices == set(space_in(found.text))
        for step in found.steps:
            for text in (step.points, step.rows, step.length, step.lanes, *(t.elements for t in step.read)):
                assert number(text, name) >= 1


def test_a_row_kernel_has_its_rows_and_their_length() -> None:
    (step,) = steps("rows", "row")
    assert (number(step.rows, "rows"), number(step.length, "rows")) == (7, 100)
    assert [(number(t.elements, "rows"), t.bytes, t.lies) for t in step.read] == [(700, 4, "next")]
    assert step.reductions == 2
    assert step.functions >= 2


def test_rows_that_lie_beside_each_other_are_told() -> None:
    (step,) = steps("columns", "tile")
    assert number(step.lanes, "columns") == 9
    assert number(step.length, "columns") == 20
    assert {t.lies for t in step.read} == {"next"}
    (apart,) = steps("columns", "row")
    assert {t.lies for t in apart.read} == {"apart"}


def test_parts_of_a_long_sum_depend_on_the_parameter() -> None:
    parts, joined = steps("loss", "split")
    assert number(parts.rows, "loss") == SIZES["PARTS"]
    assert number(joined.length, "loss") == SIZES["PARTS"]


def test_a_product_has_its_sides() -> None:
    step = steps("chain", "product_row")[0]
    assert step.product is not None
    assert sorted(number(text, "chain") for text in step.product) == [1, 9, 17, 20]
    assert "BLOCK_M" in step.choices
