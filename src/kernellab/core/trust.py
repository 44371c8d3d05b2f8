"""What each trust level of a measurement means, and which of them leaves a doubt."""

from __future__ import annotations

from dataclasses import dataclass

from kernellab.core.records import Trust


@dataclass(frozen=True)
class TrustLevel:
    """`doubt`: why a person should look first at what was measured this way; '' where there is no reason."""

    name: Trust
    about: str
    doubt: str = ""


LEVELS: dict[str, TrustLevel] = {
    level.name: level
    for level in (
        TrustLevel("native", "machine code in a confined process; the laboratory holds the clock and the answers"),
        TrustLevel("device-only", "kernels alone on the device; no code of the candidate ran on the host"),
        TrustLevel(
            "host",
            "the candidate's own host code ran, in a confined process; the laboratory holds the clock and the answers",
            "the candidate's own host code ran in the measured process",
        ),
    )
}
