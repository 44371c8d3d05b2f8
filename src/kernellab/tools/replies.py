"""Replies that fit: an agent pays for every token it reads, so none is longer than LIMIT; the rest goes by link.

One function makes every reply, and nothing leaves without passing its cleaner: paths become names, keys are taken out.
Tokens are estimated from the high side (three bytes each).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernellab.propose.prompts import estimate_tokens

LIMIT = 1900
_CUT = " ... (cut, the whole is linked)"
_FEW = 40
_LENGTHS = (4000, 2800, 2000, 1400, 1000, 700, 500, 350, 250, 120, 60, 30)


@dataclass(frozen=True)
class Link:
    """A resource that a reply points to."""

    uri: str
    name: str


@dataclass(frozen=True)
class Answer:
    text: str
    links: tuple[Link, ...]
    error: bool = False

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text) + sum(_cost(link) for link in self.links)


def answer(
    data: dict[str, Any], links: Sequence[Link], clean: Callable[[str], str], whole: Callable[[str], Link],
    error: bool = False,
) -> Answer:  # fmt: skip
    """The data as JSON with its links, within LIMIT. `whole` keeps a text that had to be cut and gives the link to it."""
    shown = _walked(data, clean)
    text = _text(shown)
    made = Answer(text, tuple(links), error)
    if made.tokens <= LIMIT:
        return made
    all_links = (whole(text), *links)[: 1 + _FEW]
    while len(all_links) > 1 and sum(map(_cost, all_links)) > LIMIT // 2:
        all_links = all_links[:-1]
    room = LIMIT - sum(map(_cost, all_links))
    return Answer(_fitted(shown, room), all_links, error)


def _fitted(data: Any, tokens: int) -> str:
    """Everything that is long is cut to the same length, as short as it must be: what is short says most."""
    text = ""
    for most in _LENGTHS:
        text = _text(_shortened(data, most))
        if estimate_tokens(text) <= tokens:
            return text
    return text[: max(0, tokens - estimate_tokens(_CUT))] + _CUT


def _shortened(value: Any, most: int) -> Any:
    """Texts of so many characters; lists and objects of a tenth as many things."""
    if isinstance(value, str):
        return value if len(value) <= most else value[:most] + _CUT
    if isinstance(value, dict):
        return {_shortened(k, most): _shortened(v, most) for k, v in list(value.items())[: max(8, most // 10)]}
    return [_shortened(v, most) for v in value[: max(2, most // 10)]] if isinstance(value, list) else value


def _walked(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(k)): _walked(v, clean) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_walked(v, clean) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _cost(link: Link) -> int:
    """As it goes over the wire, with the names of its fields."""
    return estimate_tokens(link.uri + link.name) + 24
