"""The parser: every kind of reply read, every kind of malformed one recorded, and no text at all that makes it raise."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.propose.prompts.examples import CUDA, SOURCES, TRITON, C

from kernellab.core.ids import canonical_json
from kernellab.core.records import dump
from kernellab.propose.prompts import CodeReply, Design, FormatFailure, Opinion, Parsed, Selection, parse_reply
from kernellab.propose.prompts.parse import MOST_CODE

FENCED = f"```python\n{C}```"
KINDS = ("select", "design", "write", "repair", "translate", "soft_compile", "soft_memory", "soft_numerics", "improve")
EXPERIMENT = {"hypothesis": "h", "change": "c", "gain_low": 1.0, "gain_high": 1.2, "risk": "r", "refuted_if": "f"}


def code(text: str, backend: str = "c") -> CodeReply:
    reply = parse_reply("write", text, backend)
    assert isinstance(reply, CodeReply), reply
    return reply


def fault(text: str, kind: str = "write", backend: str = "c", known: tuple[str, ...] = ()) -> FormatFailure:
    reply = parse_reply(kind, text, backend, known)
    assert isinstance(reply, FormatFailure), reply
    assert len(reply.excerpt) <= 300
    assert canonical_json(dump(reply))
    return reply


def answer(text: str) -> str:
    return f"<answer>\n{text}\n</answer>"


@pytest.mark.parametrize("backend", SOURCES)
@pytest.mark.parametrize("kind", ["write", "repair", "translate"])
def test_a_proper_reply_gives_the_file_its_space_and_the_reasoning_apart(kind: str, backend: str) -> None:
    text = f"<think>\nwhy <answer> and </answer>?\n</think>\n<answer>\n```python\n{SOURCES[backend]}```\n</answer>\n"
    reply = parse_reply(kind, text, backend)
    assert isinstance(reply, CodeReply)
    assert reply.source == SOURCES[backend]
    assert reply.think == "why <answer> and </answer>?"
    assert reply.backend == backend
    assert reply.notes == ()
    assert reply.space == ({"STEP": [1, 2]} if backend == "c" else {})


@pytest.mark.parametrize(
    "text",
    [
        answer(FENCED).replace("\n", "\r\n"),
        f"Sure! Here it is: {answer(FENCED)} Hope it helps.",
        f"<ANSWER>\n{FENCED}\n</ANSWER>",
        f"<answer>```python\n{C}```</answer>",
        f"<answer>\n~~~py\n{C}~~~\n</answer>",
        f"<answer>\n````python\n{C}````\n</answer>",
        f"<think></think><answer>\n{FENCED}\n</answer>",
        f"<think>a</think>\n<think>b</think>{answer(FENCED)}",
    ],
)
def test_harmless_differences_of_form_are_read(text: str) -> None:
    assert code(text).source == C
    assert code(text).notes == ()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (answer(f"Here is the kernel:\n{FENCED}\nIt should be fast."), "prose around the code"),
        (answer(C), "no fence around the code"),
        (f"<answer>\n{FENCED}\n", "no </answer> at the end"),
        (f"it was opened by the template\n</think>\n{answer(FENCED)}", "reasoning without its opening marker"),
        (f"first <answer>draft</answer></think>{answer(FENCED)}", "reasoning without its opening marker"),
    ],
)
def test_what_is_unambiguous_is_read_with_a_note(text: str, note: str) -> None:
    assert code(text).source == C
    assert note in code(text).notes


def test_markers_inside_code_are_code() -> None:
    source = C.replace("    for", "    /* </answer> <answer> </think>\n<answer>\n*/\n    for")
    assert code(answer(f"```python\n{source}```")).source == source


LONG = C.replace('"""Twice', '"""' + "x" * MOST_CODE)


@pytest.mark.parametrize(
    ("text", "expected", "said"),
    [
        ("", "empty", "empty"),
        (" \n\t ", "empty", "empty"),
        ("The kernel is memory bound.", "no-answer", "no <answer>"),
        (f"{FENCED}\nor\n{FENCED}", "no-answer", "no <answer>"),
        ("<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", "no-answer", "HTML"),
        ("</answer>", "no-answer", "no <answer>"),
        (f"<think>\n{FENCED}\n</think>\nI cannot.", "no-answer", "no <answer>"),
        (f"<think>\n{FENCED}\n</THINK>\nI cannot.", "no-answer", "no <answer>"),
        (f"musing\n{answer(FENCED)}</Think>\nI cannot.", "no-answer", "no <answer>"),
        (f"{answer(FENCED)}\n{answer(FENCED)}", "two-answers", "2 <answer>"),
        (f"<answer>\n<answer>\n{FENCED}\n</answer>", "two-answers", "inside"),
        (f"<think>hm\n{answer(FENCED)}", "unclosed-think", "</think>"),
        (f"<answer>\n```python\n{C}", "unclosed-code", "cut off"),
        (f"<answer>\n```python\n{C}</answer>", "unclosed-code", "cut off"),
        (f"<answer>\n{C}", "unclosed-answer", "neither"),
        (answer(f"{FENCED}\n{FENCED}"), "two-codes", "2 code blocks"),
        (answer("```c\nint x;\n```"), "not-python", "marked 'c'"),
        (answer("```python\ndef launch(:\n```"), "not-python", "line 1"),
        (answer("```python\n```"), "no-code", "no code"),
        (answer("I cannot do that."), "no-code", "no fenced"),
        (answer(""), "no-code", "no code"),
        (answer("```python\nx = 1\n```"), "no-launch", "launch()"),
        (answer("```python\nasync def launch(x): ...\n```"), "no-launch", "launch()"),
        (answer("```python\ndef launch(x): ...\n```"), "no-source", "SOURCE"),
        (answer(f"```python\n{TRITON}```"), "wrong-backend", "for triton, c is asked"),
        (answer(f"```python\n{CUDA}```"), "wrong-backend", "for cuda, c is asked"),
        (answer(f"```python\n{C.replace('[1, 2]', 'list(range(3))')}```"), "bad-space", "not a literal"),
        (answer(f"```python\n{C.replace('[1, 2]', '[]')}```"), "bad-space", "at least one"),
        (answer(f"```python\n{C.replace('[1, 2]', '[[1]]')}```"), "bad-space", "numbers"),
        (answer(f"```python\n{C.replace('[1, 2]', '[1e999]')}```"), "bad-space", "numbers"),
        (answer(f"```python\n{C.replace('{' + chr(34) + 'STEP' + chr(34) + ': [1, 2]}', '7')}```"), "bad-space", "dict"),
        (answer(f"```python\n{LONG}```"), "too-large", "bytes"),
        ("x" * 10_000_000, "too-large", "10000000 characters"),
        (answer("```python\nx = '\ud800'\n```"), "not-text", "no text"),
        (answer("```python\nx = 1\0\n```"), "not-python", ""),
        (answer(f"```python\nx = {'(' * 5000}{')' * 5000}\n```"), "not-python", ""),
        (answer(f"```python\nx = {'-' * 90000}1\n```"), "not-python", ""),
        (answer(f"```python\nx = y{'.a' * 90000}\n```"), "not-python", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_code_reply_is_recorded(text: str, expected: str, said: str) -> None:
    failure = fault(text)
    assert failure.fault == expected
    assert said in failure.what
    assert failure.expected == "write"


def test_characters_that_are_no_text_are_faults_wherever_they_hide() -> None:
    assert (
        fault(answer(f"```python\n{C.replace('[1, 2]', '[' + chr(34) + chr(92) + 'ud800' + chr(34) + ']')}```")).fault
        == "not-text"
    )
    assert fault(answer('{"' + chr(92) + 'ud800": 1}'), "design").fault == "wrong-json"
    assert fault(answer("```\ud800\nx\n```")).fault == "not-python"
    assert fault(answer('{"base": "\ud800", "why": "b"}'), "select", known=("a",)).fault in (
        "wrong-json",
        "unknown-kernel",
    )
    assert parse_reply("write", f"<think>\ud800</think>{answer(FENCED)}", "c") is not None


def test_choices_keep_their_types() -> None:
    space = code(
        answer(f"```python\n{C.replace('[1, 2]', '[True, 1, 1.0, ' + chr(34) + 'a' + chr(34) + ']')}```")
    ).space
    assert [type(v) for v in space["STEP"]] == [bool, int, float, str]


@pytest.mark.heavy
def test_ten_megabytes_of_anything_take_no_time() -> None:
    for piece in ("<answer>", "```\n", "<think>", "{", "`", "<", " \n", "é"):
        started = time.process_time()
        fault(piece * (10_000_000 // len(piece)))
        fault("<answer>\n" + piece * (1_900_000 // len(piece)), "design")
        assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (FENCED, "no <answer> marker"),
        (f"Here it is:\n{FENCED}\nIt is fast.", "no <answer> marker"),
        (f"<think>why</think>\n{FENCED}", "no <answer> marker"),
        (f"<Think>why</THINK>\n{FENCED}", "no <answer> marker"),
        (f"<answer>\n{FENCED}\nand now", "no </answer> at the end"),
    ],
)
def test_a_lone_code_block_counts_though_a_marker_is_missing_and_that_is_noted(text: str, note: str) -> None:
    reply = parse_reply("write", text, "c")
    assert isinstance(reply, CodeReply)
    assert note in reply.notes
    assert "def launch(" in reply.source
    assert isinstance(parse_reply("select", text), FormatFailure)


def test_a_selection_names_kernels_that_were_shown() -> None:
    text = answer('{"base": "trial 4", "reference": "trial 2", "why": "far from the floor"}')
    reply = parse_reply("select", text, known=("trial 4", "trial 2"))
    assert isinstance(reply, Parsed)
    assert reply.value == Selection(base="trial 4", reference="trial 2", why="far from the floor")
    assert fault(text, "select", known=("trial 4",)).fault == "unknown-kernel"
    same = text.replace("trial 2", "trial 4")
    assert fault(same, "select", known=("trial 4",)).fault == "unknown-kernel"


@pytest.mark.parametrize("spelled", ["trial 4", "Trial 4", "4", "#4", "trial #4", " trial 4 ", "TRIAL 04"])
def test_a_shown_kernel_may_be_named_by_its_number_alone(spelled: str) -> None:
    text = answer(json.dumps({"base": spelled, "reference": None, "why": "far from the floor"}))
    reply = parse_reply("select", text, known=("trial 14", "trial 4"))
    assert isinstance(reply, Parsed)
    assert isinstance(reply.value, Selection)
    assert reply.value.base == "trial 4"
    assert fault(text, "select", known=("trial 14",)).fault == "unknown-kernel"


def test_a_design_holds_experiments_that_become_facts() -> None:
    reply = parse_reply(
        "design",
        f"<think>t</think>{answer('```json' + chr(10) + json.dumps({'experiments': [EXPERIMENT]}) + chr(10) + '```')}",
    )
    assert isinstance(reply, Parsed)
    assert isinstance(reply.value, Design)
    assert reply.think == "t"
    assert reply.value.experiments[0].fact().gain_high == 1.2


def test_an_opinion_is_read_with_prose_around_it() -> None:
    reply = parse_reply(
        "soft_memory", answer('I think:\n{"verdict": "fail", "confidence": 0.9, "problem": "line 4", "line": 4} ok')
    )
    assert isinstance(reply, Parsed)
    assert isinstance(reply.value, Opinion)
    assert (reply.value.verdict, reply.value.line) == ("fail", 4)
    assert reply.notes == ("prose around the JSON",)


@pytest.mark.parametrize(
    ("kind", "body", "expected", "said"),
    [
        ("design", "no object", "not-json", "no JSON object"),
        ("design", "{'experiments': []}", "not-json", "valid JSON"),
        ("design", '{"experiments": []}', "wrong-json", "experiments"),
        ("design", '{"experiments": [{}]}', "wrong-json", "experiments.0.hypothesis: Field required"),
        ("design", json.dumps({"experiments": [{**EXPERIMENT, "extra": 1}]}), "wrong-json", "extra"),
        ("design", json.dumps({"experiments": [{**EXPERIMENT, "gain_low": 2}]}), "wrong-json", "above gain_high"),
        ("design", json.dumps({"experiments": [{**EXPERIMENT, "gain_low": -1}]}), "wrong-json", "gain_low"),
        ("design", json.dumps({"experiments": [{**EXPERIMENT, "gain_high": 10**400}]}), "wrong-json", "gain_high"),
        ("design", json.dumps({"experiments": [{**EXPERIMENT, "risk": "\ud800"}]}), "wrong-json", "risk"),
        ("design", '{"experiments": NaN}', "not-json", "NaN"),
        ("design", '{"a": 1, "a": 2}', "not-json", "twice"),
        ("design", '{"a": ' + "1" * 5000 + "}", "not-json", ""),
        ("design", '{"a": ' + "[" * 100000, "not-json", ""),
        ("select", '{"base": "a", "why": "b"} {"base": "c", "why": "d"}', "two-objects", "more than one"),
        ("select", "```json\n{}\n```\n```json\n{}\n```", "two-objects", "2 code blocks"),
        ("select", '{"base": 7, "why": "b"}', "wrong-json", "base"),
        ("soft_compile", '{"verdict": "maybe", "confidence": 1}', "wrong-json", "verdict"),
        ("soft_compile", '{"verdict": "pass", "confidence": 2}', "wrong-json", "confidence"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_json_reply_is_recorded(kind: str, body: str, expected: str, said: str) -> None:
    failure = fault(answer(body), kind)
    assert failure.fault == expected
    assert said in failure.what


PIECES = st.sampled_from(
    ["<answer>", "</answer>", "<think>", "</think>", "```", "```python\n", "~~~", "\n", "\r\n", "{", "}", '"', C, TRITON, "def launch(", "SPACE = {",
     '{"base": "a", "why": "b"}', "\0", "\ud800", "<html>", "`", "\\", "é", "r'''", '"""']
)  # fmt: skip


@pytest.mark.heavy
@given(
    st.lists(PIECES | st.text(max_size=20), max_size=14).map("".join),
    st.sampled_from(KINDS),
    st.sampled_from(["c", "triton", "cuda"]),
)
@settings(max_examples=200, deadline=None)
def test_no_text_makes_the_parser_raise(text: str, kind: str, backend: str) -> None:
    reply = parse_reply(kind, text, backend, ("a",))
    if isinstance(reply, FormatFailure):
        assert len(reply.excerpt) <= 300
        assert canonical_json(dump(reply))
    elif isinstance(reply, CodeReply):
        assert canonical_json(dump(reply))
        assert reply.backend == backend


@given(st.text())
@settings(max_examples=100, deadline=None)
def test_any_answer_text_gives_a_reply_or_a_record(text: str) -> None:
    for kind in ("write", "design", "soft_numerics"):
        assert isinstance(parse_reply(kind, f"<answer>{text}</answer>", "c"), (CodeReply, Parsed, FormatFailure))
