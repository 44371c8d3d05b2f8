"""Learning: rewards that follow from records, a service that gives them, and what trainers need beside it."""

from kernellab.learn.opening import open_service
from kernellab.learn.samples import Sample, Scored
from kernellab.learn.service import RewardService
from kernellab.learn.terms import RewardTerms

__all__ = ["RewardService", "RewardTerms", "Sample", "Scored", "open_service"]
