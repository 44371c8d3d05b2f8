"""A buffer of non-trivial problems: what still teaches is asked again, what does not is left.

A problem is trivial for a policy where all its samples get the same reward: the group has no advantage, and the judge's work
is wasted. A share `eps` of each batch is drawn from the buffer, the rest afresh. A fresh problem that proves non-trivial
enters; one from the buffer that proves trivial leaves.

The bound. Let f_D be the share of trivial problems among fresh draws, f_B among draws from the buffer. A draw adds
(1 - eps)(1 - f_D) problems in expectation and takes eps f_B away. The buffer does not run empty, in expectation, where what
leaves is no more than what enters:

    eps f_B <= (1 - eps)(1 - f_D)   <=>   eps <= (1 - f_D) / (1 - f_D + f_B)

Both shares change as the policy learns, so they are estimated from the last draws, with one trivial and one other draw added
to each, and eps is held at the bound or at `most`, whichever is less.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Problem = TypeVar("Problem")


def most_from_buffer(trivial_fresh: float, trivial_buffered: float) -> float:
    """The largest eps at which the buffer does not run empty, in expectation. Where nothing enters and nothing leaves, any
    does: 1."""
    if not (0 <= trivial_fresh <= 1 and 0 <= trivial_buffered <= 1):
        raise ValueError("shares are between 0 and 1")
    enters = 1 - trivial_fresh
    return 1.0 if enters + trivial_buffered == 0 else enters / (enters + trivial_buffered)


@dataclass(frozen=True)
class Drawn(Generic[Problem]):
    """`place`: of a problem that came from the buffer; None: it is fresh."""

    problem: Problem
    place: int | None


class ProblemBuffer(Generic[Problem]):
    """`fresh` gives a new problem; `most` of a batch comes from the buffer; `size`: the oldest leave where there are more;
    `window`: draws that the shares are estimated from."""

    def __init__(
        self, fresh: Callable[[], Problem], dice: random.Random, most: float = 0.5, size: int = 256, window: int = 64
    ) -> None:
        if not 0 <= most <= 1 or size < 1 or window < 1:
            raise ValueError("give 0 <= most <= 1, and room for a problem and a draw")
        self._fresh, self._dice, self._most, self._size = fresh, dice, most, size
        self._held: dict[int, Problem] = {}
        self._next = 0
        self._seen: dict[bool, deque[bool]] = {True: deque(maxlen=window), False: deque(maxlen=window)}

    def __len__(self) -> int:
        return len(self._held)

    @property
    def eps(self) -> float:
        """The chance that the next problem comes from the buffer."""
        return min(self._most, most_from_buffer(self._share(False), self._share(True))) if self._held else 0.0

    def draw(self, count: int) -> list[Drawn[Problem]]:
        """A batch. No held problem is in it twice."""
        eps, open_now = self.eps, sorted(self._held)
        found: list[Drawn[Problem]] = []
        for _ in range(count):
            if open_now and self._dice.random() < eps:
                place = open_now.pop(self._dice.randrange(len(open_now)))
                found.append(Drawn(self._held[place], place))
            else:
                found.append(Drawn(self._fresh(), None))
        return found

    def told(self, batch: Sequence[Drawn[Problem]], trivial: Sequence[bool]) -> None:
        """What became of a batch that was drawn."""
        for drawn, gone in zip(batch, trivial, strict=True):
            self._seen[drawn.place is not None].append(gone)
            if drawn.place is None and not gone:
                self._held[self._next] = drawn.problem
                self._next += 1
            elif drawn.place is not None and gone:
                self._held.pop(drawn.place, None)
        while len(self._held) > self._size:
            del self._held[min(self._held)]

    def _share(self, buffered: bool) -> float:
        seen = self._seen[buffered]
        return (1 + sum(seen)) / (2 + len(seen))
