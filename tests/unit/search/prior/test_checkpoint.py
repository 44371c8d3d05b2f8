"""A prior's file comes back as it was written; what is not one is refused in words."""

from __future__ import annotations

import io
import json
import zipfile
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


def packed(data: bytes, how: int = zipfile.ZIP_DEFLATED, **members: Any) -> bytes:
    """The same file with some of its members as they are given: arrays, or the bytes of a member."""
    with np.load(io.BytesIO(data)) as arrays:
        held: dict[str, Any] = {name: arrays[name] for name in arrays.files} | members
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, value in held.items():
            content = io.BytesIO()
            if not isinstance(value, bytes):
                np.lib.format.write_array(content, np.asarray(value))
            archive.writestr(f"{name}.npy", value if isinstance(value, bytes) else content.getvalue())
    return file.getvalue()


def longer_than_it_is() -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 16)})
    return content.getvalue()


HOSTILE: dict[str, dict[str, Any]] = {
    "a bomb": {"slowdown_leaves": np.zeros((1 << 14, 1 << 10), np.float32)},
    "longer than it is": {"slowdown_leaves": longer_than_it_is()},
    "pickled": {"slowdown_start": np.array({}, object).dumps()},
    "trees without end": {
        "slowdown_features": np.zeros((1 << 16, 0), np.int16),
        "slowdown_thresholds": np.zeros((1 << 16, 0), np.float32),
        "slowdown_leaves": np.zeros((1 << 16, 1), np.float32),
    },
    "a feature before the first": {"slowdown_features": np.full((1, 1), -999, np.int16)},
    "one that is too large for its type": {"slowdown_features": np.full((1, 1), 1 << 16, np.int64)},
    "leaves without a value": {"chance_start": np.array(np.nan)},
    "leaves beyond all measure": {"chance_start": np.array(1e300)},
    "text for numbers": {"slowdown_thresholds": np.array([["0.5"]])},
    "flat trees": {"slowdown_features": np.zeros(3, np.int16)},
    "a header without end": {"header": np.array("[" * 100_000)},
    "a header of another form": {"header": np.array("[1, 2]")},
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_what_nobody_trained_is_refused_before_it_costs_anything(made: Checkpoint, members: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"p\.npz is no prior"):
        read_checkpoint(packed(made.data(), **members), "p.npz")


@pytest.mark.parametrize(
    "header",
    [{"spread": float("nan")}, {"spread": 10**400}, {"spread": -1}, {"facts": {"devices": [1]}}, {"facts": 3}],
    ids=str,
)
def test_a_header_that_nobody_wrote_is_refused(made: Checkpoint, header: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"p\.npz is no prior"):
        read_checkpoint(changed(made.data(), **header), "p.npz")


def test_damaged_and_oddly_packed_files_are_refused(made: Checkpoint) -> None:
    data = bytearray(packed(made.data()))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entry = archive.getinfo("slowdown_leaves.npy")
    middle = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
    data[middle : middle + 8] = bytes(8)
    for given in (bytes(data), packed(made.data(), zipfile.ZIP_BZIP2)):
        with pytest.raises(UsageError, match=r"p\.npz is no prior"):
            read_checkpoint(given, "p.npz")


def test_words_of_a_foreign_file_move_no_cursor(made: Checkpoint) -> None:
    with pytest.raises(UsageError) as refused:
        read_checkpoint(changed(made.data(), version="\x1b[2Jpassed"), "p.npz")
    assert refused.value.what.isprintable()


def test_a_device_is_no_prior() -> None:
    with pytest.raises(UsageError, match="not a plain file"):
        prior_file("/dev/zero", "cpu")


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
