"""The recipe transformer as a policy: it samples combinations, says how likely each is, and writes them as replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernellab.core.errors import UsageError
from kernellab.learn.extra import needed
from kernellab.learn.policy.grammar import BEGINNING, Grammar
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
class Asked:
    """Samples as numbers: which situation each is of, its words, the words that could not follow, and where there was a
    choice to make."""

    context: Context
    rows: list[int]
    words: Tensor
    closed: Tensor
    mask: Tensor


@dataclass(frozen=True)
class Said:
    """Log-probabilities of samples x words; they count where the mask is 1."""

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
        grammar, masks = self.grammar, _Masks(self.grammar, situations)
        said: list[list[int]] = [[] for _ in rows]
        with torch.no_grad():
            seen, there = repeated(*read(self.weights, self.size, self._context(situations)), rows)
            last = torch.full((len(rows), 1), -1)
            for place in range(grammar.longest):
                logits, seen = speak(self.weights, self.size, seen, there, last, place)
                at = [masks.at(row, words) for row, words in zip(rows, said, strict=True)]
                last = torch.multinomial(
                    logits[:, 0].masked_fill(masks.closed[at], float("-inf")).softmax(-1), 1, generator=generator
                )
                for words, open_now, word in zip(said, at, last[:, 0].tolist(), strict=True):
                    words += [word] if open_now else []
        picks = [grammar.pick(words) for words in said]
        return [picks[first : first + each] for first in range(0, len(picks), each)]

    def log_probability(self, asked: Asked) -> Said:
        torch = needed("torch")
        seen, there = repeated(*read(self.weights, self.size, asked.context), asked.rows)
        before = torch.cat([torch.full((len(asked.words), 1), -1), asked.words[:, :-1]], 1)
        logits, _ = speak(self.weights, self.size, seen, there, before, 0)
        logs = logits.masked_fill(asked.closed, float("-inf")).log_softmax(-1)
        found = logs.gather(-1, asked.words.unsqueeze(-1)).squeeze(-1)
        return Said(torch.where(asked.mask > 0, found, torch.zeros(())), asked.mask)

    def asked(self, situations: Sequence[Situation], picks: Sequence[Sequence[Pick]]) -> Asked:
        """Some picks for each situation, made ready once for every policy of this grammar that is asked of them."""
        torch = needed("torch")
        rows = [at for at, own in enumerate(picks) for _ in own]
        sentences = [self.grammar.sentence(pick) for own in picks for pick in own]
        length, masks = max(map(len, sentences)), _Masks(self.grammar, situations)
        words = torch.tensor([sentence + [0] * (length - len(sentence)) for sentence in sentences])
        at = torch.tensor(
            [
                [masks.at(row, sentence[:place]) if place < len(sentence) else 0 for place in range(length)]
                for row, sentence in zip(rows, sentences, strict=True)
            ]
        )
        return Asked(self._context(situations), rows, words, masks.closed[at], masks.choices[at])

    def chances(self, situation: Situation) -> dict[Pick, float]:
        """Of every combination on offer; for spaces that can be counted out."""
        picks = self.grammar.offered(situation.offer)
        with needed("torch").no_grad():
            found = self.log_probability(self.asked([situation], [picks])).whole.exp()
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


class _Masks:
    """Which words may follow in each situation, a row each. After a sentence any word may, and none is kept: row 0."""

    def __init__(self, grammar: Grammar, situations: Sequence[Situation]) -> None:
        torch = needed("torch")
        tables = [grammar.table(situation.offer) for situation in situations]
        keys = [(at, key) for at, table in enumerate(tables) for key in table]
        follow = [words for table in tables for words in table.values()]
        self._rows = {key: row for row, key in enumerate(keys, 1)}
        self.closed: Tensor = torch.ones(1 + len(follow), len(grammar.words), dtype=torch.bool)
        self.closed[0] = False
        self.closed[
            [row for row, words in enumerate(follow, 1) for _ in words], [w for words in follow for w in words]
        ] = False
        self.choices: Tensor = torch.tensor([0.0, *(float(len(words) > 1) for words in follow)])
        """1 where there is more than one word to choose from."""

    def at(self, situation: int, said: Sequence[int]) -> int:
        return self._rows.get((situation, (said[0], len(said)) if said else BEGINNING), 0)
