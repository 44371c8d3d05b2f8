"""What a reader sees of a paper against what its claims say, sign by sign without spaces; and where numbers come from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kernellab.report.paper.document import Segment
from kernellab.report.paper.wording import stray_numbers

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_BLANK = re.compile("[\\s\u200b\u00ad•‣–]+")  # spaces, soft breaks, and what a list puts before its items
_CONTEXT = 30
_FROM_LEDGER = ("claim", "recorded words", "figure")


@dataclass(frozen=True)
class Difference:
    """`untraced`: how many numbers of the visible text stand where the claims say something else."""

    what: str
    untraced: int


def sources(told: Sequence[Segment], loose: Collection[str]) -> Counter[str]:
    """Numbers by where they come from, spelled out ones in words too. Those in `loose` blocks count as unchecked: nobody
    knows what is said of them."""
    counts = Counter[str]()
    for segment in told:
        if segment.source == "words":
            counts["words"] += sum(1 for _ in stray_numbers(segment.text))
        else:
            name = "unchecked" if segment.block in loose and segment.source in _FROM_LEDGER else segment.source
            counts[name] += len(_NUMBER.findall(segment.text))
    return counts


def difference(seen_text: str, told: Sequence[Segment], shown: Callable[[str], str]) -> Difference | None:
    """`shown` gives a text as this kind of file prints it."""
    wanted = _BLANK.sub("", shown("".join(s.text for s in told)))
    places = [i for i, sign in enumerate(seen_text) if not _BLANK.fullmatch(sign)]
    seen = "".join(seen_text[i] for i in places)
    if seen == wanted:
        return None
    least = min(len(seen), len(wanted))
    start = next((i for i, (a, b) in enumerate(zip(seen, wanted, strict=False)) if a != b), least)
    tail = 0
    while tail < least - start and seen[-1 - tail] == wanted[-1 - tail]:
        tail += 1
    untraced = len(_NUMBER.findall(seen[start : len(seen) - tail])) or 1
    ends = (
        [places[max(0, min(len(places) - 1, at))] for at in (start - _CONTEXT, start + _CONTEXT)] if places else [0, 0]
    )
    near = " ".join(seen_text[ends[0] : ends[1]].split())
    expected = wanted[max(0, start - 12) : start + 24]
    return Difference(f"the visible text is not what the claims say near '{near}'; they say '{expected}'", untraced)
