"""The recipes as they are: each once, at its first choices. What tuning adds is told by the difference."""

from __future__ import annotations

from kernellab.propose.base import Idea, Listed
from kernellab.search.proposers.base import ProposerKind, ShapeContext, for_each_shape


def untuned(shape: ShapeContext) -> Listed:
    return Listed([Idea(recipe.candidate, recipe.first, recipe.why) for recipe in shape.search.recipes])


PROPOSER = ProposerKind("recipes", "every recipe once, at its first choices", for_each_shape(untuned))
