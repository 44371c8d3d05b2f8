"""Soft verifiers: opinions of a model on a candidate before hardware sees it, what they are worth, and how they improve."""

from kernellab.search.soft.fate import SOFT_KINDS, Fate, SoftKind
from kernellab.search.soft.history import judged_looks, report
from kernellab.search.soft.look import SOFT, Look, Looked, SoftVerifier, order
from kernellab.search.soft.score import Judged, Score, score

__all__ = [
    "SOFT", "SOFT_KINDS", "Fate", "Judged", "Look", "Looked", "Score", "SoftKind", "SoftVerifier", "judged_looks",
    "order", "report", "score",
]  # fmt: skip
