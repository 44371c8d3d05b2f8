"""H1, H2 and H3 end to end on the processor: registered, run, judged by their rules, audited.

    python benchmarks/study/cpu.py [--only H1 H3 K1 ...] [--out FOLDER]

Figure: the three together in at most ten minutes, each with a verdict that the audit derives again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from kernellab.core.settings import load_settings
from kernellab.report.audit import audit
from kernellab.studies.conduct import run_study
from kernellab.studies.library import find

BUDGET_S = 600


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=["H1", "H2", "H3"])
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    home = given.out or Path(tempfile.mkdtemp(prefix="klab-study-"))
    total = 0.0
    for name in given.only:
        started = time.monotonic()
        report = run_study(find(name), load_settings({"device": "cpu"}), home / name)
        seconds = time.monotonic() - started
        total += seconds
        checked = audit(report.folder)
        verdict = report.verdict
        sound = "audit passed" if checked.ok else f"AUDIT FAILED: {checked.problems}"
        print(f"{name} {verdict.verdict:13} {seconds:6.1f} s, {checked.trials} trials, {sound}")
        for part in verdict.parts:
            print(f"    {part.name}: {part.verdict if part.testable else '-'}; {part.reason}")
    print(f"together {total:.0f} s of {BUDGET_S} s allowed: {'ok' if total <= BUDGET_S else 'TOO LONG'}")


if __name__ == "__main__":
    main()
