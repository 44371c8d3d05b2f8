"""How far honest float32, noise and shorter operands are off in a module's outputs, in ULP of their scale.

    python benchmarks/suites/noise.py lab:small_convnet-f32 lab:mixer_block-f32 ...

For each distribution at the largest edge shape: the budget of an element, the most that the errors of a block may have as
their root mean square, and what honest float32, TF32 and bfloat16 operands have. What is above either is refused.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from kernellab.graph.evaluate import evaluate
from kernellab.graph.need_torch import need_torch
from kernellab.graph.scale import judge, rms
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.modules.host_arrays import tensors
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.oracle import rounding
from kernellab.tasks.modules.record import ModuleRecord
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.suites import find_problem


def main(locators: list[str]) -> None:
    need_torch().set_num_threads(1)
    with Importer([os.getcwd()]) as importer:
        for locator in locators:
            problem = find_problem(locator)
            assert problem is not None, f"no problem {locator}"
            print(locator)
            table(importer.import_problem(problem))


def table(record: ModuleRecord) -> None:
    task = module_task(record)
    dims = max(task.edge, key=task.least_bytes)
    for kind in task.distributions:
        drawn = draw_inputs(task, dims, kind, np.random.default_rng(3))
        inputs = tensors(record.graph, drawn)
        with need_torch().no_grad():
            found = judge(record.graph, inputs)
            ways = {
                "float32": evaluate(record.graph, inputs, wide=False),
                "tf32": evaluate(record.graph, inputs, wide=False, operands=rounding("tf32")),
                "bf16": evaluate(record.graph, inputs, wide=False, operands=rounding("bf16")),
            }
        for number, judged in enumerate(found):
            if judged.exact:
                continue
            errors = {name: judged.error_ulp(outputs[number]) for name, outputs in ways.items()}
            told = "  ".join(
                f"{name} {float(e.max()):9.3g} rms {rms(e):9.3g} {'passes' if judged.accepts(ways[name][number]) else 'refused'}"
                for name, e in errors.items()
            )
            print(f"  {kind:8s} budget {judged.budget_ulp:7.1f} rms {judged.most_rms_ulp:9.3g}  {told}")


if __name__ == "__main__":
    main(sys.argv[1:])
