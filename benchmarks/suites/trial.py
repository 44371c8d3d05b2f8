"""Every problem of a suite folder at reduced sizes: captured or refused, evaluated, judged, rounded.

    python benchmarks/suites/trial.py --path DIR/kernelbench/level1 [--backward] [--full-sizes] [--only 12_ 40_] [--json out.json]
    python benchmarks/suites/trial.py --lab [--backward]

With --backward the gradients of inputs and weights are judged instead, against torch's autograd in float64. --lab tries our own suite
at its small sizes. For each problem one line: operations, whether the graph in float64 agrees with the module in float64, the error of honest float32 in
ULP of the scale (largest over the distributions) and whether operands rounded to TF32 and bfloat16 are seen. At the end the totals.
The module's own code runs here once in float64 and float32; use it on suites that you trust.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from kernellab.core.errors import TaskRefused
from kernellab.graph.backward import gradients
from kernellab.graph.capture import Capturer
from kernellab.graph.evaluate import evaluate
from kernellab.graph.folder import is_folder, settings
from kernellab.graph.ops.table import row
from kernellab.graph.record import GraphRecord
from kernellab.graph.scale import judge
from kernellab.graph.source import Request, Subject, choose, import_file, make
from kernellab.graph.wide import in_float64, widened
from kernellab.tasks.lab import FOLDER, lab_tasks
from kernellab.tasks.suites.reduced import attempts

DISTRIBUTIONS = ("own", "normal", "signed", "sparse", "heavy", "offset")


@dataclass
class Outcome:
    problem: str
    backward: bool = False
    refused: str = ""
    operations: int = 0
    free_sizes: int = 0
    capture_s: float = 0.0
    disagreement: float = 0.0
    honest_ulp: dict[str, float] = field(default_factory=dict)
    budget_ulp: dict[str, float] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    tf32: list[str] = field(default_factory=list)
    bf16: list[str] = field(default_factory=list)
    products: bool = False
    unscaled: list[str] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)


def kept_bits(bits: int) -> Any:
    def rounded(x: Any) -> Any:
        whole = x.float().contiguous().view(torch.int32)
        half = 1 << (22 - bits)
        return ((whole + half) & ~(2 * half - 1)).view(torch.float32).to(x.dtype)

    return rounded


def drawn(x: Any, kind: str, generator: torch.Generator) -> Any:
    if kind == "own" or not x.is_floating_point():
        return x
    return values_of(x, kind, generator).to(x.dtype)


def values_of(x: Any, kind: str, generator: torch.Generator) -> Any:
    normal = torch.randn(x.shape, generator=generator)
    if kind == "signed":
        return 2 * torch.rand(x.shape, generator=generator) - 1
    if kind == "sparse":
        return normal * (torch.rand(x.shape, generator=generator) < 4 / max(4, x.shape[-1] if x.dim() else 1))
    if kind == "heavy":
        return normal / torch.rand(x.shape, generator=generator).clamp(min=1e-4) ** (1 / 1.2)
    return normal + 30 if kind == "offset" else normal


def weights_of(subject: Subject) -> dict[str, Any]:
    return {**dict(subject.module.named_parameters()), **dict(subject.module.named_buffers())}


def given(record: GraphRecord, weights: dict[str, Any], inputs: list[Any]) -> dict[str, Any]:
    tensors = iter([x for x in inputs if isinstance(x, torch.Tensor)])
    return {i.name: next(tensors) if i.role == "input" else weights[i.source].detach() for i in record.inputs}


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def outputs(module: Any, inputs: list[Any]) -> list[Any]:
    with torch.no_grad():
        return listed(module(*inputs))


def in_wide(subject: Subject, inputs: list[Any], grads: list[Any] | None) -> list[Any]:
    """Torch's own answer in float64: the module's, or its autograd's."""
    twin = Subject(copy.deepcopy(subject.module).double(), ())
    wide = [widened(x) for x in inputs]
    if grads is not None:
        return list(gradients(twin, wide=True)(wide, [widened(g) for g in grads]))
    with in_float64():
        return outputs(twin.module, wide)


def incoming(subject: Subject, inputs: list[Any], kind: str, generator: torch.Generator) -> list[Any]:
    """Gradients that come in, as large as the outputs; "own" ones are normal."""
    floats = [y for y in outputs(subject.module, inputs) if y.is_floating_point()]
    return [drawn(y, "normal" if kind == "own" else kind, generator) for y in floats]


def elements(subject: Subject) -> int:
    return sum(x.numel() for x in (*subject.inputs, *weights_of(subject).values()) if isinstance(x, torch.Tensor))


def small(request: Request, text: str, full: bool) -> tuple[Request, Subject]:
    """The problem at the first reduced sizes at which it runs."""
    failure: Exception | None = None
    tries = [(replace(request, text=text), 1 << 40)] if full else attempts(request, text)
    for cut, most in tries:
        try:
            module = import_file(cut.file, cut.text)
            with torch.device("meta"):
                if elements(make(module, choose(module, cut.name), cut)) > most:
                    continue
            subject = make(module, choose(module, cut.name), cut)
            if all(o.numel() for o in outputs(subject.module, list(subject.inputs))):
                return cut, subject
        except Exception as err:  # noqa: BLE001  sizes that do not go together: larger ones may
            failure = err
    raise TaskRefused(f"no reduced size runs: {failure}", "")


def try_problem(capturer: Capturer, request: Request, text: str, full: bool, name: str, kinds: list[str]) -> Outcome:
    outcome = Outcome(name, request.backward)
    try:
        cut, subject = small(request, text, full)
        start = time.monotonic()
        record = capturer.capture(cut)
        outcome.capture_s = time.monotonic() - start
    except TaskRefused as err:
        outcome.refused = err.what
        return outcome
    outcome.operations, outcome.free_sizes = len(record.nodes), len(record.symbols)
    outcome.ops = [n.op for n in record.nodes]
    outcome.products = any(
        (found := row(op)) is not None and found.kind in ("contraction", "attention") for op in outcome.ops
    )
    for seed, kind in enumerate(DISTRIBUTIONS):
        if kind in kinds:
            examine(outcome, record, subject, kind, seed)
    return outcome


def attempted(capturer: Capturer, request: Request, text: str, full: bool, name: str, kinds: list[str]) -> Outcome:
    """One that fails here is told, and the rest goes on."""
    try:
        return try_problem(capturer, request, text, full, name, kinds)
    except Exception as err:  # noqa: BLE001  a problem's own code, or a fault of ours: a line in the table
        return Outcome(name, request.backward, refused=f"FAULT {type(err).__name__}: {str(err)[:200]}")


def examine(outcome: Outcome, record: GraphRecord, subject: Subject, kind: str, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    inputs = [drawn(x, kind, generator) if isinstance(x, torch.Tensor) else x for x in subject.inputs]
    grads = incoming(subject, inputs, kind, generator) if outcome.backward else None
    values = given(record, weights_of(subject), [*inputs, *(grads or [])])
    verdicts = judge(record, values)
    honest = outputs(subject.module, inputs) if grads is None else gradients(subject)(inputs, grads)
    outcome.honest_ulp[kind] = max(
        float(v.error_ulp(o).max()) if not v.exact else 0.0 for v, o in zip(verdicts, honest, strict=True)
    )
    outcome.budget_ulp[kind] = max(v.budget_ulp for v in verdicts)
    outcome.unscaled = sorted({u for v in verdicts for u in v.unscaled})
    if not all(v.accepts(o) for v, o in zip(verdicts, honest, strict=True)):
        outcome.rejected.append(kind)
    if kind == "own":
        outcome.disagreement = disagreement(evaluate(record, values), in_wide(subject, inputs, grads))
    for bits, seen in ((10, outcome.tf32), (7, outcome.bf16)):
        rounded = evaluate(record, values, wide=False, operands=kept_bits(bits))
        if not all(v.accepts(o) for v, o in zip(verdicts, rounded, strict=True)):
            seen.append(kind)


def disagreement(ours: list[Any], theirs: list[Any]) -> float:
    """The graph in float64 against torch in float64, relative to the largest element of all of them."""
    largest = max([float(t.double().abs().nan_to_num(0.0, 0.0).max()) for t in theirs], default=1.0) or 1.0
    worst = 0.0
    for got, other in zip(ours, theirs, strict=True):
        gap = (got.double() - other.double()).abs()
        gap = gap.where((got != other) & ~(got.double().isnan() & other.double().isnan()), gap * 0).nan_to_num(
            0.0, math.inf
        )
        size = float(other.double().abs().nan_to_num(0.0, 0.0).max())
        worst = max(worst, float(gap.max()) / (size if size > 1e-9 * largest else largest))
    return worst


def lab() -> dict[str, Request]:
    """Our own suite at its small sizes."""
    return {
        name: Request(str(task.file), "Model", task.at(task.small), task.at(task.small))
        for name, task in lab_tasks().items()
    }


def named(path: Path | None) -> dict[str, Request]:
    """The problems of a folder by file or folder name, or our own suite."""
    if path is None:
        return lab()
    requests = problems(path)
    return {
        os.path.basename(os.path.dirname(r.file) if is_folder(os.path.dirname(r.file)) else r.file): r for r in requests
    }


def problems(path: Path) -> list[Request]:
    if path.is_file():
        return [Request(str(path), eval_mode=True)]
    folders = [replace(settings(str(p))[0], eval_mode=True) for p in sorted(path.iterdir()) if is_folder(str(p))]
    files = [Request(str(p), "Model", eval_mode=True) for p in sorted(path.glob("*.py"), key=_number)]
    return [*folders, *files]


def _number(path: Path) -> tuple[int, str]:
    head = path.name.partition("_")[0]
    return int(head) if head.isdigit() else 0, path.name


def line(o: Outcome) -> str:
    if o.refused:
        return f"{o.problem:58.58} REFUSED {o.refused}"
    tried = len(o.honest_ulp)
    seen = f"tf32 {len(o.tf32)}/{tried} bf16 {len(o.bf16)}/{tried}" if o.products else "no products"
    rejected = f"  REJECTED on {','.join(o.rejected)}" if o.rejected else ""
    worst = max(o.honest_ulp, key=lambda k: o.honest_ulp[k])
    return (f"{o.problem:58.58} {o.operations:3} ops {o.free_sizes} free  agrees {o.disagreement:.0e}  "
            f"honest {o.honest_ulp[worst]:6.2f} ({worst})  {seen}{rejected} {' '.join(o.unscaled)}")  # fmt: skip


def totals(found: list[Outcome]) -> str:
    kept = [o for o in found if not o.refused]
    errors = sorted(e for o in kept for e in o.honest_ulp.values())
    with_products = [o for o in kept if o.products]
    at = lambda share: errors[min(len(errors) - 1, int(share * len(errors)))] if errors else 0.0  # noqa: E731
    hidden = [o.problem for o in with_products if not o.tf32]
    return "\n".join([
        f"captured {len(kept)} of {len(found)}; with a free size {sum(o.free_sizes > 0 for o in kept)}; "
        f"disagree by more than 1e-9: {[o.problem for o in kept if not o.disagreement <= 1e-9]}",
        f"refused: {[(o.problem, o.refused) for o in found if o.refused]}",
        f"honest float32, ULP of the scale: median {at(0.5):.2f}, 90 % {at(0.9):.2f}, 99 % {at(0.99):.2f}, largest {at(1.0):.2f}; "
        f"rejected: {[(o.problem, o.rejected) for o in kept if o.rejected]}",
        f"with products {len(with_products)}: tf32 seen in {sum(bool(o.tf32) for o in with_products)}, "
        f"bf16 in {sum(bool(o.bf16) for o in with_products)}; tf32 not seen: {hidden}",
        f"operators without a scale rule: {sorted({u for o in kept for u in o.unscaled})}",
        f"capture: median {sorted(o.capture_s for o in kept)[len(kept) // 2] if kept else 0:.2f} s",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--path", type=Path)
    parser.add_argument("--lab", action="store_true")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--distributions", nargs="*", default=list(DISTRIBUTIONS), choices=DISTRIBUTIONS)
    parser.add_argument("--full-sizes", action="store_true")
    parser.add_argument("--census", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if options.lab == bool(options.path):
        parser.error("give either --path DIR or --lab")
    found = []
    with Capturer([str(options.path or FOLDER)]) as capturer:
        for name, request in named(options.path).items():
            if options.only and not any(name.startswith(o) for o in options.only):
                continue
            asked = replace(request, backward=options.backward)
            text, full = Path(request.file).read_text(), options.full_sizes or options.lab
            outcome = attempted(capturer, asked, text, full, name, options.distributions)
            found.append(outcome)
            print(line(outcome), flush=True)
    print(totals(found))
    if options.census:
        for op, count in Counter(op for o in found for op in o.ops).most_common():
            print(f"{count:5} {op} {getattr(row(op), 'kind', 'no row')}")
    if options.json:
        options.json.write_text(json.dumps([asdict(o) for o in found], indent=1))


if __name__ == "__main__":
    main()
