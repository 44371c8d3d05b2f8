"""A scripted scientist behind a real HTTP server: reads the prompt as a model would, and answers in the protocol.

It knows one task (y = 2 x^3 of conftest) and the ways a model goes wrong. Replies depend on the prompt's text alone, so that
a run that is cut and resumed is answered the same. `faults` names what goes wrong at the n-th text of its kind.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.model_server import Error, Say, Step

KERNEL = '''"""{about}"""
SOURCE = r"""
/* {mark} */
void cube(const float *restrict x, float *restrict y, long n) {{
    for (long i = 0; i < n; i += STEP)
        for (long j = i; j < i + STEP && j < n; j++) y[j] = {formula};
}}
"""
SPACE = {{"STEP": [{steps}]}}

def launch(x, y, STEP=4):
    kernel("cube")[1](x, y, x.shape[0])
'''
RIGHT = "2 * x[j] * x[j] * x[j]"
WRONG = "2 * x[j] * x[j]"
BROKEN = "2 * x[j] * undeclared"


def code(mark: str, formula: str = RIGHT, steps: str = "4, 8, 64") -> str:
    text = KERNEL.format(about="An experiment.", mark=mark, formula=formula, steps=steps)
    return f"<think>as asked</think>\n<answer>\n```python\n{text}```\n</answer>"


def kind_of(prompt: str) -> str:
    for kind, mark in (
        ("select", "# Your part: selector"), ("design", "# Your part: experiment designer"),
        ("write", "# Your part: writer"), ("repair", "# Your part: repair"), ("translate", "# Your part: translate"),
        ("soft_compile", "# Your part: will it build?"), ("soft_memory", "# Your part: does every access"),
        ("soft_numerics", "# Your part: will the numbers"),
    ):  # fmt: skip
        if mark in prompt:
            return kind
    raise ValueError("a prompt of no known kind")


@dataclass
class Scripted:
    """`faults`: for a kind, what to say instead of a good reply, by how often that kind was asked before."""

    faults: Mapping[str, Callable[[int, str], Step | str | None]] = field(default_factory=dict)
    usage: tuple[int, int] = (1000, 200)
    drip_s: float = 0.0

    def __post_init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.prompts: list[tuple[str, str]] = []

    def __call__(self, body: dict[str, Any]) -> Step:
        prompt = "\n".join(m["content"] for m in body["messages"] if m["role"] == "user")
        kind = kind_of(prompt)
        number = self.asked.get(kind, 0)
        self.asked[kind] = number + 1
        self.prompts.append((kind, "\n".join(m["content"] for m in body["messages"])))
        made = self.faults.get(kind, lambda n, p: None)(number, prompt)
        if made is not None and not isinstance(made, str):
            return made
        return Say(made if made is not None else self.reply(kind, prompt), self.usage, drip_s=self.drip_s)

    def reply(self, kind: str, prompt: str) -> str:
        mark = hashlib.sha256(prompt.encode()).hexdigest()[:12]
        if kind == "select":
            ids = re.findall(r"^## (trial \d+)", prompt, re.MULTILINE)
            return answer({"base": ids[-1], "reference": None, "why": "the fastest shown"})
        if kind == "design":
            return answer({"experiments": [_experiment(n, mark) for n in range(4)]})
        if kind in ("write", "repair", "translate"):
            return code(f"{kind} {mark}")
        return answer({"verdict": "pass", "confidence": 0.6, "problem": "", "line": None})


def _experiment(number: int, mark: str) -> dict[str, Any]:
    ideas = ("wider steps keep the loop's overhead apart", "streaming stores spare the cache", "prefetching hides latency",
             "unrolling by hand lets vectors form")  # fmt: skip
    return {"hypothesis": f"{ideas[number]} ({mark} {number})", "change": f"change number {number}", "gain_low": 1.05,
            "gain_high": 1.3 + number / 10, "risk": "none", "refuted_if": "ratio below 1.02"}  # fmt: skip


def answer(value: dict[str, Any]) -> str:
    return f"<answer>\n{json.dumps(value)}\n</answer>"


RATE_LIMIT = Error(429, "slow down", headers={"retry-after": "0"})
