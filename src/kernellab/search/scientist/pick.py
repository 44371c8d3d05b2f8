"""Which of the proposed experiments are carried out: promising ones and novel ones in turn, so that neither starves."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

from kernellab.propose.prompts.replies import ExperimentReply

_WORD = re.compile(r"[a-z][a-z0-9_-]{2,}")
Reason = Literal["promising", "novel"]


def pick(experiments: Sequence[ExperimentReply], count: int, earlier: Sequence[str]) -> tuple[list[int], list[Reason]]:
    """Places of the chosen ones. `earlier`: hypotheses tested before; one that repeats them word for word comes last."""
    chosen: list[int] = []
    reasons: list[Reason] = []
    left = list(range(len(experiments)))
    known = [*earlier]
    while left and len(chosen) < count:
        reason: Reason = "novel" if len(chosen) % 2 else "promising"
        best = max(left, key=lambda i: (_value(experiments[i], known, reason), -i))
        left.remove(best)
        chosen.append(best)
        reasons.append(reason)
        known.append(_text(experiments[best]))
    return chosen, reasons


def novelty(text: str, known: Sequence[str]) -> float:
    """1: shares no word with anything known; 0: the same words."""
    words = set(_WORD.findall(text.lower()))
    return min((1 - _shared(words, set(_WORD.findall(k.lower()))) for k in known), default=1.0)


def _value(experiment: ExperimentReply, known: Sequence[str], reason: Reason) -> float:
    new = novelty(_text(experiment), known)
    if reason == "novel":
        return new
    expected = math.sqrt(experiment.gain_low * experiment.gain_high)
    return min(expected, 4.0) if new > 0.05 else 0.0


def _text(experiment: ExperimentReply) -> str:
    return f"{experiment.hypothesis} {experiment.change}"


def _shared(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0
