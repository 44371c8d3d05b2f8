"""What a person should look at first, and the list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernellab.certify.certificate import Certificate, write_certificate
from kernellab.certify.history import review
from kernellab.certify.needs_review import residual, review_list
from kernellab.core.errors import UsageError
from kernellab.ledger.keys import load_or_create_key


def but(certificate: Certificate, **changes: Any) -> Certificate:
    """A plain certificate beyond doubt, with these changes ("accuracy.max_ulp" as accuracy_max_ulp), signed again."""
    plain = {"accuracy_max_ulp": 1.0, "accuracy_budget_ulp": 10.0, "accuracy_deterministic": True, "speed_win": True,
             "speed_speedup_low": 2.0, "speed_threshold": 1.01, "trust": "native", "tier": "T1", "kernel_abilities": []}  # fmt: skip
    update: dict[str, Any] = {}
    for name, value in {**plain, **changes}.items():
        part, _, field = name.partition("_")
        if field:
            update.setdefault(part, {})[field] = value
        else:
            update[name] = value
    parts = {k: getattr(certificate, k).model_copy(update=v) if isinstance(v, dict) else v for k, v in update.items()}
    return certificate.model_copy(update=parts).signed(load_or_create_key())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"accuracy_max_ulp": 5.1}, "borderline error: 5.1 of 10 ULP"),
        ({"accuracy_deterministic": False}, "differ in bits"),
        ({"speed_win": False, "speed_speedup_low": 0.9}, "not faster by the rule"),
        ({"speed_speedup_low": 1.02}, "within 2 % of the threshold 1.010"),
        ({"trust": "host"}, "trust level host: the candidate's own host code ran in the measured process"),
        ({"trust": "device-only"}, "trust level device-only is not that of a kernel written in c"),
        ({"kernel_backend": "cuda"}, "trust level native is not that of a kernel written in cuda"),
        ({"kernel_abilities": ["reads a clock (rdtsc)"]}, "its machine code reads a clock (rdtsc)"),
        ({"tier": "T0"}, "without a sandbox"),
        ({"subject_remarks": ["y is judged loosely"]}, "what its judge cannot tell: y is judged loosely"),
    ],
)
def test_every_doubt_is_named(changes: dict[str, Any], words: str, issued: tuple[Certificate, Path]) -> None:
    (reason,) = residual(but(issued[0], **changes))
    assert words in reason


def test_the_plain_case_raises_no_doubt(issued: tuple[Certificate, Path]) -> None:
    assert residual(but(issued[0], accuracy_max_ulp=5.0, speed_speedup_low=1.04)) == ()


def test_a_gpu_kernel_with_atomics_is_as_plain_as_any(issued: tuple[Certificate, Path]) -> None:
    plain = ["keeps 4 bytes of static memory", "uses atomics between blocks (RED)"]
    assert residual(but(issued[0], trust="device-only", kernel_backend="cuda", kernel_abilities=plain)) == ()
    assert residual(but(issued[0], trust="device-only", kernel_backend="triton", kernel_abilities=None)) == ()


def test_undecided_ones_in_doubt_come_first_and_broken_ones_are_listed(
    issued: tuple[Certificate, Path], tmp_path: Path
) -> None:
    certificate, path = issued
    folder = tmp_path / "many" / "certificates"
    for name, changes in (("a-plain", {}), ("b-doubt", {"tier": "T0"}), ("c-decided", {"tier": "T2"})):
        write_certificate(folder / f"{name}.json", but(certificate, **changes))
    (folder / "d-broken.json").write_text("{}")
    review(folder / "c-decided.json", but(certificate, tier="T2"), "accept", "seen")
    rows = review_list([tmp_path / "many"])
    assert [r.path.stem for r in rows] == ["b-doubt", "d-broken", "a-plain", "c-decided"]
    assert rows[1].problem
    assert rows[3].history.state == "accepted"
    assert path.exists()


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing at"):
        review_list([tmp_path / "no"])
