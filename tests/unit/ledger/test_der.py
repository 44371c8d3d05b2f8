from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.ledger import der


@given(st.binary(max_size=70_000).filter(lambda b: len(b) < 300 or len(b) > 65_000))
def test_a_value_of_any_length_is_read_as_it_was_written(held: bytes) -> None:
    node = der.read(der.value(der.OCTETS, held))
    assert (node.tag, node.held) == (der.OCTETS, held)


@pytest.mark.parametrize(("size", "head"), [
    (0, "0400"), (127, "047f"), (128, "048180"), (255, "0481ff"), (256, "04820100"), (65_535, "0482ffff"), (65_536, "0483010000"),
])  # fmt: skip
def test_lengths_are_written_in_their_shortest_form(size: int, head: str) -> None:
    held = bytes(size)
    assert der.value(der.OCTETS, held) == bytes.fromhex(head) + held
    assert der.read(der.value(der.OCTETS, held)).held == held


def test_object_identifiers_are_read_in_dots() -> None:
    assert der.read(bytes.fromhex("0609608648016503040201")).text() == "2.16.840.1.101.3.4.2.1"
    assert der.read(bytes.fromhex("06092a864886f70d010702")).text() == "1.2.840.113549.1.7.2"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "cut short"),
        (b"\x04\x05abc", "cut short"),
        (b"\x04\x80abc\x00\x00", "indefinite"),
        (b"\x04\x81\x03abc", "shortest form"),
        (b"\x04\x82\x00\x81" + b"a" * 129, "shortest form"),
        (b"\x1f\x81\x01\x01a", "long tag"),
        (b"\x04\x01a\x00", "1 bytes follow"),
    ],
)
def test_what_is_not_der_to_the_letter_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        der.read(data)


def test_another_sort_of_value_than_expected_is_refused() -> None:
    with pytest.raises(ValueError, match="0x04 where 0x30 belongs"):
        der.read(der.value(der.OCTETS, b"a")).inner(der.SEQUENCE)
