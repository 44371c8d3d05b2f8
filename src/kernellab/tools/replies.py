"""Replies that fit: an agent pays for every token it reads, so none is longer than LIMIT; the rest goes by link.

One function makes every reply, and nothing leaves without passing it: paths become names, held-out shapes and keys are
taken out. Tokens are estimated from the high side (three bytes each).
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
    """The longest text or list is halved until the rest fits: what is short says most."""
    text = _text(data)
    while estimate_tokens(text) > tokens:
        places = [(len(_text(value)), place) for place, value in _leaves(data, ())]
        size, place = max(places, default=(0, ()))
        if size <= _FEW:
            return text[: max(0, tokens * 3 - 3 * len(_CUT))] + _CUT
        data = _changed(data, place)
        text = _text(data)
    return text


def _leaves(value: Any, place: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], Any]]:
    """Texts, and lists of more than one thing, with where they are."""
    if isinstance(value, str):
        return [(place, value)]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [leaf for key, item in items for leaf in _leaves(item, (*place, key))]
    if isinstance(value, list) and len(value) > 1 and all(len(_text(v)) < 400 for v in value):
        return [(place, value), *inner]
    return inner


def _changed(data: Any, place: tuple[str | int, ...]) -> Any:
    if not place:
        if isinstance(data, str):
            return data.removesuffix(_CUT)[: (len(data.removesuffix(_CUT))) // 2] + _CUT
        return [*data[: len(data) // 2]]
    key, rest = place[0], place[1:]
    if isinstance(data, dict):
        return {k: _changed(v, rest) if k == key else v for k, v in data.items()}
    return [_changed(v, rest) if i == key else v for i, v in enumerate(data)]


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
