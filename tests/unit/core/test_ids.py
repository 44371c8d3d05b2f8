from __future__ import annotations

import hashlib
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernellab.core.ids import canonical_json, digest, sha256_hex

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_canonical_json_sorts_keys_and_has_no_spaces() -> None:
    assert (
        canonical_json({"b": [1, 2.5, None], "a": {"z": True, "y": "é"}})
        == '{"a":{"y":"é","z":true},"b":[1,2.5,null]}'.encode()
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {"deep": [0, {"x": math.nan}]}])
def test_non_finite_numbers_are_refused(value: object) -> None:
    with pytest.raises(ValueError):
        canonical_json(value)


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_canonical_json_reads_back_as_the_same_value_and_is_a_fixed_point(value: object) -> None:
    data = canonical_json(value)
    assert json.loads(data) == value
    assert canonical_json(json.loads(data)) == data


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_change_the_digest(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))
    assert digest(value) == digest(backwards)


def test_digest_is_sha256_of_the_canonical_json() -> None:
    assert digest([1, "a"]) == hashlib.sha256(b'[1,"a"]').hexdigest()
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_different_values_have_different_digests() -> None:
    values = [1, 1.0, "1", True, None, [1], {"1": 1}, {}, []]
    assert len({digest(v) for v in values}) == len(values)
