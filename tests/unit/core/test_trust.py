from __future__ import annotations

from typing import get_args

from kernellab.core.records import Trust
from kernellab.core.targets import platforms
from kernellab.core.trust import LEVELS


def test_every_trust_level_means_something_and_only_code_beside_the_clock_leaves_a_doubt() -> None:
    assert set(LEVELS) == set(get_args(Trust))
    assert [name for name, level in LEVELS.items() if level.doubt] == ["host"]
    assert all(level.about for level in LEVELS.values())


def test_no_target_that_is_shipped_leaves_a_doubt_by_itself() -> None:
    assert {known.kind: known.trust for known in platforms()} == {"cpu": "native", "cuda": "device-only"}
    assert not any(LEVELS[known.trust].doubt for known in platforms())
