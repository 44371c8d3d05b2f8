"""One sandbox for all files that run other people's modules: torch is imported in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernellab.run.host import JOB
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox


@pytest.fixture(scope="package")
def torch_sandbox() -> Iterator[Sandbox]:
    with open_sandbox("auto", [JOB]) as opened:
        yield opened
