"""The recipe transformer as a policy: it samples combinations, says how likely each is, and writes them as replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernellab.core.errors import UsageError
from kernellab.learn.extra import needed
from kernellab.learn.policy.grammar import Grammar
from kernellab.learn.policy.network import Context, Size, Weights, count, new_weights, read, repeated, speak
from kernellab.learn.policy.situation import (
    EXEMPLAR_NUMBERS,
    MOST_EXEMPLARS,
    Situation,
    contrast,
    device_numbers,
    exemplar_numbers,
    shape_numbers,
)
from kernellab.learn.recorded_reply import as_reply
from kernellab.learn.tabular import Pick, Spaces
from kernellab.tasks.dtypes import PRECISIONS

if TYPE_CHECKING:
    from torch import Generator, Tensor

_DTYPES = tuple(PRECISIONS.values())


@dataclass(frozen=True)
class Said:
    """Log-probabilities of samples x words, and 1 where there was a choice to make."""

    logs: Tensor
    mask: Tensor

    @property
    def whole(self) -> Tensor:
        """Of each sample."""
        return (self.logs * self.mask).sum(-1)


class RecipePolicy:
    """`tasks`: families that it has a word for; every other is read as an unknown one."""

    def __init__(self, grammar: Grammar, tasks: Sequence[str], size: Size, weights: Weights) -> None:
        self.grammar = grammar
        self.tasks = tuple(tasks)
        self.size = size
        self.weights = weights

    @classmethod
    def new(cls, spaces: Spaces, tasks: Sequence[str], generator: Generator, size: Size | None = None) -> RecipePolicy:
        grammar, size = Grammar(spaces), size or Size()
        drawn = new_weights(size, len(grammar.words), len(tasks) + 1, len(_DTYPES), grammar.longest, generator)
        return cls(grammar, tasks, size, {name: value.requires_grad_() for name, value in drawn.items()})

    @property
    def parameters(self) -> int:
        return count(self.weights)

    def copy(self) -> RecipePolicy:
        """As it is now; a reference that no training moves."""
        fixed = {name: value.detach().clone() for name, value in self.weights.items()}
        return RecipePolicy(self.grammar, self.tasks, self.size, fixed)

    def sample(self, situations: Sequence[Situation], each: int, generator: Generator) -> list[list[Pick]]:
        """`each` combinations a situation, of those on offer."""
        torch = needed("torch")
        rows = [at for at in range(len(situations)) for _ in range(each)]
        said: list[list[int]] = [[] for _ in rows]
        with torch.no_grad():
            memory, there = repeated(*read(self.weights, self.size.heads, self._context(situations)), rows)
            last = torch.full((len(rows), 1), -1)
            for place in range(self.grammar.longest):
                logits, memory = speak(self.weights, self.size.heads, memory, there, last, place)
                allowed = [
                    self.grammar.next_words(situations[row].offer, words) for row, words in zip(rows, said, strict=True)
                ]
                chance = self._masked(logits[:, 0], allowed).softmax(-1)
                drawn = torch.multinomial(chance, 1, generator=generator)
                for words, open_now, word in zip(said, allowed, drawn[:, 0].tolist(), strict=True):
                    words += [word] if open_now else []
                last = drawn
        picks = [self.grammar.pick(words) for words in said]
        return [picks[first : first + each] for first in range(0, len(picks), each)]

    def log_probability(self, situations: Sequence[Situation], picks: Sequence[Sequence[Pick]]) -> Said:
        """Of some picks for each situation, one situation's after the other's."""
        torch = needed("torch")
        rows = [at for at, own in enumerate(picks) for _ in own]
        sentences = [self.grammar.sentence(pick) for own in picks for pick in own]
        length = max(map(len, sentences))
        words = torch.tensor([sentence + [0] * (length - len(sentence)) for sentence in sentences])
        memory, there = repeated(*read(self.weights, self.size.heads, self._context(situations)), rows)
        before = torch.cat([torch.full((len(rows), 1), -1), words[:, :-1]], 1)
        logits, _ = speak(self.weights, self.size.heads, memory, there, before, 0)
        allowed = [
            self.grammar.next_words(situations[row].offer, sentence[:place]) if place < len(sentence) else []
            for row, sentence in zip(rows, sentences, strict=True)
            for place in range(length)
        ]
        logs = self._masked(logits.flatten(0, 1), allowed).log_softmax(-1)
        mask = torch.tensor([float(len(open_now) > 1) for open_now in allowed]).view(words.shape)
        found = logs.gather(1, words.flatten()[:, None]).view(words.shape)
        return Said(torch.where(mask > 0, found, torch.zeros_like(found)), mask)

    def chances(self, situation: Situation) -> dict[Pick, float]:
        """Of every combination on offer; for spaces that can be counted out."""
        picks = self.grammar.offered(situation.offer)
        with needed("torch").no_grad():
            found = self.log_probability([situation], [picks]).whole.exp()
        return dict(zip(picks, found.tolist(), strict=True))

    def reply(self, situation: Situation, pick: Pick, source: str) -> str:
        """A pick in the one text form: what the exemplars say, then the recipe's file with the choices made."""
        told = contrast(situation.exemplars, [self.grammar.params(shown.pick) for shown in situation.exemplars])
        return as_reply(source, self.grammar.params(pick), f"{told}; chosen: {pick.recipe}")

    def _context(self, situations: Sequence[Situation]) -> Context:
        torch = needed("torch")
        for situation in situations:
            self.grammar.check(situation.offer)
            if len(situation.exemplars) > MOST_EXEMPLARS:
                raise UsageError(f"{len(situation.exemplars)} exemplars are too many", f"show {MOST_EXEMPLARS} at most")
        exemplars = torch.zeros(len(situations), MOST_EXEMPLARS, len(self.grammar.words))
        speeds = torch.zeros(len(situations), MOST_EXEMPLARS, EXEMPLAR_NUMBERS)
        shown = torch.zeros(len(situations), MOST_EXEMPLARS, dtype=torch.bool)
        for row, situation in enumerate(situations):
            for place, numbers in enumerate(exemplar_numbers(situation.exemplars)):
                exemplars[row, place, self.grammar.sentence(situation.exemplars[place].pick)] = 1.0
                speeds[row, place] = torch.tensor(numbers)
                shown[row, place] = True
        tasks = [self.tasks.index(s.family) if s.family in self.tasks else len(self.tasks) for s in situations]
        return Context(
            torch.tensor(tasks),
            torch.tensor([_DTYPES.index(s.dtype) for s in situations]),
            torch.tensor([shape_numbers(s.dims) for s in situations]),
            torch.tensor([device_numbers(s.device) for s in situations]),
            exemplars, speeds, shown,
        )  # fmt: skip

    def _masked(self, logits: Tensor, allowed: Sequence[Sequence[int]]) -> Tensor:
        """Rows where nothing may follow are left whole: what is drawn there is not kept."""
        torch = needed("torch")
        closed = torch.ones(logits.shape, dtype=torch.bool)
        rows = [row for row, words in enumerate(allowed) for _ in words]
        closed[rows, [word for words in allowed for word in words]] = False
        closed[[row for row, words in enumerate(allowed) if not words]] = False
        return logits.masked_fill(closed, float("-inf"))
