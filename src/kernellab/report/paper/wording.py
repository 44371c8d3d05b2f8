"""What of a text carries facts: numbers in any writing, units, and every word that is not a mere link between others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from kernellab.report.paper.claims import MARK, Claim

_NUMBER = re.compile(
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|four|fif|six|seven|eigh|nine)ty|zero|hundred|thousand|[mbtr]illion|dozen|half|halve|halves|third"
    r"|quarter|twice|thrice|double|triple|quadruple|quintuple|one(?=hundred|thousand|fold))+"
    r"(?:s|d|th|ths|fold)?"
    r"|(?:fourth|fifth|sixth|seventh|eighth|ninth|tenth|twelfth|twentieth)s?|fold|onefold"
)
_UNITS: Mapping[str, tuple[str, ...]] = {
    **{unit: (unit,) for unit in ("%", "s", "ms", "µs", "ns", "ps", "GB/s", "TB/s", "MB/s", "ULP", "USD", "KB", "MB", "GB")},
    **{word: (unit,) for names, unit in (
        ("percent percentage", "%"), ("second seconds sec", "s"), ("millisecond milliseconds", "ms"),
        ("microsecond microseconds us μs", "µs"), ("nanosecond nanoseconds", "ns"),
        ("dollars dollar", "USD"), ("minute minutes min", "min"), ("hour hours h", "h"), ("day days", "day"),
        ("year years", "year")) for word in names.split()},
    **dict.fromkeys(("×", "x", "times"), ("×", "")),
    **dict.fromkeys(("B", "byte", "bytes"), ("B", "")),
}  # fmt: skip
UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_AFTER = re.compile(rf"⟦(c\d+)⟧[\s-]*({UNIT})(?!\w)")
_LINKS = frozenset(
    word
    for line in (
        "a an the this that these those it its they their them we our which who here there and also then while",
        "is are was has have but however though although in on at with for",
    )
    for word in line.split()
)
DENIAL = "⟦no⟧"  # stands before and after a sentence that must not change
_NEGATIONS = frozenset(
    ("no", "not", "none", "nothing", "nobody", "never", "neither", "nor", "nowhere", "without", "cannot", "hardly", "barely",
     "unless", "if")
)  # fmt: skip
_ENDS = frozenset(".!?;")
_QUIET = frozenset(".,;:()[]\"'’“”`-–—")
_TOKEN = re.compile(rf"⟦@?\w+⟧(?:\s*(?:{UNIT})(?!\w))?|[^\W_]+|\S")
_GLUED = re.compile(r"(?:[\w⟧.,]|[+–—−-]\s*)⟦c\d+⟧|⟦c\d+⟧[.,]?[\w⟦]")


def numeral(text: str) -> bool:
    """Whether a sign of it is a number: 7, ½, ², ②, Ⅻ, and digits of any script."""
    return any(unicodedata.category(sign)[0] == "N" for sign in text)


def stray_numbers(words: str) -> Iterator[str]:
    """Words that say a number: in signs, or spelled out ("one" is left: it is an article as well)."""
    for word in words.split():
        spelled = re.split(r"[^a-z]+", word.lower())
        if numeral(word) or any(_NUMBER.fullmatch(part) for part in spelled if part):
            yield word


def wrong_units(text: str, claims: Mapping[str, Claim]) -> Iterator[str]:
    """Units beside a number that are not its own, and signs glued to it that would make it another number."""
    for found in _GLUED.finditer(text):
        numbers = [c for name in MARK.findall(found[0]) if (c := claims.get(name)) and not isinstance(c.value, str)]
        if numbers and not _AFTER.match(text, found.start()):
            yield f"'{found[0].replace(numbers[0].mark, numbers[0].printed)}', which joins a number to something else"
    for name, unit in _AFTER.findall(text):
        claim = claims.get(name)
        if claim is None:
            continue
        shown = bool(claim.unit) and claim.printed.endswith(claim.unit)
        if shown or claim.unit not in _UNITS[unit]:
            yield f"'{claim.printed} {unit}', which is in '{claim.unit or 'no unit'}'"


def said(text: str) -> list[str]:
    """Everything but links and quiet signs, in order: marks with their units, numbers, words, signs. Of a sentence that
    denies something, all of it: there a link or a comma more can turn it round."""
    spread = re.sub(r"n[’'ʼ]t\b", " not", text.replace("`", " "))
    spread = re.sub(r"(?<=\w)[’'ʼ]s\b", "", spread)
    found = [token if token[0] == "⟦" else token.casefold() for token in _TOKEN.findall(spread)]
    kept = [re.sub(r"\s+", " ", token) for sentence in _sentences(found) for token in _telling(sentence)]
    return kept + sorted(_GLUED.findall(spread))


def _sentences(tokens: list[str]) -> Iterator[list[str]]:
    start = 0
    for at, token in enumerate(tokens, 1):
        if token in _ENDS or at == len(tokens):
            yield tokens[start:at]
            start = at


def _telling(sentence: list[str]) -> list[str]:
    if not _NEGATIONS.isdisjoint(sentence):
        return [DENIAL, *sentence, DENIAL]
    return [token for token in sentence if token not in _LINKS and token not in _QUIET]
