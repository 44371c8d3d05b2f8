"""RFC 6962 against its published vectors and against its own recursive definition."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernellab.ledger.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    root_of,
    verify_consistency,
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


def naive_subproof(size: int, data: list[bytes], whole: bool) -> list[bytes]:
    """SUBPROOF of RFC 6962, section 2.1.2."""
    if size == len(data):
        return [] if whole else [naive_root(data)]
    k = 1
    while k * 2 < len(data):
        k *= 2
    if size <= k:
        return [*naive_subproof(size, data[:k], whole), naive_root(data[k:])]
    return [*naive_subproof(size - k, data[k:], False), naive_root(data[:k])]


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


@given(trees, st.data())
def test_consistency_proofs_are_those_of_the_definition_and_verify(data: list[bytes], draw: st.DataObject) -> None:
    old = draw.draw(st.integers(1, len(data)))
    proof = consistency_proof(hashes(data), old)
    assert proof == naive_subproof(old, data, True)
    assert verify_consistency(old, len(data), naive_root(data[:old]), naive_root(data), proof)


@given(trees, st.data())
def test_a_changed_history_fails_its_consistency_proof(data: list[bytes], draw: st.DataObject) -> None:
    assume(len(data) > 1)
    old = draw.draw(st.integers(1, len(data) - 1))
    proof = consistency_proof(hashes(data), old)
    before, after = naive_root(data[:old]), naive_root(data)
    assert not verify_consistency(old, len(data), flip(before), after, proof)
    assert not verify_consistency(old, len(data), before, flip(after), proof)
    assert not verify_consistency(old, len(data), before, after, [*proof, before])
    assert not verify_consistency(old, len(data), before, after, proof[:-1])
    at = draw.draw(st.integers(0, len(proof) - 1))
    changed = [*proof[:at], flip(proof[at]), *proof[at + 1 :]]
    assert not verify_consistency(old, len(data), before, after, changed)


def test_every_tree_extends_the_empty_one_and_itself() -> None:
    root = root_of(hashes(LEAVES))
    assert consistency_proof(hashes(LEAVES), 0) == consistency_proof(hashes(LEAVES), 8) == []
    assert verify_consistency(0, 8, EMPTY_ROOT, root, [])
    assert verify_consistency(8, 8, root, root, [])
    assert not verify_consistency(0, 8, root, root, [])
    assert not verify_consistency(8, 8, root, EMPTY_ROOT, [])
    assert not verify_consistency(9, 8, root, root, [])
    assert not verify_consistency(3, 8, root, root, [])


def test_proofs_about_what_is_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="no leaf 8"):
        inclusion_proof(hashes(LEAVES), 8)
    with pytest.raises(ValueError, match="no tree of 9"):
        consistency_proof(hashes(LEAVES), 9)


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


def test_every_small_tree_is_proven_to_be_the_beginning_of_every_larger_one() -> None:
    leaves = [leaf_hash(bytes([n])) for n in range(24)]
    roots = [root_of(leaves[:size]) for size in range(25)]
    for new in range(25):
        for old in range(new + 1):
            proof = consistency_proof(leaves[:new], old)
            assert verify_consistency(old, new, roots[old], roots[new], proof), (old, new)
            other = roots[old - 1] if old else roots[1]
            assert not verify_consistency(old, new, other, roots[new], proof), (old, new)
            if proof:
                assert not verify_consistency(old, new, roots[old], roots[new], proof[:-1]), (old, new)
