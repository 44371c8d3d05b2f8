"""A model that knows the labels: it finds the candidate in the text of a prompt, and answers truly but for set error rates.

It reads nothing but the prompt. How often it errs depends on phrases in it, so that a template can be better or worse; asked
to improve a template it plays its script of rewrites. Same prompt, same answer, whatever the order of calls.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernellab.propose.prompts.markers import inert
from kernellab.search.soft.fate import SoftKind
from kernellab.search.soft.labelled import Labelled, LabelledSet
from support.model_server import Say, Step

QUESTIONS: dict[str, SoftKind] = {
    "will it build?": "soft_compile",
    "does every access stay where it should?": "soft_memory",
    "will the numbers be right?": "soft_numerics",
}
IMPROVE = "# A verifier whose prompt is to be improved"
_LISTED = re.compile(r"^L\d+ *?(?: (.*))?$", re.MULTILINE)
HEAD, TAIL = '{% include "_soft.j2" %}\n', '\n\n{% include "_soft_answer.j2" %}\n'


@dataclass(frozen=True)
class Errors:
    """`miss`: a failure is called right; `alarm`: a right kernel is called a failure; `garbled`: a reply is no opinion."""

    miss: float = 0.0
    alarm: float = 0.0
    garbled: float = 0.0


Skill = Callable[[str, Labelled], Errors]
"""From the prompt and the trial to error rates."""


class Oracle:
    """A script for ModelServer. `rewrites`: replies to the prompts that ask for a better template, the last one stays."""

    def __init__(
        self, labelled: LabelledSet, skill: Skill | Errors, rewrites: Sequence[str | Step] = (), seed: int = 0
    ) -> None:
        self._known = {_squeezed(inert(labelled.text(t))): t for t in labelled.trials}
        self._skill = skill
        self._rewrites = rewrites
        self._seed = seed
        self._guard = threading.Lock()
        self.asked: Mapping[str, int] = {"opinion": 0, "improve": 0}

    def __call__(self, body: dict[str, Any]) -> Step:
        prompt = str(next(m["content"] for m in body["messages"] if m["role"] == "user"))
        improving = IMPROVE in prompt
        with self._guard:
            name = "improve" if improving else "opinion"
            self.asked = {**self.asked, name: self.asked[name] + 1}
            number = self.asked["improve"]
        if improving:
            step = self._rewrites[min(number, len(self._rewrites)) - 1]
            return Say(step) if isinstance(step, str) else step
        return Say(self._opinion(prompt))

    def _opinion(self, prompt: str) -> str:
        kind = next(kind for question, kind in QUESTIONS.items() if question in prompt)
        listing = prompt[prompt.index("# The candidate to be judged") :]
        trial = self._known[_squeezed("".join(m[1] or "" for m in _LISTED.finditer(listing)))]
        errors = self._skill(prompt, trial) if callable(self._skill) else self._skill
        if self._draw(trial, kind, "garbled") < errors.garbled:
            return "I would rather not say."
        fails = bool(trial.fate.fails(kind))
        wrong = self._draw(trial, kind, "wrong") < (errors.miss if fails else errors.alarm)
        confidence = 0.85 + 0.14 * self._draw(trial, kind, "confidence")
        verdict = "fail" if fails != wrong else "pass"
        return opinion(verdict, round(confidence, 3))

    def _draw(self, trial: Labelled, kind: str, what: str) -> float:
        """Between 0 and 1, from the trial alone: a lower error rate errs on a part of what a higher one errs on."""
        name = f"{self._seed} {trial.source} {kind} {what}"
        return int(hashlib.sha256(name.encode()).hexdigest()[:13], 16) / 16**13


def opinion(verdict: str, confidence: float = 0.9, problem: str = "") -> str:
    said = json.dumps({"verdict": verdict, "confidence": confidence, "problem": problem, "line": None})
    return f"<think>hm</think>\n<answer>\n{said}\n</answer>"


def rewrite(phrase: str, kind: SoftKind = "soft_numerics") -> str:
    """A reply with a template that asks the same question and adds a phrase."""
    question = next(q for q, k in QUESTIONS.items() if k == kind)
    return f"<answer>\n```jinja\n{HEAD}# Your part: {question}\n{phrase}{TAIL}```\n</answer>"


def _squeezed(text: str) -> str:
    return "".join(text.split())
