"""From a model's text to a typed reply, or to a format failure that can be recorded. Never raises, whatever the text.

A reply has one <answer>; <think> is optional and kept apart. Markers inside reasoning and inside code blocks are text.
Read all the same, with a note, because it is unambiguous: prose around the only code block or JSON object, a missing
fence around a whole file, a missing </answer> after a complete block, reasoning without its opening marker.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from kernellab.core.records import Param
from kernellab.core.targets import backend_of, language
from kernellab.propose.prompts.python_text import parsed
from kernellab.propose.prompts.replies import (
    MOST_EXCERPT,
    CodeReply,
    Design,
    Fault,
    FormatFailure,
    Opinion,
    Parsed,
    Rewrite,
    Selection,
)

MOST_REPLY = 2_000_000  # characters; a model's longest reply is far below
MOST_CODE = 200_000  # bytes
MOST_TEMPLATE = 20_000  # bytes
_TOKEN = re.compile(
    r"(?P<tag></?(?:answer|think)>)|(?:^|(?<=<answer>))[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^\n`<]*)(?=$|<)",
    re.IGNORECASE | re.MULTILINE,
)
_PYTHON = ("", "python", "py", "python3")


class _Bad(Exception):
    def __init__(self, fault: Fault, what: str, near: str = "") -> None:
        super().__init__(what)
        self.fault: Fault = fault
        self.what, self.near = what, near


@dataclass(frozen=True)
class _Parts:
    think: str
    answer: str
    notes: tuple[str, ...]


def parse_reply(
    kind: str, text: str, backend: str = "", known: Collection[str] = ()
) -> CodeReply | Parsed | FormatFailure:
    """`backend` is the one asked for (write, repair, translate); `known` are the ids that a selection may name."""
    try:
        if len(text) > MOST_REPLY:
            raise _Bad("too-large", f"the reply has {len(text)} characters, {MOST_REPLY} at most are read")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        writes = kind in ("write", "repair", "translate")
        parts = _parts(text, lone_code=writes)
        if writes:
            return _code(parts, backend)
        if kind == "select":
            return _selection(parts, known)
        if kind == "improve":
            return _rewrite(parts)
        return _object(parts, Design if kind == "design" else Opinion)
    except _Bad as bad:
        return FormatFailure(
            expected=kind, fault=bad.fault, what=_clean(bad.what[:1000]), excerpt=excerpt(bad.near or text)
        )


def excerpt(text: str) -> str:
    """Beginning and end of a text, one line, fit for a record."""
    text = text if len(text) <= 4 * MOST_EXCERPT else text[: 2 * MOST_EXCERPT] + " ... " + text[-2 * MOST_EXCERPT :]
    text = " ".join(text.encode("utf-8", "replace").decode().replace("\0", "?").split())
    half = MOST_EXCERPT // 2 - 5
    return text if len(text) <= MOST_EXCERPT else f"{text[:half]} ... {text[-half:]}"


class _Scan:
    """The walk over markers and fences of a reply."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.state: Literal["outside", "think", "answer"] = "outside"
        self.answers: list[tuple[int, int]] = []
        self.thinks: list[str] = []
        self.notes: list[str] = []
        self.start = 0
        self.fence = ""
        self.reasoned = 0
        """Where the last reasoning ends."""

    def step(self, token: re.Match[str]) -> None:
        tag = (token["tag"] or "").lower()
        if tag == "</think>" and self.state != "answer":
            self.reasoned = token.end()
        if self.state == "think":
            if tag == "</think>":
                self.thinks.append(self.text[self.start : token.start()])
                self.state = "outside"
        elif self.state == "answer":
            self._in_answer(token, tag)
        elif tag == "<think>" or tag == "<answer>":
            self.state, self.start, self.fence = ("think" if tag == "<think>" else "answer"), token.end(), ""
        elif tag == "</think>" and not self.thinks:  # the opening marker was part of the model's own template
            self.thinks.append(self.text[: token.start()])
            self.answers.clear()
            self.notes.append("reasoning without its opening marker")

    def _in_answer(self, token: re.Match[str], tag: str) -> None:
        if token["fence"] is not None:
            if not self.fence:
                self.fence = token["fence"]
            elif token["fence"].startswith(self.fence) and not token["info"].strip():
                self.fence = ""
        elif not self.fence and tag == "</answer>":
            self.answers.append((self.start, token.start()))
            self.state = "outside"
        elif not self.fence and tag == "<answer>":
            raise _Bad("two-answers", "an <answer> begins inside an <answer>", self.text[self.start :])


def _parts(text: str, lone_code: bool = False) -> _Parts:
    """`lone_code`: a reply without <answer> whose only code block it is will do; what is missing is noted."""
    if not text.strip():
        raise _Bad("empty", "the reply is empty")
    scan = _Scan(text)
    for token in _TOKEN.finditer(text):
        scan.step(token)
    if scan.state == "think":
        raise _Bad("unclosed-think", "there is no </think> after <think>", text[scan.start :])
    if scan.state == "answer":
        if scan.fence:
            raise _Bad("unclosed-code", "the code block in <answer> has no end: cut off?", text[scan.start :])
        scan.answers.append((scan.start, len(text)))
        scan.notes.append(_UNCLOSED)
    outside = text[scan.reasoned :]
    if not scan.answers and lone_code and len(_blocks(outside)[0]) == 1:
        return _Parts(
            _clean("\n".join(t.strip("\n") for t in scan.thinks)), outside, (*scan.notes, "no <answer> marker")
        )
    if not scan.answers:
        lead = "<html" in text[:2000].lower() or "<!doctype" in text[:2000].lower()
        raise _Bad("no-answer", "there is no <answer>" + (": this is an HTML page" if lead else ""))
    if len(scan.answers) > 1:
        raise _Bad("two-answers", f"there are {len(scan.answers)} <answer> parts, one is asked for")
    start, end = scan.answers[0]
    think = "\n".join(t.strip("\n") for t in scan.thinks)
    return _Parts(_clean(think), text[start:end], tuple(scan.notes))


_UNCLOSED = "no </answer> at the end"


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _blocks(answer: str) -> tuple[list[tuple[str, str]], str]:
    """The fenced blocks (language, text) of an answer, and what is around them."""
    blocks, around = [], []
    position, fence, info, start = 0, "", "", 0
    for token in _TOKEN.finditer(answer):
        if token["fence"] is None:
            continue
        if not fence:
            around.append(answer[position : token.start()])
            fence, info, start = token["fence"], token["info"].strip().lower(), token.end()
        elif token["fence"].startswith(fence) and not token["info"].strip():
            blocks.append((info, answer[start : token.start()].strip("\n")))
            fence, position = "", token.end()
    around.append(answer[position:] if not fence else answer[start:])
    return blocks, "".join(around).strip()


def _code(parts: _Parts, backend: str) -> CodeReply:
    blocks, around = _blocks(parts.answer)
    notes = list(parts.notes)
    if len(blocks) > 1:
        raise _Bad("two-codes", f"<answer> has {len(blocks)} code blocks, one is asked for", parts.answer)
    if blocks:
        language, source = blocks[0]
        if around:
            notes.append("prose around the code")
    else:
        language, source = "", parts.answer.strip()
        if _UNCLOSED in notes:
            raise _Bad("unclosed-answer", "<answer> has neither an end nor a code block", parts.answer)
        notes.append("no fence around the code")
    if language not in _PYTHON:
        raise _Bad("not-python", f"the code block is marked '{language[:30]}', a Python file is asked for", source)
    space = _candidate(source, backend, bool(blocks))
    return CodeReply(
        think=parts.think, notes=tuple(notes), source=source + "\n", backend=backend_of(source), space=space
    )


def _candidate(source: str, backend: str, fenced: bool) -> dict[str, list[Param]]:
    """Checks that cost nothing; the space of the file. Nothing of it is run."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise _Bad("not-text", "the code holds characters that are no text", source) from None
    if size > MOST_CODE:
        raise _Bad("too-large", f"the code has {size} bytes, {MOST_CODE} are allowed", source)
    if not source.strip():
        raise _Bad("no-code", "<answer> holds no code", source)
    tree = _parsed(source, fenced)
    names = _assigned(tree)
    if not any(isinstance(node, ast.FunctionDef) and node.name == "launch" for node in tree.body):
        raise _Bad("no-launch", "the file has no function launch() at top level", source)
    found = backend_of(source)
    if backend and found != backend:
        raise _Bad("wrong-backend", f"the file is for {found}, {backend} is asked for", source)
    if language(found).sourced and "SOURCE" not in names:
        raise _Bad("no-source", "the file has no SOURCE at top level", source)
    return _space(names["SPACE"]) if "SPACE" in names else {}


def _parsed(source: str, fenced: bool) -> ast.Module:
    try:
        return parsed(source)
    except SyntaxError as err:
        line = (source.splitlines() or [""])[max(0, min(err.lineno or 1, source.count("\n") + 1) - 1)]
        if not fenced:
            raise _Bad("no-code", "<answer> has no fenced code block", source) from None
        raise _Bad("not-python", f"line {err.lineno}: {err.msg}", line) from None
    except (ValueError, RecursionError, MemoryError) as err:
        raise _Bad("not-python", f"the code cannot be read: {type(err).__name__}", source) from None


def _assigned(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                found[target.id] = value
    return found


def _space(node: ast.expr) -> dict[str, list[Param]]:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _Bad("bad-space", "SPACE is not a literal: write the choices out") from None
    if not isinstance(value, dict):
        raise _Bad("bad-space", "SPACE is not a dict of names and choices")
    space: dict[str, list[Param]] = {}
    for name, choices in value.items():
        if (
            not isinstance(name, str)
            or not name.isidentifier()
            or not isinstance(choices, (list, tuple))
            or not choices
        ):
            raise _Bad("bad-space", f"SPACE[{str(name)[:40]!r}] must be a name with a list of at least one choice")
        if not all(isinstance(c, (int, float, str)) for c in choices) or any(c != c or c in _INFINITE for c in choices):
            raise _Bad("bad-space", f"SPACE['{name[:40]}'] may hold numbers, words and truth values only")
        if any(isinstance(c, str) and _clean(c) != c for c in choices):
            raise _Bad("not-text", f"SPACE['{name[:40]}'] holds characters that are no text")
        space[name] = list(choices)
    return space


_INFINITE = (float("inf"), float("-inf"))


def _rewrite(parts: _Parts) -> Parsed:
    blocks, around = _blocks(parts.answer)
    if len(blocks) != 1:
        fault: Fault = "two-codes" if blocks else "no-code"
        raise _Bad(fault, f"<answer> has {len(blocks)} fenced blocks, one with the template is asked for", parts.answer)
    text = blocks[0][1]
    if not text.strip():
        raise _Bad("no-code", "the template is empty", parts.answer)
    if _clean(text) != text:
        raise _Bad("not-text", "the template holds characters that are no text", text)
    if (size := len(text.encode())) > MOST_TEMPLATE:
        raise _Bad("too-large", f"the template has {size} bytes, {MOST_TEMPLATE} are allowed", text)
    notes = (*parts.notes, "prose around the template") if around else parts.notes
    return Parsed(Rewrite(template=text + "\n"), parts.think, notes)


def _selection(parts: _Parts, known: Collection[str]) -> Parsed:
    reply = _object(parts, Selection)
    chosen = reply.value
    if not isinstance(chosen, Selection) or not known:
        return reply
    base, reference = (None if n is None else _shown_id(n, known) for n in (chosen.base, chosen.reference))
    for name in (base, reference):
        if name is not None and name not in known:
            raise _Bad("unknown-kernel", f"'{name[:60]}' is none of the kernels shown", parts.answer)
    if base == reference:
        raise _Bad("unknown-kernel", "base and reference are the same kernel", parts.answer)
    return Parsed(chosen.model_copy(update={"base": base, "reference": reference}), reply.think, reply.notes)


def _shown_id(name: str, known: Collection[str]) -> str:
    """The id of a shown kernel that a reply spells in its own way: "#7", "Trial 7" and "7" all mean "trial 7"."""
    number = _TRIAL_NUMBER.fullmatch(name.strip())
    found = [k for k in known if number and k == f"trial {int(number[1])}"]
    return found[0] if found else name


def _object(parts: _Parts, model: type[Selection] | type[Design] | type[Opinion]) -> Parsed:
    blocks, around = _blocks(parts.answer)
    if len(blocks) > 1:
        raise _Bad("two-objects", f"<answer> has {len(blocks)} code blocks, one JSON object is asked for", parts.answer)
    notes = list(parts.notes)
    text = blocks[0][1] if blocks else parts.answer
    data, prose = _one_object(text)
    if prose or (blocks and around):
        notes.append("prose around the JSON")
    try:
        return Parsed(model.model_validate(data, strict=False), parts.think, tuple(notes))
    except ValidationError as err:
        faults = [
            f"{'.'.join(map(str, e['loc'])) or 'object'}: {e['msg']}" for e in err.errors(include_input=False)[:4]
        ]
        raise _Bad("wrong-json", "; ".join(faults), text) from None


def _one_object(text: str) -> tuple[dict[str, Any], bool]:
    """The only JSON object in a text, and whether there is anything around it."""
    start = text.find("{")
    if start < 0:
        raise _Bad("not-json", "<answer> holds no JSON object", text)
    try:
        data, end = _JSON.raw_decode(text, start)
    except (ValueError, RecursionError, MemoryError) as err:
        raise _Bad("not-json", f"<answer> holds no valid JSON: {str(err)[:200]}", text) from None
    if "{" in text[end:]:
        raise _Bad("two-objects", "<answer> holds more than one JSON object", text)
    return data, bool(text[:start].strip() or text[end:].strip())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


_TRIAL_NUMBER = re.compile(r"(?:trial)?\s*#?\s*([0-9]{1,9})", re.IGNORECASE)
_JSON = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
