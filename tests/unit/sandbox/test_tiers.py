from __future__ import annotations

import platform
from typing import Literal

import pytest

from kernellab.core.errors import EnvironmentFault
from kernellab.sandbox.tiers import ORDER, open_sandbox, survey


def test_at_least_one_tier_starts_here_and_the_others_give_a_reason() -> None:
    answers = survey()
    assert list(answers) == list(ORDER)
    assert "available" in answers.values()
    assert all(answers.values())


def test_auto_takes_the_strongest_tier() -> None:
    strongest = next(tier for tier, answer in survey().items() if answer == "available")
    with open_sandbox("auto", []) as sandbox:
        assert sandbox.tier == strongest


def test_no_sandbox_only_by_name() -> None:
    with open_sandbox("none", []) as sandbox:
        assert sandbox.tier == "T0"


@pytest.mark.parametrize("wanted", ["auto", "T1"])
def test_an_unknown_architecture_is_a_clear_fault(
    monkeypatch: pytest.MonkeyPatch, wanted: Literal["auto", "T1"]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(EnvironmentFault, match="riscv64") as caught:
        open_sandbox(wanted, [])
    assert "x86_64" in caught.value.fix
