"""A sandbox of every tier that starts on this machine, for jobs of jobs.py, and a place for their answer."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from kernellab.core.errors import EnvironmentFault
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.tiers import ORDER

from . import jobs

PATIENT = Limits(wall_s=600)


@pytest.fixture(scope="module", params=ORDER)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    try:
        opened = Sandbox(request.param, [jobs.__name__])
    except EnvironmentFault as fault:
        pytest.skip(fault.what)
    with opened:
        yield opened


@pytest.fixture
def answer() -> Iterator[int]:
    fd = os.memfd_create("answer", os.MFD_CLOEXEC)
    yield fd
    os.close(fd)
