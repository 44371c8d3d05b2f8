"""A prior's file comes back as it was written; what is not one is refused in words."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.planted import QUICK, eight_warps, planted

from kernellab.core.errors import UsageError
from kernellab.learn.prior.train import table_of, train
from kernellab.search.prior.checkpoint import MOST_BYTES, Checkpoint, read_checkpoint
from kernellab.search.prior.shipped import prior_file, shipped


@pytest.fixture(scope="module")
def made() -> Checkpoint:
    return train([planted("rows", eight_warps), planted("columns", eight_warps)], QUICK)


def changed(data: bytes, **header: Any) -> bytes:
    with np.load(io.BytesIO(data)) as arrays:
        held = {name: arrays[name] for name in arrays.files}
    held["header"] = np.array(json.dumps({**json.loads(str(held["header"])), **header}))
    file = io.BytesIO()
    np.savez(file, **held)
    return file.getvalue()


def test_it_comes_back_as_it_was(made: Checkpoint) -> None:
    back = read_checkpoint(made.data(), "prior")
    table = table_of(planted("swish", eight_warps))
    assert np.array_equal(back.slowdown(table), made.slowdown(table))
    assert np.array_equal(back.chance(table), made.chance(table))
    assert (back.spread, back.kind, back.facts["tasks"]) == (made.spread, "cuda", 2)
    assert back.data() == made.data()
    assert len(made.data()) < MOST_BYTES


def test_features_of_another_version_are_refused(made: Checkpoint) -> None:
    with pytest.raises(UsageError, match="features of version 99, and this laboratory has version") as refused:
        read_checkpoint(changed(made.data(), version=99), "old.npz")
    assert "klab learn prior" in (refused.value.fix or "")
    with pytest.raises(UsageError, match="features of version"):
        read_checkpoint(changed(made.data(), names=["one"]), "old.npz")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 and nothing", b"x" * 1000])
def test_what_is_no_prior_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"p\.npz is no prior"):
        read_checkpoint(data, "p.npz")


def test_a_file_without_its_trees_is_refused(made: Checkpoint) -> None:
    file = io.BytesIO()
    with np.load(io.BytesIO(made.data())) as arrays:
        np.savez(file, header=arrays["header"])
    with pytest.raises(UsageError, match="is no prior"):
        read_checkpoint(file.getvalue(), "p.npz")


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(UsageError, match="at most 5"):
        read_checkpoint(bytes(MOST_BYTES + 1), "p.npz")


def test_another_kind_of_device_and_a_missing_file_are_refused(made: Checkpoint, tmp_path: Path) -> None:
    file = tmp_path / "prior.npz"
    file.write_bytes(made.data())
    assert prior_file(str(file), "cuda") == made.data()
    with pytest.raises(UsageError, match="trained on runs of 'cuda', and this run is on 'cpu'"):
        prior_file(str(file), "cpu")
    with pytest.raises(UsageError, match="cannot be read"):
        prior_file(str(tmp_path / "none.npz"), "cuda")
    with pytest.raises(UsageError, match="no prior is shipped for 'cpu'"):
        prior_file("", "cpu")


def test_what_is_shipped_can_be_read() -> None:
    if (path := shipped("cuda")) is not None:
        assert read_checkpoint(path.read_bytes(), path.name).kind == "cuda"
