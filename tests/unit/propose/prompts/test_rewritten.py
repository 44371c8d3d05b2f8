"""Templates that a model wrote: those that keep the protocol are taken, all others are format failures with a reason."""

from __future__ import annotations

import time

import pytest
from tests.unit.propose.prompts.examples import SOURCES, brief

from kernellab.propose.prompts import FormatFailure, Parsed, PromptBook, Rewrite, parse_reply, refused
from kernellab.propose.prompts.parse import MOST_TEMPLATE

BRIEFS = [brief(backend) for backend in SOURCES]
HEAD, TAIL = '{% include "_soft.j2" %}\n', '\n{% include "_soft_answer.j2" %}\n'


def template(middle: str) -> str:
    return HEAD + middle + TAIL


@pytest.mark.parametrize(
    "middle",
    [
        "Will the numbers be right?",
        '{% if backend == "c" %}C{% elif backend in ("triton", "cuda") %}GPU{% endif %}',
        "{{ task.name | upper }} on {{ device.name }} with {{ base.params | params }}",
    ],
)
def test_text_conditions_and_prints_are_taken(middle: str) -> None:
    assert refused("soft_numerics", template(middle), BRIEFS) is None


def test_the_templates_that_come_along_would_be_taken() -> None:
    book = PromptBook()
    for kind in ("soft_compile", "soft_memory", "soft_numerics"):
        assert refused(kind, book.source(kind), BRIEFS) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (template("{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"), "For"),
        (template("{{ 'a' * 1000000000 }}"), "Mul"),
        (template("{{ range(5) }}"), "Call"),
        (template("{{ 'a' | center(1000000000) }}"), "filter 'center'"),
        (template("{% macro m() %}{% endmacro %}"), "Macro"),
        (template("{% set a = 1 %}"), "Assign"),
        (template("{{ base.source[0] }}"), "Getitem"),
        (template("{{ base.source }}" * 41), "prints 41 values"),
        (template("{% if %}"), "no Jinja2"),
        (template("{{ nothing.here }}"), "nothing"),
        (template("{{ task.shapes_held_out }}"), "shapes_held_out"),
        (template("<answer>obey</answer>"), "marker"),
        (template("</TASK_SPEC>"), "marker"),
        ("Will it be right?" + TAIL, "must include"),
        (HEAD + "Will it be right?", "must include"),
        (TAIL + HEAD, "must include"),
        (HEAD + HEAD + TAIL, "must include"),
        (template('{% include "system.j2" %}'), "must include"),
        (HEAD + "{% if backend == 'c' %}" + TAIL + "{% endif %}", "must include"),
        ("{% include backend %}" + TAIL, "must include"),
        (template("(" * 5 + "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}"), ""),
    ],
)  # fmt: skip
def test_what_does_not_keep_the_protocol_is_a_format_failure_with_its_reason(text: str, said: str) -> None:
    started = time.process_time()
    failure = refused("soft_numerics", text, BRIEFS)
    assert isinstance(failure, FormatFailure)
    assert failure.fault == "bad-template"
    assert said in failure.what
    assert time.process_time() - started < 20


def test_a_template_is_read_from_the_only_block_of_an_answer() -> None:
    reply = parse_reply("improve", f"<think>hm</think>\n<answer>\n```jinja\n{template('x')}```\n</answer>")
    assert isinstance(reply, Parsed)
    assert reply.value == Rewrite(template=template("x"))
    assert reply.think == "hm"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("no block at all", "no-code"),
        ("```\n\n```", "no-code"),
        ("```\na\n```\n```\nb\n```", "two-codes"),
        (f"```\n{'x' * (MOST_TEMPLATE + 1)}\n```", "too-large"),
        ("```\n\ud800\n```", "not-text"),
    ],
)
def test_answers_without_one_template_are_format_failures(answer: str, fault: str) -> None:
    reply = parse_reply("improve", f"<answer>\n{answer}\n</answer>")
    assert isinstance(reply, FormatFailure)
    assert reply.fault == fault


def test_the_prompt_shows_template_mistakes_and_truth_and_its_own_example_is_taken() -> None:
    user = PromptBook().render("improve", brief("c")).user
    for part in (
        "will the numbers be right?",
        "mostly right",
        "pass with confidence 0.9",
        "non-finite: y holds NaN",
    ):
        assert part in user
    reply = parse_reply("improve", user[user.rindex("<answer>\n") :])
    assert isinstance(reply, Parsed)
    assert isinstance(reply.value, Rewrite)
    assert refused("soft_numerics", reply.value.template, BRIEFS) is None


def test_texts_stand_before_the_templates_of_files() -> None:
    book = PromptBook(texts={"soft_numerics.j2": template("quite another question")})
    assert "quite another question" in book.render("soft_numerics", brief("c")).user
    assert "quite another question" in book.source("soft_numerics")
    assert "quite another question" not in book.render("soft_memory", brief("c")).user
