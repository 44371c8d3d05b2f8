from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.c import CBuilder
from kernellab.core.errors import UsageError
from kernellab.core.records import Passed, Rejected
from kernellab.core.targets import Language, backend_of, languages
from kernellab.propose.recipe import (
    FOLDER,
    Recipe,
    builtin_candidates,
    candidate_of,
    candidates_in,
    load_recipes,
    read_candidate,
)
from kernellab.run.cpu import CpuDevice
from kernellab.tasks.builtin import TASKS
from kernellab.verdict.cases import CaseTable, screen_cases
from kernellab.verdict.judge import Judge

pytestmark = pytest.mark.backend_c
RECIPES = {c.name: c for c in candidates_in(FOLDER / "c")}
CONTROL = "softmax_unshifted"
"""Wrong on purpose: a search that never rejects anything has not looked."""
FAMILIES = [name for name, task in TASKS.items() if name == task.family]
BY_TASK = [(task, c.name) for task in TASKS for c in builtin_candidates(task)]


@pytest.fixture(scope="module")
def tables(device: CpuDevice) -> Iterator[dict[str, CaseTable]]:
    made = {name: CaseTable(TASKS[name], screen_cases(TASKS[name]), bytes(range(32)), device) for name in FAMILIES}
    yield made
    for table in made.values():
        table.close()


@pytest.mark.parametrize("name", RECIPES)
def test_every_built_in_file_describes_itself_and_belongs_to_an_existing_task(name: str, builder: CBuilder) -> None:
    described = builder.describe(RECIPES[name])
    assert not isinstance(described, NotBuilt), described
    assert described.tasks
    assert set(described.tasks) <= set(TASKS)
    assert all((task, name) in BY_TASK for task in described.tasks)
    assert len(described.about) > 80, "a recipe says why it may win"


@pytest.mark.parametrize("name", RECIPES)
def test_every_built_in_space_is_worth_searching(name: str, builder: CBuilder) -> None:
    recipes, unusable = load_recipes(builder, [RECIPES[name]])
    assert unusable == {}
    (recipe,) = recipes
    assert recipe.size >= (2 if name == CONTROL else 4)
    for choices in recipe.space.values():
        assert len(choices) == len(set(choices)) >= 2


@pytest.mark.parametrize("task", FAMILIES)
def test_every_built_in_family_has_at_least_three_recipes_in_the_order_of_their_names(task: str) -> None:
    names = [c.name for c in builtin_candidates(task)]
    assert len(names) >= 3
    assert names == sorted(names)


@pytest.mark.parametrize("task", TASKS)
def test_every_built_in_task_has_recipes_of_both_back_ends_of_the_gpu(task: str) -> None:
    """Triton before CUDA, each in the order of its names; a name says its back end, so that none stands for two files."""
    found = builtin_candidates(task, "cuda")
    backends = [backend_of(c.text) for c in found]
    assert backends == sorted(backends, reverse=True)
    assert {"triton", "cuda"} == set(backends)
    assert all(c.name.endswith(f"_{b}") for c, b in zip(found, backends, strict=True))
    names = [c.name for c in (*found, *builtin_candidates(task))]
    assert len(names) == len(set(names)) >= 4


def test_a_short_dtype_has_recipes_for_the_gpu_alone() -> None:
    assert {task.family for name, task in TASKS.items() if not builtin_candidates(name)} == set(FAMILIES)
    assert all(builtin_candidates(name) for name in FAMILIES)


@pytest.mark.heavy
@pytest.mark.sample(5)
@pytest.mark.parametrize(("task", "name"), [pair for pair in BY_TASK if pair[1] != CONTROL])
def test_every_built_in_recipe_at_its_first_choices_passes_screening(
    task: str, name: str, builder: CBuilder, device: CpuDevice, tables: dict[str, CaseTable]
) -> None:
    candidate = RECIPES[name]
    (recipe,), _ = load_recipes(builder, [candidate])
    built = builder.build(TASKS[task], candidate, {k: v[0] for k, v in recipe.space.items()}, TASKS[task].edge)
    assert isinstance(built, Built), built
    verdict = Judge(device).verify(built, tables[task], "screen")
    assert isinstance(verdict, Passed), verdict
    assert verdict.deterministic


def test_the_control_recipe_is_rejected_by_screening(
    builder: CBuilder, device: CpuDevice, tables: dict[str, CaseTable]
) -> None:
    candidate = RECIPES[CONTROL]
    (recipe,), _ = load_recipes(builder, [candidate])
    task = TASKS["softmax"]
    built = builder.build(task, candidate, {k: v[0] for k, v in recipe.space.items()}, task.edge)
    assert isinstance(built, Built), built
    verdict = Judge(device).verify(built, tables["softmax"], "screen")
    assert isinstance(verdict, Rejected)
    assert verdict.cause == "non-finite"


def test_a_task_without_recipes_has_none() -> None:
    assert builtin_candidates("no_such_task") == []
    assert builtin_candidates("soft") == []


def test_a_file_of_the_users_is_read_under_its_stem(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("SOURCE = ''")
    assert read_candidate(tmp_path / "mine.py") == Candidate("SOURCE = ''", "mine")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_a_usage_error(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        read_candidate(path)
    assert "docs/candidates.md" in caught.value.fix


def test_usable_and_unusable_candidates_are_told_apart(builder: CBuilder, make_candidate: Any) -> None:
    good = make_candidate(
        head='"""Because  of\n   this."""\nSPACE = {"A": [1, 2, 3], "B": ["x", "y"], "EMPTY": []}', name="good"
    )
    recipes, unusable = load_recipes(builder, [good, Candidate("x = 1 / 0", "bad")])
    assert recipes == [Recipe(good, {"A": [1, 2, 3], "B": ["x", "y"]}, "Because of this.")]
    assert (recipes[0].name, recipes[0].size) == ("good", 6)
    assert list(unusable) == ["bad"]
    assert "ZeroDivisionError" in unusable["bad"]


def test_a_candidate_without_a_space_is_one_combination(builder: CBuilder, make_candidate: Any) -> None:
    (recipe,), _ = load_recipes(builder, [make_candidate()])
    assert (recipe.space, recipe.size) == ({}, 1)


def test_a_file_with_variants_stands_for_a_candidate_of_each(tmp_path: Path) -> None:
    (tmp_path / "sum_plain.py").write_text(
        '"""A sum of __COUNT__."""\n\nVARIANTS = {\n    "sum2": {"COUNT": "2"},\n    "sum3": {"COUNT": "3"},\n}\n'
        'TASKS = ("sum__COUNT__", "sum__COUNT___bf16")\nSOURCE = "int __OTHER__ = __COUNT__;"\n'
    )
    (tmp_path / "other.py").write_text('TASKS = ("sum2",)\n')
    assert [(c.name, c.text) for c in candidates_in(tmp_path)] == [
        ("other", 'TASKS = ("sum2",)\n'),
        *(
            (
                f"sum{n}_plain",
                f'"""A sum of {n}."""\n\nTASKS = ("sum{n}", "sum{n}_bf16")\nSOURCE = "int __OTHER__ = {n};"\n',
            )
            for n in (2, 3)
        ),
    ]


@pytest.mark.parametrize("language", languages(), ids=lambda found: found.name)
def test_the_stencils_of_both_radii_come_from_one_file_and_nothing_is_left_open(language: Language) -> None:
    assert language.recipes is not None
    names = {c.name for c in candidates_in(language.recipes)}
    wide = {n for n in names if n.startswith("stencil5x5")}
    assert {n.replace("5x5", "3x3") for n in wide} == {n for n in names if n.startswith("stencil3x3")}
    files = list(language.recipes.glob("stencil*.py"))
    assert len(files) == len(wide) >= 2
    words = "|".join(re.findall(r'^ +"([A-Z]+)": ', "".join(p.read_text() for p in files), re.MULTILINE))
    for candidate in candidates_in(language.recipes):
        assert not re.search(rf"__({words})__|VARIANTS", candidate.text), candidate.name


def test_a_byte_order_mark_is_no_part_of_a_text_as_in_python(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes(b"\xef\xbb\xbfSOURCE = ''")
    assert read_candidate(tmp_path / "mine.py") == Candidate("SOURCE = ''", "mine")
    assert candidate_of("\ufeffSOURCE = ''", "given") == Candidate("SOURCE = ''", "given")


def test_half_of_a_character_in_a_given_text_is_named_with_its_line() -> None:
    with pytest.raises(UsageError, match=r"holds a lone surrogate, \\ud800, in line 2") as caught:
        candidate_of("SOURCE = ''\n# \ud800\n", "given")
    assert "leave it out" in caught.value.fix
