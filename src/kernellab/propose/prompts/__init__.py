"""The prompt protocol: facts in, text out; text in, a typed reply or a format failure out. No model is called here."""

from kernellab.propose.prompts.facts import (
    Contrast,
    DeviceFacts,
    Experiment,
    Failure,
    Finding,
    Interval,
    KernelFacts,
    TaskFacts,
    shown,
)
from kernellab.propose.prompts.parse import parse_reply
from kernellab.propose.prompts.render import KINDS, Brief, Kind, Prompt, PromptBook, estimate_tokens
from kernellab.propose.prompts.replies import CodeReply, Design, FormatFailure, Opinion, Parsed, Selection
from kernellab.propose.prompts.summarise import summarise
from kernellab.propose.prompts.withhold import Withheld

__all__ = [
    "KINDS",
    "Brief",
    "CodeReply",
    "Contrast",
    "Design",
    "DeviceFacts",
    "Experiment",
    "Failure",
    "Finding",
    "FormatFailure",
    "Interval",
    "KernelFacts",
    "Kind",
    "Opinion",
    "Parsed",
    "Prompt",
    "PromptBook",
    "Selection",
    "TaskFacts",
    "Withheld",
    "estimate_tokens",
    "parse_reply",
    "shown",
    "summarise",
]
