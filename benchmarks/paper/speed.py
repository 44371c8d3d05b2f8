"""How long `klab paper` takes on a long run: recorded trials repeated through the real ledger writer, then the command itself.

.venv/bin/python benchmarks/paper/speed.py [--trials 1000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.long_ledger import repeat_run  # noqa: E402

from kernellab.ledger.keys import SigningKey  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    options = parser.parse_args()
    klab = str(Path(sys.executable).with_name("klab"))
    with tempfile.TemporaryDirectory() as folder:
        run, out = Path(folder) / "run", Path(folder) / "paper"
        repeat_run(ROOT / "runs" / "h200" / "softmax-bf16", run, options.trials, SigningKey.generate())
        figures = {"trials": options.trials, "load": round(os.getloadavg()[0], 1)}
        for name, command in {
            "paper_s": [klab, "paper", str(run), "--out", str(out)],
            "audit_pdf_s": [klab, "audit", str(out / "paper.pdf"), "--run", str(run)],
        }.items():
            before, started = os.times(), time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            figures[name] = round(time.monotonic() - started, 2)
            after = os.times()
            figures[name.replace("_s", "_cpu_s")] = round(
                after.children_user + after.children_system - before.children_user - before.children_system, 2
            )
        print(json.dumps(figures))
        sys.exit(0 if figures["paper_s"] <= 10 else 1)


if __name__ == "__main__":
    main()
