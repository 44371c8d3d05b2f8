from __future__ import annotations

from typing import Any

import pytest

from kernellab.build import exchange
from kernellab.build.base import NotBuilt
from kernellab.build.c import CBuilder
from kernellab.build.words import WORDS_OF_C
from kernellab.tasks.spec import Task


@pytest.mark.parametrize(
    "word",
    ["int", "for", "if", "NULL", "main", "restrict", "defined", "_Bool", "class", "threadIdx", "float", "return"],
)
def test_a_parameter_that_is_a_word_of_c_is_refused_in_words(word: str) -> None:
    assert word in WORDS_OF_C
    assert exchange.reserved({"A": 1, word: 2}).startswith(f"parameter name '{word}' is a word of C or CUDA C++")


@pytest.mark.parametrize("name", ["ROWS", "BLOCK", "UNROLL", "N", "int_", "Int", "EXP", "threads", "num_warps", "STEP"])
def test_a_usual_name_is_no_word_of_c(name: str) -> None:
    assert exchange.reserved({name: 1}) == ""


@pytest.mark.backend_c
def test_a_build_with_such_a_parameter_is_a_record(builder: CBuilder, double_task: Task, make_candidate: Any) -> None:
    refused = builder.build(double_task, make_candidate(), {"for": 3}, [{"N": 4}])
    assert isinstance(refused, NotBuilt)
    assert (refused.status, "is a word of C" in refused.reason) == ("build-failed", True)
