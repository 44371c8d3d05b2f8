"""The words of a policy, and which of them may come next: a sentence is a recipe, then a choice for each of its parameters.

A word is a recipe's name, or `NAME=value`; recipes share the words of their parameters, so that what UNROLL=4 taught in one
is known in another. Whatever is drawn under the masks is a combination of the space that was offered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product

from kernellab.core.errors import UsageError
from kernellab.core.ids import digest
from kernellab.core.records import Param
from kernellab.learn.tabular import Pick, Spaces

BEGINNING = (-1, 0)
_FIX = "train a policy for these recipes, or take the recipes that it was trained for"


class Grammar:
    """Of some recipes. An offer is a part of their spaces: fewer recipes, or fewer choices."""

    def __init__(self, spaces: Spaces) -> None:
        if not spaces or any(not choices for space in spaces.values() for choices in space.values()):
            raise UsageError("a policy needs recipes, and a choice for each parameter", "leave empty ones out")
        self.spaces = {name: {key: list(values) for key, values in space.items()} for name, space in spaces.items()}
        words = {word: None for name, space in self.spaces.items() for word in _sentences(name, space)}
        self.words: tuple[str, ...] = tuple(words)

    @cached_property
    def number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def longest(self) -> int:
        """Words of the longest sentence."""
        return 1 + max(len(space) for space in self.spaces.values())

    @cached_property
    def digest(self) -> str:
        return space_digest(self.spaces)

    def check(self, offer: Spaces) -> None:
        """Refuse an offer that has no combination, or holds what this grammar has no word for."""
        if not offer:
            raise UsageError("no recipe is offered", _FIX)
        for name, space in offer.items():
            own = self.spaces.get(name)
            if own is None or list(space) != list(own):
                raise UsageError(f"this policy does not know {name} with {', '.join(space) or 'no parameters'}", _FIX)
            for key, values in space.items():
                words = {_word(key, value) for value in own[key]}
                strange = [value for value in values if _word(key, value) not in words]
                if strange or not values:
                    what = f"{key}={strange[0]}" if strange else f"{key} without a choice"
                    raise UsageError(f"this policy does not know {what} of {name}", _FIX)

    def next_words(self, offer: Spaces, said: Sequence[int]) -> list[int]:
        """The numbers of the words that may follow; none after a whole sentence."""
        return self.table(offer).get((said[0], len(said)) if said else BEGINNING, [])

    def table(self, offer: Spaces) -> dict[tuple[int, int], list[int]]:
        """The words that may follow, by recipe and how many words were said."""
        found = {BEGINNING: [self.number[name] for name in offer]}
        for name, space in offer.items():
            for place, (key, values) in enumerate(space.items(), 1):
                found[self.number[name], place] = [self.number[_word(key, value)] for value in values]
        return found

    def sentence(self, pick: Pick) -> list[int]:
        space = self.spaces[pick.recipe]
        words = (_word(key, values[at]) for (key, values), at in zip(space.items(), pick.choices, strict=True))
        return [self.number[pick.recipe], *(self.number[word] for word in words)]

    def pick(self, sentence: Sequence[int]) -> Pick:
        """The inverse of `sentence`."""
        recipe = self.words[sentence[0]]
        words = [[_word(key, value) for value in values] for key, values in self.spaces[recipe].items()]
        said = (self.words[number] for number in sentence[1:])
        return Pick(recipe, tuple(known.index(word) for known, word in zip(words, said, strict=True)))

    def picked(self, recipe: str, params: Mapping[str, Param]) -> Pick:
        """What a proposal chose."""
        own = self.spaces.get(recipe, {})
        named = [*(key for key in own if key in params), *(key for key in params if key not in own)]
        self.check({recipe: {key: [params[key]] for key in named}})
        places = ([_word(key, v) for v in values].index(_word(key, params[key])) for key, values in own.items())
        return Pick(recipe, tuple(places))

    def offered(self, offer: Spaces) -> list[Pick]:
        """Every combination of an offer; for spaces that can be counted out."""
        self.check(offer)
        found = []
        for name, space in offer.items():
            own = {key: [_word(key, v) for v in values] for key, values in self.spaces[name].items()}
            places = [[own[key].index(_word(key, value)) for value in values] for key, values in space.items()]
            found += [Pick(name, choices) for choices in product(*places)]
        return found

    def params(self, pick: Pick) -> dict[str, Param]:
        space = self.spaces[pick.recipe]
        return {name: values[at] for (name, values), at in zip(space.items(), pick.choices, strict=True)}


def _sentences(name: str, space: Mapping[str, Sequence[Param]]) -> list[str]:
    return [name, *(_word(key, value) for key, values in space.items() for value in values)]


@lru_cache(10_000, typed=True)
def _word(key: str, value: Param) -> str:
    """1, 1.0, True and "1" are four choices."""
    return f"{key}={json.dumps(value)}"


def space_digest(spaces: Spaces) -> str:
    """Of what may be chosen. The order of choices counts: a choice is kept by its place."""
    return digest([[name, [[key, list(values)] for key, values in space.items()]] for name, space in spaces.items()])


def unlike(made_for: Spaces, here: Spaces) -> str:
    """The first difference between two spaces in words; '' where there is none."""
    for name, space in made_for.items():
        if name not in here:
            return f"the recipe {name} is not here"
        for key, values in space.items():
            if key not in here[name]:
                return f"{name} has no parameter {key} here"
            gone = [value for value in values if _word(key, value) not in {_word(key, v) for v in here[name][key]}]
            if gone:
                return f"{name} has no choice {key}={gone[0]} here"
            new = [value for value in here[name][key] if _word(key, value) not in {_word(key, v) for v in values}]
            if new:
                return f"{name} has a further choice {key}={new[0]} here"
        further = [key for key in here[name] if key not in space]
        if further:
            return f"{name} has a further parameter {further[0]} here"
    further = [name for name in here if name not in made_for]
    if further:
        return f"there is a further recipe {further[0]} here"
    return (
        ""
        if space_digest(made_for) == space_digest(here)
        else "recipes, parameters or choices are in another order here"
    )
