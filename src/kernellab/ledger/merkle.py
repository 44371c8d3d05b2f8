"""The Merkle tree of RFC 6962 as pure functions over leaf hashes.

Leaves and nodes are hashed under different prefixes, so that a node can never be passed off as a leaf. A
frontier holds the O(log n) roots of the perfect subtrees to the left, which is all that appending needs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """A tree reduced to its peaks, largest subtree first. Frozen: a failed append just keeps the old one."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> Frontier:
        kept, node, bits = len(self.peaks), leaf, self.size
        while bits & 1:
            kept -= 1
            node = node_hash(self.peaks[kept], node)
            bits >>= 1
        return Frontier(self.size + 1, (*self.peaks[:kept], node))

    def root(self) -> bytes:
        if not self.peaks:
            return EMPTY_ROOT
        root = self.peaks[-1]
        for peak in self.peaks[-2::-1]:
            root = node_hash(peak, root)
        return root


def root_of(leaves: Iterable[bytes]) -> bytes:
    frontier = Frontier()
    for leaf in leaves:
        frontier = frontier.append(leaf)
    return frontier.root()


def _split(size: int) -> int:
    """The largest power of two below `size` (RFC 6962's k)."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The audit path of one leaf, from the leaf up to the root."""
    if not 0 <= index < len(leaves):
        raise ValueError(f"no leaf {index} in a tree of {len(leaves)}")
    path: list[bytes] = []
    while len(leaves) > 1:
        k = _split(len(leaves))
        if index < k:
            path.append(root_of(leaves[k:]))
            leaves = leaves[:k]
        else:
            path.append(root_of(leaves[:k]))
            leaves, index = leaves[k:], index - k
    return path[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether `path` proves that `leaf` stands at `index` under the root of a tree of `size` leaves."""
    if not 0 <= index < size:
        return False
    node, at, last = leaf, index, size - 1
    for sibling in path:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = node_hash(sibling, node)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and node == root


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> list[bytes]:
    """The nodes which show that the first `old_size` leaves are an unchanged prefix of the tree."""
    if not 0 <= old_size <= len(leaves):
        raise ValueError(f"no tree of {old_size} inside a tree of {len(leaves)}")
    if old_size in (0, len(leaves)):
        return []
    proof: list[bytes] = []
    whole_old_tree = True
    while old_size < len(leaves):
        k = _split(len(leaves))
        if old_size <= k:
            proof.append(root_of(leaves[k:]))
            leaves = leaves[:k]
        else:
            proof.append(root_of(leaves[:k]))
            leaves, old_size, whole_old_tree = leaves[k:], old_size - k, False
    if not whole_old_tree:
        proof.append(root_of(leaves))
    return proof[::-1]


def verify_consistency(old_size: int, new_size: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether `proof` shows that the new tree only appended to the old one (RFC 9162, 2.1.4.2)."""
    if not 0 <= old_size <= new_size:
        return False
    if old_size == new_size:
        return not proof and old_root == new_root
    if old_size == 0:
        return not proof and old_root == EMPTY_ROOT
    nodes = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    if not nodes:
        return False
    at, last = old_size - 1, new_size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = node_hash(node, old), node_hash(node, new)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            new = node_hash(new, node)
        at, last = at >> 1, last >> 1
    return last == 0 and old == old_root and new == new_root
