"""What the numbers say of a hypothesis: an interval against what was predicted, and nothing else.

held:      clearly faster than the base (the interval lies above 1), and not clearly less than predicted;
refuted:   clearly less than predicted (the interval lies below the least gain), or clearly slower than the base;
undecided: anything else, and what never ran.
The effect is that of the best of several tunings, chosen after they were measured: it errs to the high side by about the
noise of a trial, which the confirmation of a winner does away with.
"""

from __future__ import annotations

from kernellab.measurement.stats import Estimate
from kernellab.propose.prompts.replies import ExperimentReply
from kernellab.search.scientist.notebook import Verdict


def judge(effect: Estimate | None, experiment: ExperimentReply | None) -> tuple[Verdict, str]:
    if effect is None:
        return "undecided", "nothing of it could be compared with the base"
    measured = f"{effect.value:.3f} [{effect.low:.3f}, {effect.high:.3f}] of the base's speed"
    least = experiment.gain_low if experiment else 1.0
    if effect.low > 1 and effect.high >= least:
        return "held", f"{measured}: faster, and {_against(effect, experiment)}"
    if effect.high < 1:
        return "refuted", f"{measured}: slower"
    if effect.high < least:
        return "refuted", f"{measured}: at least {least:g} was predicted"
    return "undecided", f"{measured}: the interval does not decide"


def _against(effect: Estimate, experiment: ExperimentReply | None) -> str:
    if experiment is None:
        return "no gain was predicted"
    if effect.low > experiment.gain_high:
        return f"more than the {experiment.gain_high:g} predicted"
    return f"{experiment.gain_low:g} to {experiment.gain_high:g} was predicted"
