"""RFC 6962 against its published vectors and against its own recursive definition."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.ledger.merkle import (
    EMPTY_ROOT,
    Frontier,
    inclusion_proof,
    leaf_hash,
    root_of,
    verify_inclusion,
)

LEAVES = [b"", b"\x00", b"\x10", b"\x20\x21", b"01", b"@ABC", b"PQRSTUVW", b"`abcdefghijklmno"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def naive_root(data: list[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1, word for word."""
    if not data:
        return hashlib.sha256(b"").digest()
    if len(data) == 1:
        return hashlib.sha256(b"\x00" + data[0]).digest()
    k = 1
    while k * 2 < len(data):
        k *= 2
    return hashlib.sha256(b"\x01" + naive_root(data[:k]) + naive_root(data[k:])).digest()


def naive_path(index: int, data: list[bytes]) -> list[bytes]:
    """PATH of RFC 6962, section 2.1.1."""
    if len(data) == 1:
        return []
    k = 1
    while k * 2 < len(data):
        k *= 2
    if index < k:
        return [*naive_path(index, data[:k]), naive_root(data[k:])]
    return [*naive_path(index - k, data[k:]), naive_root(data[:k])]


def hashes(data: list[bytes]) -> list[bytes]:
    return [leaf_hash(item) for item in data]


def flip(node: bytes) -> bytes:
    return bytes([node[0] ^ 1]) + node[1:]


trees = st.lists(st.binary(max_size=4), min_size=1, max_size=70)


def test_the_empty_tree_hashes_to_sha256_of_nothing() -> None:
    assert EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert root_of([]) == Frontier().root() == EMPTY_ROOT


@pytest.mark.parametrize("size", range(1, 9))
def test_the_certificate_transparency_vectors(size: int) -> None:
    assert root_of(hashes(LEAVES[:size])).hex() == ROOTS[size - 1]


@given(st.lists(st.binary(max_size=4), max_size=70))
def test_every_frontier_has_the_root_of_the_definition(data: list[bytes]) -> None:
    frontier = Frontier()
    for size, item in enumerate(data, 1):
        frontier = frontier.append(leaf_hash(item))
        assert frontier.root() == naive_root(data[:size])
        assert len(frontier.peaks) == size.bit_count()


@given(trees, st.data())
def test_inclusion_proofs_are_those_of_the_definition_and_verify(data: list[bytes], draw: st.DataObject) -> None:
    index = draw.draw(st.integers(0, len(data) - 1))
    path = inclusion_proof(hashes(data), index)
    assert path == naive_path(index, data)
    assert verify_inclusion(leaf_hash(data[index]), index, len(data), path, naive_root(data))


@given(trees, st.data())
def test_a_changed_inclusion_proof_fails(data: list[bytes], draw: st.DataObject) -> None:
    index = draw.draw(st.integers(0, len(data) - 1))
    leaf, size, root = leaf_hash(data[index]), len(data), naive_root(data)
    path = inclusion_proof(hashes(data), index)
    assert not verify_inclusion(flip(leaf), index, size, path, root)
    assert not verify_inclusion(leaf, index, size, path, flip(root))
    assert not verify_inclusion(leaf, index, size, [*path, leaf], root)
    assert not verify_inclusion(leaf, size, size, path, root)
    if path:
        at = draw.draw(st.integers(0, len(path) - 1))
        assert not verify_inclusion(leaf, index, size, [*path[:at], flip(path[at]), *path[at + 1 :]], root)
        assert not verify_inclusion(leaf, index, size, path[:-1], root)
        assert not verify_inclusion(leaf, index, size, path[1:], root)


def test_proofs_about_what_is_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="no leaf 8"):
        inclusion_proof(hashes(LEAVES), 8)


def test_every_leaf_of_every_small_tree_is_proven_at_its_own_place_only() -> None:
    leaves = [leaf_hash(bytes([n])) for n in range(40)]
    for size in range(1, 41):
        root = root_of(leaves[:size])
        for index in range(size):
            path = inclusion_proof(leaves[:size], index)
            assert verify_inclusion(leaves[index], index, size, path, root), (size, index)
            assert not verify_inclusion(leaves[index], index + 1, size, path, root), (size, index)
            if path:
                assert not verify_inclusion(leaves[index], index, size, path[:-1], root), (size, index)
            assert not verify_inclusion(leaves[index], index, size, [*path, root], root), (size, index)
