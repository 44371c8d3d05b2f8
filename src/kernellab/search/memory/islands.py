"""Islands: families of kernels that are bred apart, so that one early success does not push out every other idea.

A source that is much like an earlier one joins that one's island (it is most likely its child); anything else founds in
the emptiest island. Parameter variants stay with their source. After every `every` trials each island's best visits the
next island as a guest: a guest can be shown there, but its home stays its own, so migration neither loses nor doubles a
trial. The state is a fold over the trials in the ledger's order: adding one by one and rebuilding give the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernellab.search.memory.likeness import code_distance
from kernellab.search.memory.specimen import Specimen

COUNT = 4
EVERY = 20
CHILD = 0.5


class Islands:
    def __init__(self, count: int = COUNT, every: int = EVERY, child: float = CHILD) -> None:
        if count < 1 or every < 1:
            raise ValueError("there is at least one island, and migration comes after at least one trial")
        self.count = count
        self._every = every
        self._child = child
        self._residents: list[list[Specimen]] = [[] for _ in range(count)]
        self._guests: list[list[Specimen]] = [[] for _ in range(count)]
        self._homes: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._seen = 0

    @classmethod
    def rebuild(
        cls, specimens: Iterable[Specimen], count: int = COUNT, every: int = EVERY, child: float = CHILD
    ) -> Islands:
        islands = cls(count, every, child)
        for specimen in specimens:
            islands.add(specimen)
        return islands

    def add(self, specimen: Specimen) -> int:
        """Settle a trial; returns its island."""
        source = specimen.trial.proposal.source
        if source not in self._homes:
            self._homes[source] = self._home(specimen.source)
            self._texts[source] = specimen.source
        home = self._homes[source]
        self._residents[home].append(specimen)
        self._seen += 1
        if self._seen % self._every == 0:
            self._migrate()
        return home

    def residents(self, island: int) -> tuple[Specimen, ...]:
        return tuple(self._residents[island])

    def guests(self, island: int) -> tuple[Specimen, ...]:
        return tuple(self._guests[island])

    def home(self, specimen: Specimen) -> int:
        return self._homes[specimen.trial.proposal.source]

    def best(self, island: int) -> Specimen | None:
        """The fastest of the island's own, the earlier one where two are equal."""
        timed = [s for s in self._residents[island] if s.score is not None]
        return max(timed, key=lambda s: (s.score or 0.0, -s.number), default=None)

    def peopled(self) -> list[int]:
        return [i for i in range(self.count) if self._residents[i]]

    def _home(self, text: str) -> int:
        """The island of the most similar earlier source, if it is similar enough; else the emptiest, the first of equals."""
        if text:
            near = [(code_distance(text, known), sha) for sha, known in self._texts.items() if known]
            apart, sha = min(near, default=(1.0, ""))
            if apart <= self._child:
                return self._homes[sha]
        return min(range(self.count), key=lambda i: (len(self._residents[i]), i))

    def _migrate(self) -> None:
        """Every peopled island's best goes to the next peopled one; guests stay, the same guest only once."""
        peopled = self.peopled()
        for place, island in enumerate(peopled):
            best, to = self.best(island), peopled[(place + 1) % len(peopled)]
            if best is not None and to != island and best not in self._guests[to]:
                self._guests[to].append(best)
