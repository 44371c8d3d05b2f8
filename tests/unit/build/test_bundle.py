from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.build.bundle import Bundle, pack, unpack

BUNDLE = Bundle((b"first module", b"", b"third"), {"k": (0, "_Z1kPf"), "k<float, 8>": (2, "_Z1kIfLi8EEvPT_")})


def written(header: Any, body: bytes = b"abc", magic: bytes = b"KLABGPU1") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return magic + struct.pack("<I", len(text)) + text + body


def test_a_bundle_is_read_as_it_was_written() -> None:
    assert unpack(pack(BUNDLE)) == BUNDLE


def test_the_order_of_kernels_does_not_change_the_bytes() -> None:
    turned = Bundle(BUNDLE.modules, dict(reversed(BUNDLE.kernels.items())))
    assert pack(turned) == pack(BUNDLE)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5), st.data())
def test_every_bundle_survives(modules: list[bytes], data: st.DataObject) -> None:
    place = st.tuples(st.integers(0, len(modules) - 1), st.text("_Zabk0123", max_size=9))
    kernels = data.draw(st.dictionaries(st.text("abk<>, 0123", max_size=9), place, max_size=5))
    bundle = Bundle(tuple(modules), kernels)
    assert unpack(pack(bundle)) == bundle


@pytest.mark.parametrize(
    "data",
    [
        b"", b"KLABGPU1", b"KLABGPU1\xff\xff\xff\xff", b"\x7fELF" * 9, written({}), written([]), written(b"{"), written(b"\xff"),
        written({"modules": [3], "kernels": {}}, magic=b"KLABGPU2"), written({"modules": [4], "kernels": {}}),
        written({"modules": [2], "kernels": {}}), written({"modules": [-1, 4], "kernels": {}}),
        written({"modules": [3], "kernels": {"k": [1, "k"]}}), written({"modules": [3], "kernels": {"k": [-1, "k"]}}),
        written({"modules": [3], "kernels": {"k": 0}}), written({"modules": [3], "kernels": {"k": []}}),
        written({"modules": [3], "kernels": []}), written({"modules": "3", "kernels": 5}),
        written({"modules": [None], "kernels": {}}), written({"modules": [1] * 300, "kernels": {}}, b"a" * 300),
        pack(BUNDLE)[:-1], pack(BUNDLE) + b"x", b"x" + pack(BUNDLE), written(b"[" * 100_000),
        written(b'{"modules": [1e999], "kernels": {}}'), written(b'{"modules": [3], "kernels": {"k": [0, "\\ud800"]}}'),
        written(b'{"modules": [3], "kernels": {"\\ud800": [0, "k"]}}'), written(b'{"modules": [NaN], "kernels": {}}'),
    ],
)  # fmt: skip
def test_anything_else_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a bundle of GPU modules"):
        unpack(data)


@given(st.binary(max_size=60), st.integers(0, 200))
def test_spoilt_bytes_are_a_value_error_or_another_bundle(noise: bytes, at: int) -> None:
    data = pack(BUNDLE)
    try:
        unpack(data[:at] + noise + data[at + len(noise) :])
    except ValueError:
        return
