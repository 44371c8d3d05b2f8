"""How far apart two candidates are: their code as tokens, their parameters by name and size. 0 the same, 1 nothing shared.

Code is compared as bags of token triples (Dice): close to an edit distance for the small changes that matter here, and
fast enough to compare every pair. Comments and the docstring do not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from kernellab.core.records import Param
from kernellab.search.memory.features import strip_comments
from kernellab.search.memory.specimen import Specimen

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.+-]*|[^\s\w]")
_OCTAVES = 3.0
"""Numbers this many doublings apart count as wholly different."""


def distance(a: Specimen, b: Specimen) -> float:
    """Both kinds together: what is shared in code times what is shared in parameters, taken from 1."""
    one, other = a.trial.proposal, b.trial.proposal
    code = 0.0 if one.source == other.source else code_distance(a.source, b.source)
    return 1 - (1 - code) * (1 - param_distance(one.params, other.params))


@lru_cache(maxsize=65536)
def code_distance(a: str, b: str) -> float:
    """Two texts that are not known share nothing that could be seen."""
    first, second = _triples(a), _triples(b)
    total = first.total() + second.total()
    if a == b:
        return 0.0 if a else 1.0
    return 1 - 2 * (first & second).total() / total if total else 1.0


def param_distance(a: Mapping[str, Param], b: Mapping[str, Param]) -> float:
    """The mean over all names: numbers by their ratio, words by being the same, a name on one side only counts full."""
    names = sorted({*a, *b})
    if not names:
        return 0.0
    return sum(_apart(a[n], b[n]) if n in a and n in b else 1.0 for n in names) / len(names)


def changed(a: Mapping[str, Param], b: Mapping[str, Param]) -> dict[str, tuple[Param | None, Param | None]]:
    """The parameters that differ, with both values."""
    return {n: (a.get(n), b.get(n)) for n in sorted({*a, *b}) if a.get(n) != b.get(n) or (n in a) != (n in b)}


def _apart(a: Param, b: Param) -> float:
    if type(a) is type(b) and a == b:
        return 0.0
    numbers = [v for v in (a, b) if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) < 2 or min(numbers) <= 0:
        return 0.0 if len(numbers) == 2 and a == b else 1.0
    return min(1.0, math.log2(max(numbers) / min(numbers)) / _OCTAVES)


@lru_cache(maxsize=1024)
def _triples(source: str) -> Counter[tuple[str, ...]]:
    tokens = ["", *_TOKEN.findall(strip_comments(source)), ""]
    return Counter(zip(tokens, tokens[1:], tokens[2:], strict=False))
