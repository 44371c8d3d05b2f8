"""Triton's interpreter for all tests of generated texts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from tempfile import TemporaryFile

import pytest

Interpret = Callable[[str, str, str], tuple[list[str], str]]


@pytest.fixture(scope="session")
def interpret() -> Iterator[Interpret]:
    """Asks interpreted.py, which takes seconds to load and is started once."""
    with TemporaryFile("w+") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.unit.lower.interpreted"], env={**os.environ, "TRITON_INTERPRET": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True,
        )  # fmt: skip

        def ask(kind: str, name: str, folder: str) -> tuple[list[str], str]:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps([kind, name, folder]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            if not answer:
                process.wait()
                told.seek(0)
                return [], f"the interpreter ended with {process.returncode}: {told.read()[-3000:]}"
            right, failed = json.loads(answer)
            return right, failed

        yield ask
        process.communicate()
