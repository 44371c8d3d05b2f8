from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.search.memory.likeness import changed, code_distance, distance, param_distance
from kernellab.search.memory.specimen import recall

from .specimens import CUDA, ROWS, ROWS_CHILD, measured, read

PARAMS = st.dictionaries(
    st.sampled_from("ABCD"), st.one_of(st.integers(-4, 64), st.booleans(), st.sampled_from(["x", "y"]), st.floats(0, 9))
)
TEXTS = st.text(alphabet="abc +=;\n", max_size=60)


@given(PARAMS, PARAMS)
def test_parameters_are_symmetric_in_0_to_1_and_0_for_the_same(a: dict[str, int], b: dict[str, int]) -> None:
    assert 0 <= param_distance(a, b) == param_distance(b, a) <= 1
    assert param_distance(a, a) == 0


@given(TEXTS, TEXTS)
def test_code_is_symmetric_in_0_to_1(a: str, b: str) -> None:
    assert 0 <= code_distance(a, b) <= 1
    assert code_distance(a, b) == pytest.approx(code_distance(b, a))


def test_a_small_edit_is_near_and_another_language_far() -> None:
    assert code_distance(ROWS, ROWS) == 0
    assert 0 < code_distance(ROWS, ROWS_CHILD) < 0.2
    assert code_distance(ROWS, CUDA) > 0.5


def test_comments_make_no_distance() -> None:
    assert code_distance(ROWS, ROWS.replace("/* __shared__ */", "/* other words */")) == 0


def test_numbers_are_compared_by_their_ratio() -> None:
    assert param_distance({"A": 64}, {"A": 128}) == pytest.approx(1 / 3)
    assert param_distance({"A": 1}, {"A": 1024}) == 1
    assert param_distance({"A": 0}, {"A": 1}) == 1
    assert param_distance({"A": True}, {"A": False}) == 1
    assert param_distance({"A": 1, "B": 1}, {"A": 1}) == 0.5


def test_changed_names_what_differs() -> None:
    assert changed({"A": 1, "B": "x"}, {"A": 2, "B": "x", "C": 3}) == {"A": (1, 2), "C": (None, 3)}


def test_the_same_source_differs_by_its_parameters_only() -> None:
    a, b = recall([measured(0, 1.0), measured(1, 1.0, params={"ROWS": 2, "UNROLL": 1})], read)
    assert distance(a, b) == pytest.approx(1 / 6)
    assert distance(a, a) == 0
