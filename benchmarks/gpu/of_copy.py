"""The best kernels of finished runs against a copy of the same bytes, in pairs, in one run.

    python benchmarks/gpu/of_copy.py RUN [RUN...] [--pairs 101]

For each shape the fastest of several copy kernels is found first; then it and the run's best kernel are interleaved on
the same buffers with cold caches. The figure is the median of the paired ratios copy/kernel: 1 is the copy's own speed.
For operators whose inputs and outputs differ in size the copy moves the first input to the first output.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.ledger.journal import read_entries
from kernellab.ledger.store import Store
from kernellab.measurement.bench import Arm, Bench, Pairs
from kernellab.measurement.gpu_roofline import COPIES, OWN_KERNELS
from kernellab.measurement.roofline import Ceilings, floor_for
from kernellab.measurement.stats import median
from kernellab.search.experiment_run import task_of
from kernellab.tasks.spec import in_order

COPY = (
    OWN_KERNELS
    + """
_typed = launch
def launch(*buffers, **params):
    x, y = buffers[0], next(b for b in reversed(buffers) if b.nbytes == buffers[0].nbytes)
    n = x.nbytes // 16
    unroll = params["UNROLL"]
    kernel("stream_copy")[-(-n // (256 * unroll)), 256](x, y, n)
"""
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=101)
    options = parser.parse_args()
    for run in options.runs:
        task, locator = task_of(run)
        entries = list(read_entries(run))
        trials = [e.body for e in entries if e.kind == "trial"]
        results = [e.body for e in entries if e.kind == "result" and e.body.get("trial") is not None]
        with OpenTask(Settings(effort="quick", device="cuda"), task, locator, torch=False) as opened:
            for result in results:
                dims = in_order(result["dims"], opened.task)
                print(json.dumps(compare(opened, dims, trials[result["trial"]], Store(run), options.pairs)), flush=True)


def compare(opened: OpenTask, dims: dict[str, int], trial: dict[str, Any], store: Store, pairs: int) -> dict[str, Any]:
    proposal, rig = trial["proposal"], opened.device.rig
    candidate = Candidate(store.get(proposal["source"]).decode(), proposal["name"])
    best = _built(opened, candidate, dict(proposal["params"]), dims)
    copies = [
        _built(opened, Candidate(COPY, "copy"), {**p, "KIND": "copy", "BLOCKS": 1, "ROUNDS": 1}, dims) for p in COPIES
    ]
    floor = floor_for(opened.task, dims, Ceilings(4.8e12, 4.8e12, 1e15), 1)
    ring = rig.ring(opened.task, dims, rig.slots(opened.task, dims, floor.seconds), os.urandom(32), 2)
    bench = Bench(ring, floor, rig.sample_s)
    try:
        arms = [Arm(f"copy {n}", rig.device.start(b, ring.inputs, ring.sides[1], ring.calls), 1, trusted=True)
                for n, b in enumerate(copies)]  # fmt: skip
        kernel = Arm("kernel", rig.device.start(best, ring.inputs, ring.sides[0], ring.calls), 0)
        copy = min(arms, key=lambda arm: median(_compare(bench, kernel, arm, 11).second))
        found = _compare(bench, kernel, copy, pairs)
    finally:
        ring.close()
    ratio = found.speedup()
    return {"task": opened.task.name, "dims": dims, "kernel": proposal["name"], "params": proposal["params"],
            "copy": COPIES[arms.index(copy)], "of_copy": ratio.value, "low": ratio.low, "high": ratio.high,
            "kernel_us": median(found.first) * 1e6, "copy_us": median(found.second) * 1e6, "pairs": ratio.n}  # fmt: skip


def _compare(bench: Bench, first: Arm, second: Arm, pairs: int) -> Pairs:
    return bench.compare(first, second, pairs)[0]


def _built(opened: OpenTask, candidate: Candidate, params: dict[str, Any], dims: dict[str, int]) -> Built:
    built = opened.builder.build(opened.task, candidate, params, [dims])
    assert not isinstance(built, NotBuilt), built
    return built


if __name__ == "__main__":
    main()
