"""The tuner: recipes and their parameters, chosen by the run's sampler from what came out before."""

from __future__ import annotations

from kernellab.search.proposers.base import ProposerKind, ShapeContext, for_each_shape
from kernellab.search.tune import Tuner, make_tuner


def tuner_of(shape: ShapeContext) -> Tuner:
    return make_tuner(shape.search.recipes, shape.search.run.settings.sampler, shape.seed, shape.warm)


PROPOSER = ProposerKind("tuner", "recipes, tuned by --sampler", for_each_shape(tuner_of))
