"""Mutants: one edit each, said truly, in code and not in comments, the same for the same seed, and enough of them."""

from __future__ import annotations

import ast
import difflib
import random
from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.propose.prompts.examples import SOURCES

from kernellab.core.targets import backend_of
from kernellab.propose.mutants import OPERATORS, Mutant, Original, labelled_set, mutants, pick
from kernellab.propose.recipe import FOLDER, candidates_in
from kernellab.search.gauntlet import collect

RECIPES = [
    Original(c.name, c.text, "softmax")
    for folder in sorted(p for p in FOLDER.iterdir() if p.is_dir())
    for c in candidates_in(folder)
]
HONEST = [Original(e.path.stem, e.path.read_text(), e.task) for e in collect([], []) if e.kind == "honest"]
FILES = [*RECIPES, *HONEST]
WANTED = {
    "off-by-one", "less-or-equal", "dropped-mask", "wrong-stride", "missing-sync", "wrong-dtype", "swapped-axes", "dropped-max",
    "wrong-initial", "broken-build",
}  # fmt: skip


@cache
def mutants_of(original: Original) -> list[Mutant]:
    return mutants(original.source, original.name)


@pytest.mark.slow
def test_the_built_in_kernels_give_enough_distinct_mutants_by_every_operator(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [m for original in FILES for m in mutants_of(original)]
    distinct = {m.source for m in found}
    by_operator, by_backend = Counter(m.operator for m in found), Counter(backend_of(m.source) for m in found)
    with capsys.disabled():
        print(
            f"\n{len(distinct)} distinct mutants of {len(FILES)} kernels; {dict(by_operator)}; {dict(by_backend)}",
            end="",
        )
    assert len(FILES) >= 38 + 81
    assert len(distinct) >= 300
    assert set(by_operator) == WANTED == set(OPERATORS)
    assert min(by_operator.values()) >= 50
    assert min(by_backend.values()) >= 300


@pytest.mark.sample(20)
@pytest.mark.parametrize("original", FILES, ids=lambda original: f"{backend_of(original.source)}-{original.name}")
def test_a_mutant_is_the_original_with_the_one_edit_it_states(original: Original) -> None:
    source = original.source
    found = mutants_of(original)
    assert found, "every kernel has a place for a mistake"
    for mutant in found:
        ast.parse(mutant.source)
        assert mutant.source != source
        assert backend_of(mutant.source) == backend_of(source)
        old, new = source.splitlines(), mutant.source.splitlines()
        changed = [i for i, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b]
        assert changed[0] in range(mutant.line, mutant.line + 1 + mutant.before.count("\n") + 1)
        assert mutant.before in source
        assert mutant.after in mutant.source
        assert mutant.operator in mutant.what
        assert abs(len(old) - len(new)) <= 1
    assert len({m.source for m in found}) == len(found)


def test_an_edit_touches_one_place_only() -> None:
    for backend, source in SOURCES.items():
        for mutant in mutants(source, backend):
            blocks = [
                op
                for op in difflib.SequenceMatcher(None, source, mutant.source, False).get_opcodes()
                if op[0] != "equal"
            ]
            assert blocks[-1][2] - blocks[0][1] <= len(mutant.before) + 2


def test_comments_docstrings_and_conditionals_are_left_alone() -> None:
    c = '"""for (long i = 0; i < n; i++)"""\nSOURCE = r"""\n// if (i < n) x\n/* i < n;\n i < n */\n#if A < n\n#endif\nint a;\n"""\ndef launch(x):\n    # a, b = x.shape\n    pass\n'
    assert mutants(c) == []
    triton = (
        'import triton\n@triton.jit\ndef k(x):\n    """at < n, mask=at"""\n    # at < n\n    pass\ndef launch(x): ...\n'
    )
    assert mutants(triton) == []


@pytest.mark.parametrize(
    ("backend", "operator", "before", "after"),
    [
        ("c", "off-by-one", "i < n", "i < n - 1"),
        ("c", "less-or-equal", "i <", "i <="),
        ("cuda", "dropped-mask", "if (i < n)", "if (1)"),
        ("cuda", "swapped-axes", "threadIdx.x", "threadIdx.y"),
        ("cuda", "off-by-one", "-(-x.size // 16)", "(x.size // 16)"),
        ("triton", "dropped-mask", ", mask=at < n", ""),
        ("triton", "swapped-axes", "program_id(0)", "program_id(1)"),
        ("triton", "off-by-one", "triton.cdiv(x.size, 16)", "max(1, x.size // 16)"),
    ],
)
def test_typical_mistakes_are_among_them(backend: str, operator: str, before: str, after: str) -> None:
    found = {(m.operator, m.before, m.after) for m in mutants(SOURCES[backend])}
    assert (operator, before, after) in found


@pytest.mark.heavy
def test_the_labelled_set_is_seeded_distinct_and_makes_no_guess_at_labels() -> None:
    cheats = [
        Original(e.path.stem, e.path.read_text(errors="replace"), e.task) for e in collect([], []) if e.kind == "cheat"
    ]
    some = FILES[::9]
    made = [list(labelled_set(some, cheats, random.Random(5), 12)) for _ in range(2)]
    assert made[0] == made[1]
    samples = made[0]
    assert len(samples) == len({(s.task, s.source) for s in samples})
    assert len([s for s in samples if s.operator]) >= 100
    assert {s.operator for s in samples} == {"", *OPERATORS}
    assert not {"label", "right", "wrong", "correct"} & set(vars(samples[0]))
    assert samples != list(labelled_set(some, cheats, random.Random(6), 12))


def test_a_pick_is_spread_over_the_operators() -> None:
    found = mutants((FOLDER / "cuda" / "softmax_block_row.py").read_text())
    chosen = pick(found, 9, random.Random(1))
    assert len(chosen) == 9
    assert len({m.operator for m in chosen}) >= 8
    assert pick(found, 10**6, random.Random(1)) == found
    assert pick([], 3, random.Random(1)) == []


@given(
    st.text()
    | st.sampled_from(sorted(SOURCES.values())).flatmap(
        lambda s: st.integers(0, len(s)).map(lambda k: s[:k] + "\r\x0c\né'" + s[k:])
    )
)
@settings(max_examples=200, deadline=None)
def test_no_text_makes_it_raise(text: str) -> None:
    assert all(m.source != text for m in mutants(text))


def test_line_ends_of_other_systems_are_no_obstacle() -> None:
    source = SOURCES["c"]
    assert [m.what for m in mutants(source.replace("\n", "\r\n"))] == [m.what for m in mutants(source)]
