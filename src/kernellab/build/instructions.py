"""Machine code of a C kernel in words: made by objdump in a job, since it is not built for hostile files.

Covered: what objdump prints, cut to a length; the innermost loops, found by their conditional branches back. Not covered:
which of them takes the time; the one with the most vector instructions is shown.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence

from kernellab.build import exchange
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits

MOST_LINES = 48
_MOST_BYTES = 4 << 20
_TOOL_S = 20.0
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
_BRANCH = re.compile(r"^(?:j(?!mp)\w+|b\.\w+|cbn?z|tbn?z)$")
_VECTOR = re.compile(r"\bv\d+\.|\bz\d+\.|%[xyz]mm")
_PLACE = re.compile(r"\b([0-9a-f]+)\s+<")
_STACK = re.compile(r"\[sp\b|\(%[re]sp\b|\(%[re]bp\b")


def listing_of(sandbox: Sandbox, codes: Sequence[bytes]) -> str:
    """The instructions of machine code as text, each file once; '' where there is no objdump."""
    texts = []
    for code in dict.fromkeys(codes):
        with exchange.Exchange(code, 1) as files:
            with sandbox.spawn("kernellab.build.instructions:main", "build", Limits(), files.fds) as job:
                job.wait()
            texts.append(os.pread(files.fds[1], _MOST_BYTES, 0).decode(errors="replace"))
    return "\n".join(text for text in texts if text)


def innermost_loop(listing: str) -> str:
    """Of the loops that hold no other, the one with the most vector instructions, as it was compiled, and how often it goes
    to the stack; '' where there is none."""
    lines = [found for line in listing.splitlines() if (found := _LINE.match(line))]
    at = {int(line[1], 16): number for number, line in enumerate(lines)}
    loops = []
    for number, line in enumerate(lines):
        place = _PLACE.search(line[3]) if _BRANCH.match(line[2]) else None
        start = at.get(int(place[1], 16)) if place else None
        if start is not None and start < number:
            loops.append((start, number))
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    if not inner:
        return ""

    def weight(loop: tuple[int, int]) -> tuple[int, int]:
        body = lines[loop[0] : loop[1] + 1]
        return sum(bool(_VECTOR.search(line[3])) for line in body), len(body)

    start, end = max(inner, key=weight)
    body = [f"{line[2]} {line[3].partition('//')[0]}".strip() for line in lines[start : end + 1]]
    stack = sum(bool(_STACK.search(line)) for line in body)
    head = f"# {len(body)} instructions, {stack} of them to the stack"
    more = [f"# ... {len(body) - MOST_LINES} more"] if len(body) > MOST_LINES else []
    return "\n".join([head, *body[:MOST_LINES], *more])


def main(fds: list[int]) -> int:
    """Sandbox entry: a shared object on the first descriptor, its instructions on the second."""
    text = _disassembled(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
    with os.fdopen(os.dup(fds[1]), "wb") as file:
        file.write(text[:_MOST_BYTES])
    return 0


def _disassembled(code: bytes) -> bytes:
    tool = shutil.which("objdump")
    if not tool:
        return b""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(code)
        file.flush()
        command = [tool, "-d", "--no-show-raw-insn", "-j", ".text", file.name]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TOOL_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return b""
    return done.stdout if done.returncode == 0 else b""
