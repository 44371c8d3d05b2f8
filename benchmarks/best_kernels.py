"""The best kernels found, against the faster of NumPy and torch at equal threads: `klab run` on the headline shapes.

python benchmarks/best_kernels.py [--effort standard] [--threads 1] [--trials 40] [--out DIR]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import kernellab
from kernellab.report.audit import audit
from kernellab.search.outcome import default_folder

SHAPES = {
    "softmax": {"M": 4096, "N": 4096}, "stencil3x3": {"H": 2048, "W": 2048, "C": 1}, "stencil5x5": {"H": 2048, "W": 2048, "C": 1},
    "particle_filter": {"N": 1 << 22},
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--effort", default="standard")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--tasks", nargs="*", default=list(SHAPES))
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    base = options.out or default_folder("best")
    for task in options.tasks:
        outcome = kernellab.optimize(task, shapes=[SHAPES[task]], out=base / task, effort=options.effort,
                                     threads=options.threads, trials=options.trials)  # fmt: skip
        data, report = outcome.data(), audit(base / task, outcome.ledger_root)
        print(f"{task} {SHAPES[task]}, {options.threads} thread(s): {data['status']}, {data['speedup']:.3f}x of {data['baseline']} "
              f"[{data['speedup_low']:.3f}, {data['speedup_high']:.3f}], {data['latency_s'] * 1e3:.2f} ms, "
              f"{data['of_memory_floor']:.2f} of the memory floor, {data['of_floor']:.2f} of the roofline floor; "
              f"audit {'passed' if report.ok else 'FAILED'} ({report.figures} figures)", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
