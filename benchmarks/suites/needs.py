"""The memory that the answers of captured modules take on the processor, beside what tasks/modules/needs.py says they do.

    python benchmarks/suites/needs.py RECORD.json... [--most 8e9]

Each record (as disguises.py --records keeps them) in a process of its own, at the largest of its edge and timed shapes that is
said to take no more than --most bytes: ordinary inputs are drawn and judged there. Best where that is gigabytes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
from pathlib import Path

import numpy as np

from kernellab.graph.need_torch import need_torch
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.modules.draws import OWN
from kernellab.tasks.modules.needs import answer_bytes
from kernellab.tasks.modules.record import read_module_record
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import dims_label


def measured(path: str, most: float) -> None:
    record = read_module_record(path)
    task, groups = module_task(record), (record.shapes, record.device_shapes)
    shapes = [dims for g in groups for dims in (*g.tune, *g.held_out, *g.edge)]
    said = {n: answer_bytes(record.graph, dims) for n, dims in enumerate(shapes)}
    chosen = max((n for n in said if said[n] <= most), key=lambda n: said[n], default=min(said, key=lambda n: said[n]))
    need_torch().ones(3).double().sum()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs = draw_inputs(task, shapes[chosen], OWN, np.random.default_rng(1))
    expect(task, shapes[chosen], inputs)
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    label = f"{record.name[:40]:40} {dims_label(shapes[chosen])[:30]:30}"
    print(
        f"{label} said {said[chosen] / 1e9:6.2f} GB, taken {taken / 1e9:6.2f} GB, {taken / said[chosen]:.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--most", type=float, default=8e9)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    for path in options.records:
        one = context.Process(target=measured, args=(str(path), options.most))
        one.start()
        one.join()


if __name__ == "__main__":
    main()
