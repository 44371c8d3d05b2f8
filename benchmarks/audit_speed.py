"""A whole audit (chain, signatures, evidence, every figure derived again) of many real trials.

    python benchmarks/audit_speed.py RUN [--n 100000]

Takes a measured trial of a finished run folder, writes it N times into a new ledger, and audits that.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import SigningKey
from kernellab.report.audit import audit


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--n", type=int, default=100_000)
    options = parser.parse_args()
    entries = list(read_entries(options.run))
    trial = next(e.body for e in entries if e.kind == "trial" and e.body["status"] == "measured")
    genesis = {k: v for k, v in entries[0].body.items() if k not in ("public_key", "nonce")}
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "run"
        began = time.perf_counter()
        with Ledger.create(folder, genesis, SigningKey.generate()) as ledger:
            shutil.copytree(options.run / "artifacts", folder / "artifacts", dirs_exist_ok=True)
            for entry in entries:
                if entry.kind == "calibration":
                    ledger.append("calibration", entry.body)
            for number in range(options.n):
                ledger.append("trial", {**trial, "trial": number})
        written = time.perf_counter() - began
        began = time.perf_counter()
        report = audit(folder)
        seconds = time.perf_counter() - began
    print(
        f"{options.n} trials written at {options.n / written:.0f}/s; audited in {seconds:.1f} s: {report.figures} figures derived "
        f"again, {len(report.problems)} problems"
    )


if __name__ == "__main__":
    main()
