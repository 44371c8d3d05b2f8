"""Other words, the same problem: numbers, code and markers stay, whatever the text and the seed."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.learn import rewriting
from kernellab.learn.rewriting import Changed, Kind, check, rewrite, rewritten
from kernellab.propose.prompts import Brief, DeviceFacts, PromptBook, TaskFacts
from kernellab.propose.prompts.markers import inert
from kernellab.tasks.load import load_task

KINDS: tuple[Kind, ...] = get_args(Kind)
PIECES = st.sampled_from(
    ["Write a kernel", "faster than", " 1.25x", "\n\n", "\n", "```python\nmust be = 3\n\n", "```\n", "`must be`", "<answer>",
     "</task_spec>", " must be 64 ", "1e-3", "text", "~~~\n", "\n```", "2,048 rows", "<think>"]
)  # fmt: skip


def prompt() -> list[dict[str, str]]:
    facts = TaskFacts.of(load_task("softmax").on("cpu"), "cpu")
    made = PromptBook().render("write", Brief(facts, DeviceFacts("some processor", "cpu", 2), "c"))
    return [{"role": "system", "content": made.system}, {"role": "user", "content": made.user}]


@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(KINDS), st.integers(0, 1000))
def test_numbers_code_and_markers_stay(text: str, kind: Kind, seed: int) -> None:
    found = rewrite(text, kind, seed)
    check(text, found)
    assert found == rewrite(text, kind, seed)


@given(st.text(max_size=200), st.sampled_from(KINDS), st.integers(0, 50))
def test_any_text_can_be_rewritten(text: str, kind: Kind, seed: int) -> None:
    check(text, rewrite(text, kind, seed))


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_prompt_is_put_differently_and_asks_the_same(kind: Kind) -> None:
    before = prompt()
    after = [rewritten(before, kind, seed) for seed in range(6)]
    assert all(found[0] == before[0] for found in after)
    assert all(found[1]["content"] != before[1]["content"] for found in after)
    assert len({found[1]["content"] for found in after}) > 1
    blocks = before[1]["content"].split("```")[1::2]
    assert all(found[1]["content"].split("```")[1::2] == blocks for found in after)


@pytest.mark.parametrize("text", ["\n```", "```c\nint a;", "~~~", "x\n\n```python\nmust be\n\n", "` `` ```"])
def test_code_that_is_not_closed_stays_as_it_is(text: str) -> None:
    for kind in KINDS:
        for seed in range(20):
            check(text, rewrite(text, kind, seed))


def test_phrases_in_code_are_left_alone() -> None:
    text = "It must be right.\n```c\n/* must be */\n```\nIt must be `must be` fast."
    for seed in range(10):
        found = rewrite(text, "paraphrase", seed)
        assert "It has to be" in found
        assert "/* must be */" in found
        assert "`must be`" in found


@pytest.mark.parametrize("kind", ["distractors", "adversarial"])
def test_sentences_are_added_and_nothing_is_taken_away(kind: Kind) -> None:
    text = "One paragraph with 3 numbers: 1 and 2.\n\nAnother.\n\n```c\nint a;\n\nint b;\n```\n\nThe end."
    for seed in range(20):
        found = rewrite(text, kind, seed)
        added = [s for s in rewriting._SENTENCES[kind] if s in found]
        assert 1 <= len(added) <= 3
        for sentence in added:
            found = found.replace(sentence, "")
        assert found.split() == text.split()


def test_what_is_added_holds_neither_numbers_nor_markers() -> None:
    pool = [*rewriting._DISTRACTORS, *rewriting._ASTRAY, *(phrase for group in rewriting._SAME for phrase in group)]
    assert all(not any(c.isdigit() for c in words) and inert(words) == words and "`" not in words for words in pool)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("rows of 512", "rows of 513", "every number"),
        ("1 then 2", "2 then 1", "in its order"),
        ("1e-3", "1e-2", "every number"),
        ("none", "some 4", "every number"),
        ("a `b` c", "a `d` c", "code and markers"),
        ("<answer>x</answer>", "x", "code and markers"),
        ("```c\nf();\n```", "```c\ng();\n```", "code and markers"),
        ("x", "x <think>", "code and markers"),
    ],
)
def test_a_rewriting_that_changes_the_problem_is_refused(before: str, after: str, words: str) -> None:
    with pytest.raises(Changed, match=words):
        check(before, after)
