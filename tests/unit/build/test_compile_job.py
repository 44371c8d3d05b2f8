"""The job is run here as in the sandbox: descriptors in, JSON and machine code out, files in the current folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kernellab.build import compile_job
from kernellab.build.compiler import Compiler


@pytest.fixture
def run_job(compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def run(source: str, flags: list[str]) -> tuple[dict[str, Any], bytes]:
        fds = [os.memfd_create(n) for n in ("request", "reply", "output")]
        try:
            commands = compiler.commands(flags, compile_job.SOURCE, compile_job.BUILT)
            os.write(fds[0], json.dumps({"source": source, "commands": commands, "environment": {}}).encode())
            assert compile_job.main(fds) == 0
            return json.loads(os.pread(fds[1], 1 << 20, 0)), os.pread(fds[2], 1 << 22, 0)
        finally:
            for fd in fds:
                os.close(fd)

    return run


def test_machine_code_comes_out_on_its_own_descriptor(run_job) -> None:  # type: ignore[no-untyped-def]
    reply, code = run_job("int f(void) { return 1; }", ["-shared", "-fPIC"])
    assert reply["code"] == 0
    assert code[:4] == b"\x7fELF"


def test_a_failure_gives_the_compilers_words_and_no_code(run_job) -> None:  # type: ignore[no-untyped-def]
    reply, code = run_job("int f(void) { return nothing; }", ["-shared", "-fPIC"])
    assert reply["code"] != 0
    assert "nothing" in reply["log"]
    assert code == b""


def test_a_flood_of_warnings_is_cut(run_job) -> None:  # type: ignore[no-untyped-def]
    reply, code = run_job(
        "\n".join(f"#warning number {i} {'x' * 80}" for i in range(500)) + "\nint f;", ["-shared", "-fPIC"]
    )
    assert reply["code"] == 0
    assert len(reply["log"]) == 16 << 10
    assert code[:4] == b"\x7fELF"


def test_what_does_not_compile_is_not_linked(run_job) -> None:  # type: ignore[no-untyped-def]
    reply, _ = run_job("int f(void) { return nothing; }", ["-shared", "-fPIC"])
    assert "candidate.c.o" not in reply["log"]
