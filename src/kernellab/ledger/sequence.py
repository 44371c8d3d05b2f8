"""Telling deleted, repeated and re-ordered entries apart by their sequence numbers alone."""

from __future__ import annotations


class Sequence:
    """Fed the seq of each line in file order. A gap counts as deleted only if its numbers never turn up."""

    def __init__(self) -> None:
        self._expected = 0
        self._gaps: list[tuple[int, int]] = []

    def skip(self) -> None:
        """An unreadable line stands where the next number should."""
        self._expected += 1

    def take(self, seq: int) -> str:
        """What is wrong with finding `seq` here, or the empty string."""
        if seq >= self._expected:
            if seq > self._expected:
                self._gaps.append((self._expected, seq - 1))
            self._expected = seq + 1
            return ""
        if self._fill(seq):
            return f"entry {seq} comes after entry {self._expected - 1}: lines were re-ordered"
        return f"entry {seq} is there already: a duplicated or replaced line"

    def deleted(self) -> list[tuple[int, int]]:
        return self._gaps

    def _fill(self, seq: int) -> bool:
        for at, (first, last) in enumerate(self._gaps):
            if first <= seq <= last:
                around = [(first, seq - 1), (seq + 1, last)]
                self._gaps[at : at + 1] = [(a, b) for a, b in around if a <= b]
                return True
        return False
