"""What an artifact's machine code can do besides computing: what cannot be excluded by running it is at least listed.

A kernel is judged by its outputs. One that reads a clock, asks for random numbers or keeps memory could give other outputs
when nobody looks, so a reader of its record is told in words that it can. A list is made of the machine code, which is in
the record: whoever has the run can make it again ('klab audit' does).
Covered: see cpu_abilities and gpu_abilities. Inline assembly is found by its words in the source or in the PTX.
Not covered: a back door that certain values open. It is made of ordinary instructions, and no list shows it. Nor assembly
whose word is pasted together by macros, or is hidden from the PTX by the process that handed it out (Triton).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from kernellab.build.cpu_ability_rules import CLOCK, EDITIONS, MODES, PLACE, RANDOM, SYSTEM, UNREADABLE
from kernellab.core.records import Artifact
from kernellab.core.targets import language

EDITION = max(EDITIONS)
"""Of the rules and their words: a record is held against the rules that it was made by, and no others."""
INLINE_ASSEMBLY = "has inline assembly in its source"
BACK_DOORS = "A back door that only certain values open cannot be seen in machine code, nor excluded by any test."
_LOOK = (CLOCK, RANDOM, SYSTEM, PLACE, MODES, UNREADABLE, "may do so", "loads code", "has memory that is both", "runs code",
         "keeps state", "calls other functions")  # fmt: skip
_ASSEMBLY = re.compile(r"\b(?:asm|__asm|__asm__|inline_asm_elementwise)\b|// begin inline asm")
_COMMENTS = re.compile(r"/\*.*?\*/|//(?! begin inline asm)[^\n]*", re.DOTALL)
_SHOWN = 8


def abilities_of(backend: str, code: bytes, *texts: str) -> tuple[str, ...]:
    """In words; `backend`: the candidate's language; `texts`: the source, flags or PTX that the code was made of."""
    assembly = [INLINE_ASSEMBLY] if any(map(_has_assembly, texts)) else []
    return tuple(sorted([*from_code(backend, code), *assembly]))


@lru_cache(maxsize=32)
def from_code(backend: str, code: bytes, edition: int = EDITION) -> tuple[str, ...]:
    """The part that follows from the machine code alone. ValueError where it is not what this language is built to."""
    found: dict[str, set[str]] = {}
    for part in language(backend).abilities(code, edition):
        for what, how in part.items():
            found.setdefault(what, set()).update(how)
    return tuple(sorted(_words(what, sorted(how)) for what, how in found.items()))


def misstated(artifact: Artifact, codes: Iterable[bytes]) -> str:
    """What a recorded list says else than the machine code of all its shapes, in words, or ''."""
    edition = artifact.abilities_edition
    if edition not in EDITIONS:
        return ""
    try:
        found = {ability for code in codes for ability in from_code(artifact.backend, code, edition)}
    except ValueError as err:
        return f"the machine code cannot be read: {err}"
    said = {a for a in artifact.abilities if a != INLINE_ASSEMBLY}
    faults = [*(f"it {a}, and the record does not say so" for a in sorted(found - said)),
              *(f"the record says that it {a}, and it does not" for a in sorted(said - found))]  # fmt: skip
    return "; ".join(faults)


def unknown_edition(artifact: Artifact) -> bool:
    """Whether its list was made by rules that this version does not have."""
    return artifact.abilities_edition not in (0, *EDITIONS)


def for_review(abilities: Iterable[str]) -> list[str]:
    """Those that a person should know of before relying on a kernel: its outputs may depend on more than its inputs."""
    return [a for a in abilities if a.startswith(_LOOK)]


def in_words(abilities: Sequence[str] | None) -> str:
    """For a line of text. None: the record is older than these lists."""
    if abilities is None:
        return "not recorded"
    return "; ".join(abilities) if abilities else "nothing but computing, as far as its instructions show"


def _words(what: str, how: list[str]) -> str:
    more = [f"{len(how) - _SHOWN} more"] if len(how) > _SHOWN else []
    return f"{what} ({', '.join([*how[:_SHOWN], *more])})" if how else what


def _has_assembly(text: str) -> bool:
    return "asm" in text and _ASSEMBLY.search(_COMMENTS.sub(" ", text)) is not None
