"""A proof whose signatures hold and whose figures do not follow from the samples in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import CUBE
from tests.support.resign import Bodies, resigned

from kernellab.ledger.proof import proof_problems
from kernellab.report.trial_proof import claim_problems, prove_trial, trial_of


def problems(folder: Path) -> list[str]:
    proof = prove_trial(folder, 0)
    assert list(proof_problems(proof)) == []
    return list(claim_problems(proof, trial_of(proof)))


def test_a_sound_proof_has_nothing_to_say_against_it() -> None:
    assert problems(CUBE) == []


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("trial", {"speedup": 9.0}, "trial 0: speedup is 9.0, its samples give "),
        ("confirmation", {"latency_s": 1e-9}, "the confirmation of trial 0 latency_s is 1e-09, its samples give "),
        ("confirmation", {"dropped": [[-1.0, 1.0]]}, "the confirmation of trial 0 holds samples that are no times"),
        ("confirmation", {"stopped": "narrow"}, "the confirmation of trial 0 was stopped as 'narrow'"),
        ("confirmation", {"part": "00"}, "the confirmation of trial 0 timed other machine code"),
    ],
)
def test_what_does_not_follow_from_a_proofs_own_samples_is_told(
    kind: str, changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    def change(entries: Bodies) -> None:
        next(b for k, b in entries if k == kind and b.get("timing"))["timing"].update(changes)

    told = problems(resigned(CUBE, tmp_path / "run", change))
    assert any(problem.startswith(words) for problem in told), told
