"""No reply is longer than its limit, whatever it holds; what was cut is kept whole behind a link."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernellab.tools.replies import LIMIT, Answer, Link, answer

LONG = st.builds(lambda text, times: text * times, st.text(max_size=4), st.integers(0, 3000))
VALUES = st.recursive(
    st.one_of(st.none(), st.integers(-(10**9), 10**9), LONG),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(LONG, inner, max_size=6),
    max_leaves=12,
)


def made(data: dict[str, Any], links: list[Link] | None = None) -> tuple[Answer, list[str]]:
    kept: list[str] = []

    def keep(text: str) -> Link:
        kept.append(text)
        return Link("klab://reply/r1", "the whole reply")

    return answer(data, links or [], lambda text: text, keep), kept


def test_a_short_reply_is_whole_and_keeps_nothing() -> None:
    found, kept = made({"status": "ok", "n": 1.23456789})
    assert json.loads(found.text) == {"status": "ok", "n": 1.23457}
    assert (kept, found.links) == ([], ())


@pytest.mark.heavy
@settings(max_examples=40, deadline=None)
@given(st.dictionaries(LONG, VALUES, max_size=6), st.integers(0, 80))
def test_every_reply_keeps_the_limit(data: dict[str, Any], links: int) -> None:
    found, kept = made(data, [Link(f"klab://run/r{i}/ledger", "x" * 60) for i in range(links)])
    assert found.tokens <= LIMIT
    if kept:
        assert json.loads(kept[0]) is not None
        assert found.links[0].uri == "klab://reply/r1"


@pytest.mark.parametrize(
    "data",
    [
        {"source": "word " * 5000, "status": "built"},
        {"rows": [{"n": i, "why": "x" * 90} for i in range(200)], "status": "built"},
    ],
)
def test_what_is_short_stays_and_the_long_part_is_cut(data: dict[str, Any]) -> None:
    found, kept = made(data)
    assert found.tokens <= LIMIT
    shown = json.loads(found.text)
    assert shown["status"] == "built"
    assert json.loads(kept[0]) == data
    assert found.tokens > LIMIT // 4


def test_everything_passes_the_cleaner_keys_too() -> None:
    found = answer(
        {"secret": ["a secret", {"secret": 1}]}, [], lambda t: t.replace("secret", "-"), lambda _: Link("", "")
    )
    assert "secret" not in found.text
