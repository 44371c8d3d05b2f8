"""What an exported package says about itself, from its certificates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernellab.build.abilities import BACK_DOORS, in_words
from kernellab.certify.c_text import CKernel
from kernellab.certify.certificate import Certificate
from kernellab.certify.interface import Interface
from kernellab.certify.needs_review import residual
from kernellab.certify.package_order import Form, Order
from kernellab.certify.values import judged_values
from kernellab.core.pairs import pairs_kept
from kernellab.core.targets import export_of
from kernellab.tasks.spec import Task, dims_label, in_order

_DERIVATIVES = {
    True: "Derivatives are those of the reference's torch expression, of any order. With backward() the kernel computes "
    "the outputs; in forward mode and under torch.func (jvp, grad, jacfwd, ...) the expression computes everything.",
    False: "Derivatives: none. The reference has no torch expression; asking for one is an error that says so.",
}
_NO_FORK = "Threads are OpenMP's, and those do not survive fork()."
_THREADS = {
    True: f"{_NO_FORK} In a child that was forked from a process which had called the kernel it may never return.",
    False: f"{_NO_FORK} In a child that was forked from a process which had called the kernel the reference answers, with a "
    "warning; start processes with `spawn` to have the kernel in them.",
}


def readme_facts(
    order: Order, form: Form, interface: Interface, kernels: Mapping[int, CKernel], test_command: str, expression: bool
) -> dict[str, Any]:
    first = order.variants[0].certificate
    return {
        "package": interface.package,
        "about": interface.about,
        "signature": f"`{interface.signature()}`",
        "unreviewed": not order.reviewed,
        "kind_text": _kind(form, order.backend),
        "certificates": [_row(v.certificate, order.task) for v in order.variants],
        "range_text": "; ".join(dict.fromkeys(_range(v.certificate, order.task) for v in order.variants)),
        "values_text": judged_values(order.task).text(),
        "fallback_text": _fallback(form, expression),
        "buffer_text": export_of(order.backend).buffers,
        "certificate_files": "certificate-*.json",
        "key": first.signer.fingerprint,
        "notes": [
            *([_DERIVATIVES[expression]] if form == "torch-op" else []),
            *([_THREADS[form == "c"]] if any(k.threaded for k in kernels.values()) else []),
            *_launch_notes(kernels),
            *_doubts(order),
            *_abilities(order),
            *_place_notes(order),
        ],
        "use_language": {"c": "c", "kernelbench": "sh"}.get(form, "python"),
        "use": _use(form, interface, order.backend),
        "test_command": test_command,
    }


def _kind(form: Form, backend: str) -> str:
    if form == "c":
        return (
            "A C library: one header, plain functions. `make` builds it; for several variants it needs `objcopy` too."
        )
    export = export_of(backend)
    if form == "kernelbench":
        return f"A solution for KernelBench's evaluator: `ModelNew` in `model_new.py`, over {export.way}."
    arrays = "NumPy arrays" if export.runner == "host" else "torch tensors"
    what = f"A Python module ({arrays} in and out)" if form == "module" else (
        "A torch operator with a fake implementation, so that torch.compile takes it whole, and derivatives,")  # fmt: skip
    return f"{what} over {export.way}."


def _row(certificate: Certificate, task: Task) -> dict[str, str]:
    speed, accuracy = certificate.speed, certificate.accuracy
    return {
        "timed": dims_label(in_order(certificate.shapes.timed, task)),
        "kernel": certificate.kernel.name,
        "params": ", ".join(f"{k}={v}" for k, v in certificate.kernel.params.items()) or "none",
        "baseline": speed.baseline,
        "speed": f"{speed.speedup:.3f} [{speed.speedup_low:.3f}, {speed.speedup_high:.3f}]",
        "pairs": pairs_kept(speed.pairs, speed.dropped),
        "error": f"{accuracy.max_ulp:.3g} of {accuracy.budget_ulp:.3g} ULP",
        "device": f"{certificate.environment['device']}, {speed.threads} thread{'s' * (speed.threads > 1)}",
    }


def _range(certificate: Certificate, task: Task) -> str:
    low, high = in_order(certificate.shapes.low, task), in_order(certificate.shapes.high, task)
    return ", ".join(f"{n} from {low[n]} to {high[n]}" for n in low)


def _fallback(form: Form, expression: bool) -> str:
    if form == "c":
        return "The function returns 1 and leaves the outputs alone: call an implementation of your own."
    if form == "kernelbench":
        return "The problem's own code answers: at other shapes, dtypes and devices, and where gradients are asked for."
    if expression:
        return "The reference's torch expression answers (`reference.py`), on the CPU too."
    return "The reference answers (`reference.py`): float64 NumPy, rounded once; slow, and right."


def _launch_notes(kernels: Mapping[int, CKernel]) -> list[str]:
    notes = []
    for number, kernel in kernels.items():
        lifted = kernel.launch.lifted
        if lifted:
            notes.append(f"Variant {number}: its launch is one formula of the extents, which fits what was recorded at "
                         f"{lifted.shapes} shapes of the range.")  # fmt: skip
        else:
            shapes = ", ".join(dims_label(d) for d in kernel.launch.shapes)
            notes.append(
                f"Variant {number}: no formula fits its launches, so it is used at these shapes only: {shapes}."
            )
    return notes


def _doubts(order: Order) -> list[str]:
    return [f"Variant {v.number}, for review: {'; '.join(doubts)}." for v in order.variants
            if (doubts := residual(v.certificate))]  # fmt: skip


def _abilities(order: Order) -> list[str]:
    return [*(f"Variant {v.number}, its machine code besides computing: {in_words(v.certificate.kernel.abilities)}."
              for v in order.variants), BACK_DOORS]  # fmt: skip


def _place_notes(order: Order) -> list[str]:
    notes = [
        "On another device or compiler than the certificate's the code runs, and nothing is certified: recheck it."
    ]
    if export_of(order.backend).runner == "device":
        notes.append("Certified timings are of a replayed CUDA graph; a launch from Python costs microseconds more.")
    return notes


def _use(form: Form, interface: Interface, backend: str) -> str:
    package, function = interface.package, interface.function
    names = interface.facts()["input_names"]
    if form == "c":
        facts = interface.c_facts()
        return (f'#include "{package}.h"\n\nif ({package}_covers({facts["dim_arguments"]}))\n'
                f'    {package}({facts["arguments"]}, work);   /* link with lib{package}.a -lm */')  # fmt: skip
    if form == "kernelbench":
        return "klab judge model_new.py --problem problem.py:Model    # or KernelBench's own evaluator"
    if form == "torch-op":
        return f"import {package}, torch\n\ny = {package}.{function}({names})    # also torch.ops.{package}.{function}"
    plain = f"import {package}\n\ny = {package}.{function}({names})"
    if export_of(backend).runner == "device":
        return plain
    again = f"step = {package}.prepare({names}, out=y)    # over and over on the same arrays: checked once"
    return f"{plain}\n\n{again}\nstep()"
