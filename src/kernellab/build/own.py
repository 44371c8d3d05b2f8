"""The laboratory's own C code, compiled at its first use on a machine and kept: a package of Python text brings no binaries.

It is trusted text, so it is compiled outside the sandbox, and for any processor of the family, so that whatever compiler
there is will do.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from kernellab.build.cache import open_cache
from kernellab.build.compiler import find_compiler, plain_command
from kernellab.core.errors import EnvironmentFault
from kernellab.core.ids import digest
from kernellab.sandbox.syscalls import machine

_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-g0", "-fvisibility=hidden", "-Wl,--build-id=none", "-s")
_PATIENCE_S = 120.0


@cache
def own_object(source: Path) -> bytes:
    """The shared object that a file of this package makes."""
    text = source.read_text()
    kept, key = open_cache(), digest([text, _FLAGS, machine()])
    if (found := kept.get(key)) is not None:
        return found
    made = _compiled(text, source.name)
    kept.put(key, made)
    return made


def _compiled(text: str, name: str) -> bytes:
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(prefix="klab-own-") as folder:
        source, built = Path(folder, name), Path(folder, "own.so")
        source.write_text(text)
        command = [*plain_command(compiler), *_FLAGS, str(source), "-o", str(built)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False, cwd=folder,
                                  env=compiler.settings())  # fmt: skip
            reason = done.stderr.strip()[:500] if done.returncode else ""
        except subprocess.TimeoutExpired:
            reason = f"not done after {_PATIENCE_S:.0f} s"
        if reason:
            raise EnvironmentFault(f"{compiler.identity} does not compile {name} of the laboratory's own: {reason}",
                                   "repair or update the C compiler")  # fmt: skip
        return built.read_bytes()
