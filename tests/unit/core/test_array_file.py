"""Arrays from anybody: what is given back is what is there, and no more is unpacked than may be."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest

from kernellab.core.array_file import FOREIGN, unpacked

MOST = 1 << 16


def packed(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def zipped(content: bytes, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        archive.writestr("a.npy", content)
    return file.getvalue()


def written(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_all_arrays_or_those_that_are_named() -> None:
    data = packed(**{"a b": np.arange(6).reshape(2, 3), "word": np.array("text")})
    assert {name: value.tolist() for name, value in unpacked(data, MOST).items()} == {"a b": [[0, 1, 2], [3, 4, 5]], "word": "text"}  # fmt: skip
    assert list(unpacked(data, MOST, ("word",))) == ["word"]


@pytest.mark.parametrize(("data", "words"), [
    (packed(a=np.zeros(MOST)), "when it is unpacked"), (packed(a=np.zeros(MOST // 16), b=np.zeros(MOST // 12)), "when it is unpacked"),
    (zipped(written(np.zeros(8))[:-8]), "as long as it says"), (zipped(written(np.zeros(8)) + b"more"), "as long as it says"),
    (zipped(written(np.zeros(8)), zipfile.ZIP_BZIP2), "way of packing"), (b"PK no zip", "not a zip file"),
    (packed(a=np.array([{"b": 1}], dtype=object)), "as long as it says"),
    (zipped(written(np.zeros(10**9, "V0"))), "array of nothing"),
], ids=["too much", "too much together", "too short", "too long", "otherwise packed", "no file", "objects",
        "a milliard of nothing"])  # fmt: skip
def test_what_is_not_as_it_should_be_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(FOREIGN, match=words):
        unpacked(data, MOST)


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(FOREIGN, match="other"):
        unpacked(packed(a=np.zeros(3)), MOST, ("other",))
