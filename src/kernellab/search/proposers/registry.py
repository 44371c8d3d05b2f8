"""The list of proposers. A new one is a file with a PROPOSER, and a line here (or a call of `register`)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from kernellab.core.errors import UsageError

if TYPE_CHECKING:
    from kernellab.search.proposers.base import ProposerKind

BUILT_IN = {
    "tuner": "kernellab.search.proposers.tuner",
    "recipes": "kernellab.search.proposers.recipes",
    "replay": "kernellab.search.proposers.replay",
    "scientist": "kernellab.search.proposers.scientist",
    "policy": "kernellab.search.proposers.policy",
}
"""Names and modules, in the order of lists for people. Each module is read when it is asked for."""
_added: dict[str, ProposerKind] = {}


def names() -> list[str]:
    return [*BUILT_IN, *_added]


def register(kind: ProposerKind) -> None:
    """Add a proposer. From here on it is there like a built-in one."""
    if kind.name in names():
        raise UsageError(f"there is a proposer '{kind.name}' already", "give the new one another name")
    _added[kind.name] = kind


def forget(name: str) -> None:
    """Take a registered proposer out again."""
    _added.pop(name, None)


def choose(wanted: str, model: str) -> tuple[ProposerKind, str]:
    """The proposer of this name, and what stands behind its colon. No name: the scientist for a model, else the tuner."""
    name, _, argument = (wanted or ("scientist" if model else "tuner")).partition(":")
    if name not in names():
        raise UsageError(f"there is no proposer '{name}'", f"the known ones: {', '.join(names())}")
    kind: ProposerKind = _added.get(name) or importlib.import_module(BUILT_IN[name]).PROPOSER
    if (kind.needs == "model") != bool(model):
        fix = "leave --model out" if model else "name one: --model openai:NAME (docs/scientist.md)"
        raise UsageError(f"the proposer '{name}' {'takes no' if model else 'needs a'} model", fix)
    if (kind.needs == "argument") != bool(argument) and not kind.argument:
        what = "takes nothing behind its name" if argument else "needs something behind its name"
        raise UsageError(f"the proposer '{name}' {what}", kind.about)
    kind.check(argument)
    return kind, argument
