"""Every problem of a suite folder at reduced sizes: captured or refused, evaluated, judged, rounded.

    python benchmarks/suites/trial.py --path DIR/kernelbench/level1 [--full-sizes] [--only 12_ 40_] [--json out.json]

For each problem one line: operations, whether the graph in float64 agrees with the module in float64, the error of honest float32 in
ULP of the scale (largest over the distributions) and whether operands rounded to TF32 and bfloat16 are seen. At the end the totals.
The module's own code runs here once in float64 and float32; use it on suites that you trust.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.suites.shrink import LIMITS, MOST, shrunk, shrunk_settings, small_batch

from kernellab.core.errors import TaskRefused
from kernellab.graph.capture import Capturer
from kernellab.graph.evaluate import evaluate
from kernellab.graph.folder import is_folder, settings
from kernellab.graph.ops.table import row
from kernellab.graph.record import GraphRecord
from kernellab.graph.scale import judge
from kernellab.graph.source import Request, Subject, choose, import_file, make

DISTRIBUTIONS = ("own", "normal", "signed", "sparse", "heavy", "offset")


@dataclass
class Outcome:
    problem: str
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


def outputs(module: Any, inputs: list[Any]) -> list[Any]:
    with torch.no_grad():
        result = module(*inputs)
    return list(result) if isinstance(result, tuple | list) else [result]


def elements(subject: Subject) -> int:
    return sum(x.numel() for x in (*subject.inputs, *weights_of(subject).values()) if isinstance(x, torch.Tensor))


def attempts(request: Request, text: str, full: bool) -> list[tuple[Request, int]]:
    """Ways to make a problem small, and how many elements each may have."""
    if full:
        return [(replace(request, text=text), 1 << 40)]
    cut = [
        (replace(request, text=shrunk(text, limit), init=shrunk_settings(request.init, limit),
                 inputs=shrunk_settings(request.inputs, limit)), most)
        for limit, most in zip(LIMITS, MOST, strict=True)
    ]  # fmt: skip
    return [*cut, (replace(request, text=small_batch(text)), MOST[-1])]


def small(request: Request, text: str, full: bool) -> tuple[Request, Subject]:
    """The problem at the first reduced sizes at which it runs."""
    failure: Exception | None = None
    for cut, most in attempts(request, text, full):
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


def try_problem(capturer: Capturer, request: Request, text: str, full: bool) -> Outcome:
    name = os.path.basename(request.file)
    outcome = Outcome(
        name if not is_folder(os.path.dirname(request.file)) else os.path.basename(os.path.dirname(request.file))
    )
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
        examine(outcome, record, subject, kind, seed)
    return outcome


def examine(outcome: Outcome, record: GraphRecord, subject: Subject, kind: str, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    inputs = [drawn(x, kind, generator) if isinstance(x, torch.Tensor) else x for x in subject.inputs]
    values = given(record, weights_of(subject), inputs)
    verdicts = judge(record, values)
    honest = outputs(subject.module, inputs)
    outcome.honest_ulp[kind] = max(
        float(v.error_ulp(o).max()) if not v.exact else 0.0 for v, o in zip(verdicts, honest, strict=True)
    )
    outcome.budget_ulp[kind] = max(v.budget_ulp for v in verdicts)
    outcome.unscaled = sorted({u for v in verdicts for u in v.unscaled})
    if not all(v.accepts(o) for v, o in zip(verdicts, honest, strict=True)):
        outcome.rejected.append(kind)
    if kind == "own":
        outcome.disagreement = disagreement(record, subject, values, inputs)
    for bits, seen in ((10, outcome.tf32), (7, outcome.bf16)):
        rounded = evaluate(record, values, wide=False, operands=kept_bits(bits))
        if not all(v.accepts(o) for v, o in zip(verdicts, rounded, strict=True)):
            seen.append(kind)


def disagreement(record: GraphRecord, subject: Subject, values: dict[str, Any], inputs: list[Any]) -> float:
    """The graph in float64 against the module in float64, relative to the largest element."""
    wide = [x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]
    try:
        wanted = outputs(subject.module.double(), wide)
    finally:
        subject.module.float()
    worst = 0.0
    for got, other in zip(evaluate(record, values), wanted, strict=True):
        gap = (got.double() - other.double()).abs()
        gap = gap.where(got != other, gap * 0)
        worst = max(worst, float(gap.max()) / (float(other.double().abs().max()) or 1.0))
    return worst


def problems(path: Path, only: list[str]) -> list[Request]:
    if path.is_file():
        return [Request(str(path), eval_mode=True)]
    folders = [replace(settings(str(p))[0], eval_mode=True) for p in sorted(path.iterdir()) if is_folder(str(p))]
    files = [Request(str(p), "Model", eval_mode=True) for p in sorted(path.glob("*.py"), key=_number)]
    return [r for r in (*folders, *files) if not only or any(os.path.basename(r.file).startswith(o) for o in only)]


def _number(path: Path) -> tuple[int, str]:
    head = path.name.partition("_")[0]
    return int(head) if head.isdigit() else 0, path.name


def line(o: Outcome) -> str:
    if o.refused:
        return f"{o.problem:58.58} REFUSED {o.refused}"
    seen = f"tf32 {len(o.tf32)}/6 bf16 {len(o.bf16)}/6" if o.products else "no products"
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
    parser.add_argument("--path", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--full-sizes", action="store_true")
    parser.add_argument("--census", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = []
    with Capturer([str(options.path)]) as capturer:
        for request in problems(options.path, options.only):
            outcome = try_problem(capturer, request, Path(request.file).read_text(), options.full_sizes)
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
