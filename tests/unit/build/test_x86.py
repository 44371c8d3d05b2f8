"""Lengths of x86-64 instructions, against what assemblers make of these texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernellab.build.x86 import instructions


@pytest.mark.parametrize(
    ("code", "sizes"),
    [
        ("f30f1efa 55 4889e5 0f31 c3", [4, 1, 3, 2, 1]),  # endbr64; push; mov; rdtsc; ret
        ("48b80f31000000000000 b80f310000 66b80f31", [10, 5, 4]),  # constants that look like rdtsc
        ("c5f877 c5fc58050f310000 c4e275b8c2 62f17c4858442401", [3, 8, 5, 8]),  # VEX and EVEX
        ("c4e37d19c101 c5fd70c00e 660f3a0bc104 0f38c8c1", [6, 5, 6, 4]),  # with a constant, and 0f 38
        ("66662e0f1f840000000000 e80f310000 0f840f050000", [11, 5, 6]),  # padding, call, jump
        ("4881ec0f310000 f7c10f310000 f7d8 41f6c001", [7, 6, 2, 4]),
        ("0f01f9 0fc7f0 0fa2 cd80 6448 8b042528000000", [3, 3, 2, 2, 9]),
        ("8b048d0f310000 488d3d0f310000 62f1fd486f042500100000", [7, 7, 11]),
    ],
)
def test_every_instruction_has_its_length(code: str, sizes: list[int]) -> None:
    found = list(instructions(bytes.fromhex(code)))
    assert [i.size for i in found] == sizes
    assert [i.at for i in found] == [sum(sizes[:n]) for n in range(len(sizes))]


RECORDED = Path(__file__).parents[2] / "data" / "x86_lengths.txt"


def recorded() -> Iterator[tuple[bytes, str, str]]:
    """What comes before an opcode, what comes after it, and the lengths of all 256."""
    for line in RECORDED.read_text().splitlines():
        if not line.startswith("#"):
            prefix, before, after, lengths = line.split()
            yield bytes.fromhex(f"{prefix}{before}".replace("-", "")), after, lengths


def test_every_opcode_has_the_length_that_llvm_gives_it() -> None:
    wrong = []
    for before, after, lengths in recorded():
        for opcode, length in enumerate(lengths):
            if length != ".":
                code = before + bytes([opcode]) + bytes.fromhex(after) + bytes(15)
                if (found := next(instructions(code)).size) != int(length, 16):
                    wrong.append((code.hex(" "), found, length))
    assert wrong == []


NOT_IN_64_BIT = "06 07 0e 16 17 1e 1f 27 2f 37 3f 60 61 82 9a ce d4 d5 d6 ea"


@pytest.mark.parametrize("opcode", NOT_IN_64_BIT.split())
def test_opcodes_of_older_processors_are_refused(opcode: str) -> None:
    with pytest.raises(ValueError, match=f"there is no opcode {opcode} in 64-bit code"):
        next(instructions(bytes.fromhex(opcode) + bytes(15)))


def test_opcode_space_and_operands_are_told() -> None:
    clock, identity, jump = instructions(bytes.fromhex("0f01f9 0fc7f0 eb00"))
    assert (clock.space, clock.opcode, clock.modrm) == (1, 0x01, 0xF9)
    assert (identity.space, identity.opcode, identity.modrm >> 3 & 7) == (1, 0xC7, 6)
    assert (jump.space, jump.opcode, jump.modrm) == (0, 0xEB, -1)


@pytest.mark.parametrize("code", ["06", "62ff00", "c4ff0000c0"])
def test_what_is_no_instruction_is_an_error(code: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        list(instructions(bytes.fromhex(code)))


def test_an_instruction_that_is_cut_off_is_an_error() -> None:
    with pytest.raises(IndexError):
        list(instructions(bytes.fromhex("e80f31")))
