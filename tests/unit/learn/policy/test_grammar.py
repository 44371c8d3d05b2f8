"""Every sentence under the grammar is a combination of the offer, and back."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.learn.policy.situations import SPACES

from kernellab.core.errors import UsageError
from kernellab.learn.policy.grammar import Grammar, space_digest, unlike
from kernellab.learn.tabular import Pick

GRAMMAR = Grammar(SPACES)


def test_sentences_and_picks_are_inverse_and_whole() -> None:
    picks = GRAMMAR.offered(SPACES)
    assert len(picks) == len(set(picks)) == 6 + 1 + 3
    for pick in picks:
        sentence = GRAMMAR.sentence(pick)
        assert GRAMMAR.pick(sentence) == pick
        assert GRAMMAR.next_words(SPACES, sentence) == []
        assert all(word in GRAMMAR.next_words(SPACES, sentence[:at]) for at, word in enumerate(sentence))
        assert GRAMMAR.picked(pick.recipe, dict(reversed(GRAMMAR.params(pick).items()))) == pick


def test_one_true_and_the_word_one_are_different_choices() -> None:
    found = [GRAMMAR.params(Pick("odd", (at, 0)))["U"] for at in range(3)]
    assert [type(value) for value in found] == [int, bool, str]
    assert GRAMMAR.picked("odd", {"U": True, "W": 0.5}) == Pick("odd", (1, 0))


def test_recipes_share_the_words_of_their_parameters() -> None:
    assert set(GRAMMAR.sentence(Pick("wide", (0, 0)))) & set(GRAMMAR.sentence(Pick("odd", (0, 0))))


def test_a_smaller_offer_allows_fewer_words() -> None:
    offer = {"wide": {"U": [2], "V": ["b", "a"]}}
    assert set(GRAMMAR.offered(offer)) == {Pick("wide", (1, 0)), Pick("wide", (1, 1))}
    assert GRAMMAR.next_words(offer, []) == [GRAMMAR.number["wide"]]


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        ({}, "no recipe is offered"),
        ({"wise": {}}, "does not know wise"),
        ({"wide": {"U": [1]}}, "does not know wide with U"),
        ({"wide": {"U": [3], "V": ["a"]}}, "does not know U=3 of wide"),
        ({"wide": {"U": [], "V": ["a"]}}, "U without a choice"),
    ],
)
def test_an_offer_that_it_has_no_words_for_is_refused(offer: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        GRAMMAR.check(offer)


def test_a_choice_of_another_recipe_is_not_taken_for_its_own() -> None:
    with pytest.raises(UsageError, match="U=4 of odd"):
        GRAMMAR.check({"odd": {"U": [4], "W": [0.5]}})


def test_a_proposal_with_a_parameter_too_many_is_refused() -> None:
    with pytest.raises(UsageError, match="does not know plain with U"):
        GRAMMAR.picked("plain", {"U": 1})


@pytest.mark.parametrize("spaces", [{}, {"wide": {"U": []}}])
def test_a_grammar_needs_something_to_choose_from(spaces: Any) -> None:
    with pytest.raises(UsageError, match="needs recipes"):
        Grammar(spaces)


def _changed(what: str) -> dict[str, Any]:
    spaces = copy.deepcopy(SPACES)
    if what == "renamed":
        spaces["broad"] = spaces.pop("wide")
    elif what == "gone":
        spaces["wide"]["U"].remove(2)
    elif what == "new":
        spaces["wide"]["U"].append(8)
    elif what == "parameter":
        spaces["plain"]["X"] = [1]
    elif what == "less":
        del spaces["odd"]["W"]
    elif what == "recipe":
        spaces["other"] = {}
    elif what == "turned":
        spaces["wide"]["U"].reverse()
    return spaces


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("same", ""),
        ("renamed", "the recipe wide is not here"),
        ("gone", "wide has no choice U=2 here"),
        ("new", "wide has a further choice U=8 here"),
        ("parameter", "plain has a further parameter X here"),
        ("less", "odd has no parameter W here"),
        ("recipe", "there is a further recipe other here"),
        ("turned", "in another order here"),
    ],
)
def test_what_differs_between_two_spaces_is_said(what: str, words: str) -> None:
    found = unlike(SPACES, _changed(what))
    assert found.endswith(words)
    assert (space_digest(SPACES) == space_digest(_changed(what))) == (found == "")
