"""The statistics that hypotheses may name. A new one is a function and a line in this registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernellab.studies.evidence import Evidence
from kernellab.studies.finding import Finding, NotTestable
from kernellab.studies.hypothesis import Options
from kernellab.studies.statistics import accuracy, effect, portability, repeat, separable, sweet_spot, transfer

Compute = Callable[[Any, Evidence, float], Finding | NotTestable]


@dataclass(frozen=True)
class Statistic:
    """`options` is the model of a part's options; `compute` gets them, the evidence and the level.

    `borrows`: it compares with the best trials of another run, whose kernels are measured here.
    """

    about: str
    options: type[Options]
    compute: Compute
    borrows: bool = False


STATISTICS: dict[str, Statistic] = {
    "advantage-of-set": Statistic(
        "best speed-up with the parameter in the predicted set over the best outside it, median over shapes and replicates",
        sweet_spot.SetOptions, sweet_spot.advantage_of_set,
    ),
    "pressure-beyond-optimum": Statistic(
        "share of slower settings beyond the optimum that spill, or hold fewer threads, where the optimum does not",
        sweet_spot.PressureOptions, sweet_spot.pressure_beyond_optimum,
    ),
    "worst-error": Statistic(
        "largest error over shapes and distributions, median over replicates", accuracy.ErrorOptions, accuracy.worst_error
    ),
    "failure-share": Statistic(
        "share of examinations (a kernel on an input) whose error is beyond a bound or not finite",
        accuracy.ShareOptions, accuracy.failure_share,
    ),
    "transfer-loss": Statistic(
        "loss of the neighbouring shape's best configuration against this shape's own, median over pairs and replicates",
        transfer.TransferOptions, transfer.transfer_loss,
    ),
    "retention": Statistic(
        "speed-up here (all replicates) over speed-up there of kernels tuned on another device, median over kernels",
        portability.RetentionOptions, portability.retention, borrows=True,
    ),
    "repeat-agreement": Statistic(
        "share of pairs of independent trials of one kernel that agree within a tolerance",
        repeat.RepeatOptions, repeat.repeat_agreement,
    ),
    "one-at-a-time": Statistic(
        "speed-up of the parameters' best values found one at a time over the best of all combinations, median",
        separable.SeparableOptions, separable.one_at_a_time,
    ),
    "paired-effect": Statistic(
        "how many times faster the one level of a factor is, median over matched pairs",
        effect.EffectOptions, effect.paired_effect,
    ),
}  # fmt: skip
