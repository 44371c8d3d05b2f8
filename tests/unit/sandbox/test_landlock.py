from __future__ import annotations

from kernellab.sandbox import landlock


def test_reports_a_version_or_none() -> None:
    assert landlock.abi() >= 0
