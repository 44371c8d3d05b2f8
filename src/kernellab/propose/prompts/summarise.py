"""Why a candidate failed, in the few lines that whoever repairs it needs: messages with the candidate's own lines.

Covered: logs of gcc, clang, NVRTC and Triton, exceptions of launch(), verdicts, format failures; the lines are numbered
as in the candidate file, though compilers count within SOURCE. Paths of this machine and held-out shapes are removed.
Not covered: errors inside code that macros generate are shown at the line that uses them.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from kernellab.build.base import NotBuilt
from kernellab.core.records import FailedTrial, Rejected, RejectedTrial
from kernellab.propose.prompts.facts import Failure, Stage
from kernellab.propose.prompts.python_text import UNREADABLE, parsed
from kernellab.propose.prompts.replies import FormatFailure
from kernellab.propose.prompts.withhold import NOTHING, Withheld, without_paths

MOST_ERRORS = 4
MOST_MESSAGE = 300
MOST_SUMMARY = 2400
_LINE = 160

_C = re.compile(r"^(?:[^\s:]*SOURCE):(\d+):(?:(\d+):)? (?:fatal )?error: (.*)$", re.MULTILINE)
_CUDA = re.compile(r"^SOURCE\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (.*)$", re.MULTILINE)
_LINKER = re.compile(r"(undefined (?:reference|symbol).*)$", re.MULTILINE)
_OTHER = re.compile(r"^.*\b(?:error|fatal)\b.*$", re.MULTILINE | re.IGNORECASE)
_OWN_LINE = re.compile(r"\bline (\d+)\b")

HINTS = {
    "wrong-output": "The kernel runs, but its numbers are off: compare formula, axes, strides, tails and precision.",
    "non-finite": "NaN or infinity: exp without its maximum subtracted, -inf minus -inf, a division by zero, fast-math.",
    "nondeterministic": "A race: a missing barrier, shared scratch, uninitialised memory, or atomics whose order shows.",
    "out-of-bounds": "Bytes outside a buffer were touched: check masks, tails, halos and vector widths.",
    "input-written": "An input was written to: inputs are read-only; use scratch().",
    "crash": "The process or the GPU faulted: an address outside all buffers, a misaligned vector, a stack overflow.",
    "timeout": "It did not end in time: an endless loop, blocks that wait for each other, or far too slow at some shape.",
    "unwritten": "Part of the output was never written: grid too small, a guard too strict, or an early return.",
    "memory": "It wanted more memory than there is.",
    "static-memory": "Static memory may not keep anything between calls: use scratch().",
    "too-good": "Faster than the device allows: work is missing.",
    "hidden-work": "Work went on outside the timed call.",
    "plan": "launch() recorded something that cannot be run: check grids, blocks, shared memory and arguments.",
}


@dataclass(frozen=True)
class _Message:
    line: int
    text: str
    code: str


def summarise(
    fault: NotBuilt | Rejected | FailedTrial | RejectedTrial | FormatFailure, source: str, secret: Withheld = NOTHING
) -> Failure:
    """The failure as a repair prompt shows it. `source` is the candidate file."""
    if isinstance(fault, FormatFailure):
        return _finished("format", fault.fault, f"{fault.what}\nIn the reply: {fault.excerpt}", secret)
    if isinstance(fault, RejectedTrial):
        fault = fault.verdict
    if isinstance(fault, Rejected):
        return _verdict(fault, secret)
    if fault.status == "invalid":
        text = f"launch() refused the parameters or the shape: {_clipped(fault.reason)}"
        return _finished("launch", "invalid", _with_own_lines(text, source), secret)
    return _build(fault.reason, fault.log, source, secret)


def _verdict(verdict: Rejected, secret: Withheld) -> Failure:
    lines = [_clipped(verdict.reason)]
    if verdict.case:
        lines.append(f"case: {_clipped(verdict.case)}")
    if verdict.cause in HINTS:
        lines.append(HINTS[verdict.cause])
    return _finished("verify", verdict.cause, "\n".join(lines), secret)


def _build(reason: str, log: str, source: str, secret: Withheld) -> Failure:
    messages = _messages(log, source)
    if messages:
        lines = [_shown(m) for m in messages[:MOST_ERRORS]]
        if len(messages) > MOST_ERRORS:
            lines.append(f"... and {len(messages) - MOST_ERRORS} more errors, probably for the same reason")
        return _finished("build", "does not compile", "\n".join(lines), secret)
    stage: Stage = "launch" if reason.startswith("launch()") else "build"
    cause = "does not compile" if reason.startswith("does not compile") else _CAUSES.get(stage, "refused")
    text = _with_own_lines(_clipped(reason), source)
    linked = _LINKER.search(log)
    if linked and linked[1][:60] not in text:
        text += "\n" + _clipped(linked[1])
    elif not linked and log.strip() and cause == "does not compile":
        text += "".join(
            f"\n{_clipped(m[0].strip())}" for m in list(_OTHER.finditer(log))[:2] if m[0].strip() not in text
        )
    return _finished("build" if cause == "does not compile" else stage, cause, text, secret)


_CAUSES = {"launch": "launch() fails", "build": "refused before or after compiling"}


def _messages(log: str, source: str) -> list[_Message]:
    """Compile errors in the order of the log, each once, with candidate lines."""
    text, offset = _source_text(source)
    inner = text.splitlines()
    found = [(int(m[1]), m[3]) for m in _C.finditer(log)] + [(int(m[1]), m[2]) for m in _CUDA.finditer(log)]
    messages = []
    for number, said in dict.fromkeys(found):
        if inner and number > len(inner):  # past the end: the stub that calls the kernel with launch()'s arguments
            messages.append(_Message(0, f"where launch() calls the kernel: {_clipped(said)}", ""))
            continue
        code = inner[number - 1] if 0 < number <= len(inner) else ""
        messages.append(_Message(_candidate_line(number, code, offset, source), _clipped(said), code.strip()[:_LINE]))
    return messages


def _source_text(source: str) -> tuple[str, int]:
    """SOURCE as the compiler got it, and the candidate line on which its first line lies; 0 where it is put together."""
    try:
        tree = parsed(source)
    except UNREADABLE:
        return "", 0
    for node in tree.body:
        named = isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "SOURCE" for t in node.targets)
        if named and isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            value = node.value.value
            return (value, node.value.lineno) if isinstance(value, str) else ("", 0)
    return "", 0


def _candidate_line(number: int, code: str, offset: int, source: str) -> int:
    """The line in the candidate file, if that line really holds the code; 0 otherwise."""
    lines = source.splitlines()
    line = offset + number - 1
    return line if offset and 0 < line <= len(lines) and code.strip() and code.strip() in lines[line - 1] else 0


def _shown(message: _Message) -> str:
    where = f"line {message.line}: " if message.line else ""
    return f"{where}{message.text}" + (f"\n    {message.code}" if message.code else "")


def _with_own_lines(text: str, source: str) -> str:
    """Each "line N" of a message followed by that line of the candidate."""
    lines = source.splitlines()
    numbers = [int(n) for n in dict.fromkeys(_OWN_LINE.findall(text)) if len(n) < 7]
    shown = [f"    {n}: {lines[n - 1].strip()[:_LINE]}" for n in numbers[:MOST_ERRORS] if 0 < n <= len(lines)]
    return "\n".join([text, *shown])


def _clipped(text: str) -> str:
    return without_paths(" ".join(text.split()))[:MOST_MESSAGE]


def _finished(stage: Stage, cause: str, summary: str, secret: Withheld) -> Failure:
    return Failure(stage, cause, secret.clean(summary)[:MOST_SUMMARY])
