from __future__ import annotations

import pytest

from kernellab.core.errors import UsageError
from kernellab.tasks.modules.example_inputs import inputs_of, with_inputs


def test_a_function_carries_its_inputs_and_is_the_same_function() -> None:
    def double(x: float) -> float:
        return 2 * x

    marked = with_inputs([1.5])(double)
    assert marked is double
    assert inputs_of(marked) == (1.5,)
    assert inputs_of(abs) is None


def test_a_class_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="Net is a class") as refused:
        with_inputs([1.5])(type("Net", (), {}))
    assert "an object of the class" in refused.value.fix
