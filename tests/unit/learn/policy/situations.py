"""A small space, and situations in it."""

from __future__ import annotations

from typing import Any

from kernellab.learn.policy.situation import Situation
from kernellab.propose.prompts import DeviceFacts

SPACES: dict[str, dict[str, list[Any]]] = {
    "wide": {"U": [1, 2, 4], "V": ["a", "b"]},
    "plain": {},
    "odd": {"U": [1, True, "1"], "W": [0.5]},
}
DEVICE = DeviceFacts("some processor", "cpu", 2, 10.0, 12.0, 100.0)


def situation(**changed: Any) -> Situation:
    given = {"task": "softmax", "dims": {"M": 256, "N": 512}, "device": DEVICE, "offer": SPACES, **changed}
    return Situation(**given)
