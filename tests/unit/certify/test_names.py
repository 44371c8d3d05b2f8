"""Which names of a user's are changed in exported code."""

from __future__ import annotations

import pytest

from kernellab.certify.names import fresh, fresh_function, plain_name, taken_locally


def test_only_what_is_taken_is_changed() -> None:
    assert fresh("x", {"y"}) == "x"
    assert fresh("x", {"x", "x_"}) == "x__"
    assert fresh("class", ()) == "class_"


def test_what_is_taken_is_read_from_the_templates() -> None:
    assert {"zip", "out", "np", "torch", "dims", "axes", "call", "_understand"} <= taken_locally()
    assert not {"x", "y", "a", "t", "weight"} & taken_locally()  # variables of comprehensions reach nobody


@pytest.mark.parametrize("name", ["aligned", "choose", "empty", "ctypes", "Variant", "len", "lambda", "reference"])
def test_a_function_hides_nothing_of_its_module(name: str) -> None:
    assert fresh_function(name) == f"task_{name}"


def test_names_that_differ_stay_different_in_plain_signs() -> None:
    assert plain_name("my op-2") == "my_op_2"
    assert plain_name("é") == "ue9"
    assert len({plain_name(n) for n in ("é", "è", "名", "前", "ue", "_")}) == 6
    assert all(plain_name(n).isascii() and plain_name(n).isidentifier() for n in ("é", "名前", "softmax"))
