"""The prompt protocol: facts in, text out; text in, a typed reply or a format failure out. No model is called here."""

from kernellab.propose.prompts.facts import (
    BaselineFacts,
    Contrast,
    DeviceFacts,
    Experiment,
    Failure,
    Interval,
    KernelFacts,
    Mistake,
    TaskFacts,
    TestedHypothesis,
    VerifierFacts,
    shown,
)
from kernellab.propose.prompts.parse import parse_reply
from kernellab.propose.prompts.render import KINDS, Brief, Kind, Prompt, PromptBook, estimate_tokens
from kernellab.propose.prompts.replies import CodeReply, Design, FormatFailure, Opinion, Parsed, Rewrite, Selection
from kernellab.propose.prompts.rewritten import refused
from kernellab.propose.prompts.summarise import summarise
from kernellab.propose.prompts.withhold import Withheld

__all__ = [
    "KINDS",
    "BaselineFacts",
    "Brief",
    "CodeReply",
    "Contrast",
    "Design",
    "DeviceFacts",
    "Experiment",
    "Failure",
    "FormatFailure",
    "Interval",
    "KernelFacts",
    "Kind",
    "Mistake",
    "Opinion",
    "Parsed",
    "Prompt",
    "PromptBook",
    "Rewrite",
    "Selection",
    "TaskFacts",
    "TestedHypothesis",
    "VerifierFacts",
    "Withheld",
    "estimate_tokens",
    "parse_reply",
    "refused",
    "shown",
    "summarise",
]
