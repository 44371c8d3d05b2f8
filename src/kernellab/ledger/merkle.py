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
