"""A checkpoint is the policy again; of another space, or damaged, it is refused in words."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.learn.policy.situations import SPACES, situation

from kernellab.core.errors import UsageError
from kernellab.learn.policy.checkpoint import MOST_BYTES, policy_data, read_file, read_policy
from kernellab.learn.policy.recipe_policy import RecipePolicy

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def policy() -> RecipePolicy:
    return RecipePolicy.new(SPACES, ["softmax"], torch.Generator().manual_seed(5))


@pytest.fixture(scope="module")
def data(policy: RecipePolicy) -> bytes:
    return policy_data(policy, {"steps": 3})


def test_it_is_the_same_policy_again(policy: RecipePolicy, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "policy.npz").write_bytes(data)
    again, facts = read_policy(read_file(tmp_path / "policy.npz"), "it", SPACES)
    assert facts == {"steps": 3}
    assert again.chances(situation()) == policy.chances(situation())
    assert policy_data(again, facts) == data
    assert all(weight.requires_grad for weight in again.weights.values())


def test_a_renamed_recipe_is_refused(data: bytes) -> None:
    spaces = {("broad" if name == "wide" else name): space for name, space in SPACES.items()}
    with pytest.raises(UsageError, match=r"old\.npz was made for another space: the recipe wide is not here"):
        read_policy(data, "old.npz", spaces)


def test_a_removed_choice_is_refused(data: bytes) -> None:
    spaces = copy.deepcopy(SPACES)
    spaces["wide"]["V"].remove("a")
    with pytest.raises(UsageError, match="another space: wide has no choice V=a here"):
        read_policy(data, "it", spaces)


def _with(data: bytes, header: dict[str, Any] | None = None, **arrays: Any) -> bytes:
    with np.load(io.BytesIO(data)) as held:
        found = {name: held[name] for name in held.files}
    found["header"] = np.array(json.dumps({**json.loads(str(found["header"])), **(header or {})}))
    file = io.BytesIO()
    np.savez(file, **{name: value for name, value in {**found, **arrays}.items() if value is not None})
    return file.getvalue()


def test_what_is_damaged_is_refused(data: bytes) -> None:
    damaged = {
        "is no policy": b"PK no zip",
        "is no policy:": data[:-300],
        "version 9": _with(data, {"version": 9}),
        "by their digest": _with(data, {"space": "0" * 64}),
        "'word' are damaged": _with(data, **{"weight word": np.full((3, 64), 1.0, np.float32)}),
        "weight place": _with(data, **{"weight place": None}),
        "does not have": _with(data, **{"weight more": np.zeros(3, np.float32)}),
        "is not read": _with(data, {"size": {"width": 65, "layers": 2, "heads": 4}}),
        "MiB": bytes(MOST_BYTES + 1),
    }
    for words, broken in damaged.items():
        with pytest.raises(UsageError, match=words):
            read_policy(broken, "it", SPACES)


def test_weights_that_are_no_numbers_are_refused(data: bytes, policy: RecipePolicy) -> None:
    bad = policy.weights["word"].detach().numpy().copy()
    bad[0, 0] = np.nan
    with pytest.raises(UsageError, match="'word' are damaged"):
        read_policy(_with(data, **{"weight word": bad}), "it", SPACES)


def test_objects_are_not_unpickled(data: bytes) -> None:
    with pytest.raises(UsageError, match="is no policy"):
        read_policy(_with(data, **{"weight word": np.array([{"a": 1}], dtype=object)}), "it", SPACES)


def test_a_file_that_grows_when_it_is_unpacked_is_refused(data: bytes) -> None:
    file = io.BytesIO()
    with np.load(io.BytesIO(data)) as held:
        np.savez_compressed(file, **{name: held[name] for name in held.files}, more=np.zeros(MOST_BYTES, np.float32))
    assert len(file.getvalue()) < MOST_BYTES
    with pytest.raises(UsageError, match="when it is unpacked"):
        read_policy(file.getvalue(), "it", SPACES)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_file(tmp_path / "none.npz")
