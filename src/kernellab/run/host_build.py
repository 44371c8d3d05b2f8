"""Building a solution that compiles when it is imported or first called, before it is judged.

One confined process with compilers and a folder to write in; later processes of the solution find the folder's files
where they were left, read-only, and compile nothing.
Covered: names cannot leave the folder, sizes and numbers are limited, the files are hashed and the same for every process.
Not covered: what the files hold. It is the solution's, as its text is.
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernellab.core.ids import canonical_json, digest, sha256_hex
from kernellab.core.printable import printable
from kernellab.run.cuda_process import files_of
from kernellab.run.host_caches import HEAD
from kernellab.run.host_samples import NotLoaded
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.job import Job
from kernellab.sandbox.limits import Limits

BUILD_JOB = "kernellab.run.host_build_job"
_LIMITS = Limits(
    wall_s=1800.0, cpu_s=1800, memory=24 << 30, file_size=256 << 20, files=512, processes=512, scratch=1 << 30
)
_MOST_BYTES, _MOST_FILES, _MOST_NAMES = 192 << 20, 400, 24 << 10
_SIGNS = ("cpp_extension", "subprocess", "os.system")
_NO_TORCH_COMPILE = (
    "it uses torch.compile, which looks for its compiler in every process anew, and there is none where a solution is "
    "judged; write the kernel with load_inline, or as C"
)
_NAME = re.compile(r"[\w.+,@=~-]{1,160}", re.ASCII)


@dataclass(frozen=True)
class Caches:
    """What a build left: names with the SHA-256 of their contents, and the bytes, one file after the other."""

    files: tuple[tuple[str, int], ...]
    data: bytes

    @property
    def hashes(self) -> dict[str, str]:
        return {name: sha256_hex(self.data[at : at + size]) for name, (at, size) in self.places().items()}

    @property
    def digest(self) -> str:
        return digest(self.hashes)

    def places(self) -> dict[str, tuple[int, int]]:
        """Where each file begins in the data, and its size."""
        found, at = {}, 0
        for name, size in self.files:
            found[name] = (at, size)
            at += size
        return found


def compiles(text: str) -> bool:
    """Whether a solution looks as if it needs a build. One that is not recognised fails in its runs, as it would without."""
    return any(sign in text for sign in _SIGNS)


def refuse_torch_compile(text: str) -> None:
    """NotLoaded for a text that calls it: in a run it would fail, and look like a crash of the solution's own."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return  # told when it is imported
    used = any(isinstance(n, ast.Attribute) and n.attr == "compile" and ast.unparse(n.value) == "torch" for n in nodes)
    named = any(isinstance(n, ast.ImportFrom) and n.module == "torch" and "compile" in {a.name for a in n.names}
                for n in nodes)  # fmt: skip
    if used or named:
        raise NotLoaded("crash", _NO_TORCH_COMPILE)


def build_solution(sandbox: Sandbox, setup: Mapping[str, Any], shapes: Sequence[Mapping[str, Any]]) -> Caches:
    """`setup` as for a run; `shapes`: the inputs and outputs to call it with. Raises NotLoaded with what went wrong."""
    bundle = os.memfd_create("klab-bundle", os.MFD_CLOEXEC)
    try:
        with files_of(canonical_json({**setup, "shapes": list(shapes)})) as (asked,):
            with sandbox.spawn(f"{BUILD_JOB}:main", "compile", _LIMITS, [asked, bundle]) as job:
                job.wait()
                said, late = _last_words(job), job.timed_out
        found = _opened(os.pread(bundle, _MOST_BYTES + 1, 0))
    finally:
        os.close(bundle)
    if late:
        raise NotLoaded("timeout", f"its build did not end within {_LIMITS.wall_s:g} s")
    if found is None:
        raise NotLoaded("crash", f"its build left nothing that can be read: {said}")
    if isinstance(found, str):
        raise NotLoaded("crash", f"while it was built: {found}")
    return found


def _last_words(job: Job) -> str:
    """The last line that a build printed, or how it ended."""
    if printed := job.log().strip().splitlines():
        return printed[-1][:300]
    number = job.signal()
    return f"it was ended by {signal.Signals(number).name}" if number else "it printed nothing"


def _opened(data: bytes) -> Caches | str | None:
    """The files of a bundle, why there are none in the solution's words, or None for what is no bundle."""
    try:
        length = int.from_bytes(data[:HEAD], "little")
        head = json.loads(data[HEAD : HEAD + length])
        failed, listed = head.get("failed"), head.get("files")
        if isinstance(failed, str):
            return printable(failed[:2000])
        files = tuple((str(name), int(size)) for name, size in listed)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    body = data[HEAD + length :]
    if any(size < 0 for _, size in files) or sum(size for _, size in files) != len(body):
        return None if len(data) <= _MOST_BYTES else f"it left more than {_MOST_BYTES >> 20} MB of files"
    names = [name for name, _ in files]
    if len(files) > _MOST_FILES or sum(map(len, names)) > _MOST_NAMES:
        return f"it left {len(files)} files, more than the laboratory keeps"
    if len(set(names)) != len(names) or not all(_is_inside(name) for name in names):
        return "it left files of names that the laboratory does not keep"
    return Caches(files, body)


def _is_inside(name: str) -> bool:
    parts = name.split("/")
    return len(parts) <= 12 and all(_NAME.fullmatch(p) and p not in (".", "..") for p in parts)
