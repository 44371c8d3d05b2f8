"""An exported GPU module against the laboratory's own measurement: is what others get as fast as what was certified?

python benchmarks/certify/export_speed_gpu.py [--task softmax --dtype bf16 --shape 16384x4096] [--trials 8] [--samples 201]

Searches a shape on the GPU here, certifies the best trial, exports it as a module and calls that, checks, allocation and
all, on a ring of inputs larger than the L2 cache. A sample is CUDA events around as many calls as the laboratory's samples
have, queued behind an idle loop, so that the device never waits for Python; what one call costs the host is printed
beside it, and what a dozen in a row take. The figure compared with is the latency of the confirmation, as the certificate
states it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kernellab import api
from kernellab.certify.confirmed_trial import prove_trial
from kernellab.certify.export import export
from kernellab.certify.issue import certify
from kernellab.measurement.stats import estimate, median
from kernellab.search.experiment_run import task_of
from kernellab.tasks.spec import Task, in_order

_RING_BYTES = 512 << 20
_JUNK_BYTES = 256 << 20
_IN_A_ROW = 12
_IDLE_CYCLES = 4_000_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="softmax")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--shape", default="16384x4096")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--samples", type=int, default=201)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        os.environ |= {"KLAB_HOME": str(home / "key")}
        outcome = api.optimize(
            options.task, dtype=options.dtype, shapes=[options.shape], effort="quick", trials=options.trials,
            out=home / "run", device="cuda",
        )  # fmt: skip
        number = outcome.data()["trial"]
        _, path = certify(home / "run", number)
        done = export([path], "module", home / "package", unreviewed=True)
        sys.path.insert(0, str(home / "package"))
        proof = prove_trial(home / "run", number)
        task, _ = task_of(home / "run")
        bed = Bed(importlib.import_module(done.package), task, in_order(proof.trial.dims, task))
        host_s = bed.host_seconds()
        seconds = [bed.sample(proof.timing.calls) for _ in range(options.samples)]
        row_s = median([bed.sample(_IN_A_ROW) for _ in range(options.samples)])
    certified = proof.timing.latency_s
    found = estimate([s / certified for s in seconds])
    over = [f"{100 * (v - 1):+.2f}" for v in (found.value, found.low, found.high)]
    print(f"{task.name} {options.shape}: {proof.trial.proposal.name}, certified {certified * 1e6:.2f} us")
    print(f"module {over[0]} % against that [{over[1]}, {over[2]}], {found.n} samples of {proof.timing.calls} calls")
    print(f"{_IN_A_ROW} in a row: {row_s * 1e6:.2f} us a call; the host needs {host_s * 1e6:.1f} us a call")
    print(json.dumps({"certified_s": certified, "ratio": found.__dict__, "row_s": row_s, "host_s": host_s}))


class Bed:
    """Inputs on the device, and the exported function called on them in turn."""

    def __init__(self, package: Any, task: Task, dims: dict[str, int]) -> None:
        import torch

        self._torch, self._function, self._turn = torch, getattr(package, task.name), 0
        self._junk = torch.ones(_JUNK_BYTES // 4, device="cuda")
        size = sum(b.nbytes(dims) for b in task.inputs)
        self._ring = [
            [torch.randn(b.shape(dims), device="cuda").to(getattr(torch, b.dtype)) for b in task.inputs]
            for _ in range(max(2, -(-_RING_BYTES // size)))
        ]
        for _ in self._ring:
            self._call()
        torch.cuda.synchronize()

    def _call(self) -> None:
        self._function(*self._ring[self._turn % len(self._ring)])
        self._turn += 1

    def sample(self, calls: int) -> float:
        """Seconds a call on the device."""
        cuda = self._torch.cuda
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        self._junk.sum()  # as the laboratory does: what is left in the cache is clean, and nobody's
        cuda._sleep(_IDLE_CYCLES)
        begin.record()
        for _ in range(calls):
            self._call()
        end.record()
        cuda.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3 / calls

    def host_seconds(self) -> float:
        """What a call costs the host while the device is behind."""
        cuda, took = self._torch.cuda, []
        for _ in range(20):
            cuda._sleep(_IDLE_CYCLES)
            started = time.perf_counter()
            for _ in range(_IN_A_ROW):
                self._call()
            took.append((time.perf_counter() - started) / _IN_A_ROW)
            cuda.synchronize()
        return median(took)


if __name__ == "__main__":
    main()
