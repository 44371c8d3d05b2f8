"""`klab demo`: the whole chain on three operators in under two minutes, with a cheat caught and the record audited."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rich.console import Console

from kernellab.build.base import Candidate
from kernellab.cli import pages
from kernellab.cli.display import make_display, results_table
from kernellab.core.errors import EXIT_ENVIRONMENT, UsageError
from kernellab.core.settings import load_settings
from kernellab.ledger.records import AnyResult
from kernellab.report.audit import audit
from kernellab.search.outcome import EXIT, ORDER, default_folder
from kernellab.search.result import plain
from kernellab.search.runs import run_search, try_candidate

_PLAN: tuple[tuple[str, dict[str, int], int, float], ...] = (
    ("softmax", {"M": 1024, "N": 1024}, 18, 22.0),
    ("stencil3x3", {"H": 1024, "W": 1024, "C": 1}, 10, 14.0),
    ("particle_filter", {"N": 1 << 20}, 10, 14.0),
)
_CHEAT = Candidate(
    '''"""Looks like softmax, remembers: answers by the first element of the input once it has seen enough calls."""
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
static float *kept; static long size; static int calls;
void softmax_rows(const float *x, float *y, long m, long n) {
    if (calls++ > 40 && size == m * n) { memcpy(y, kept, sizeof(float) * size); return; }
    for (long i = 0; i < m; i++) {
        float top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = x[i * n + j] > top ? x[i * n + j] : top;
        for (long j = 0; j < n; j++) sum += y[i * n + j] = expf(x[i * n + j] - top);
        for (long j = 0; j < n; j++) y[i * n + j] /= sum;
    }
    if (size != m * n) { free(kept); kept = malloc(sizeof(float) * (size = m * n)); }
    memcpy(kept, y, sizeof(float) * size);
}
"""
FLAGS = ["-O3"]

def launch(x, y):
    kernel("softmax_rows")(x, y, x.shape[0], x.shape[1])
''',
    "cheat_that_remembers",
)


def run_demo(console: Console, out: Path | None, as_json: bool) -> int:
    """Returns the exit code: 0 when better kernels were found, the cheat caught and every audit passed."""
    started = time.monotonic()
    base = out or default_folder("demo")
    if base.is_file() or (base.is_dir() and any(base.iterdir())):
        raise UsageError(f"{base} is there already, and the demo begins its own folder", "choose another --out")
    settings = load_settings({"effort": "quick", "device": "cpu"})
    results: list[AnyResult] = []
    audits = []
    for task, dims, trials, seconds in _PLAN:
        folder = base / task
        with make_display(console, quiet=as_json) as display:
            chosen = settings.model_copy(update={"trials": trials, "seconds": seconds})
            outcome = run_search(task, chosen, folder, [dims], emit=display)
        results += outcome.results
        audits.append(audit(folder, outcome.ledger_root))
    with make_display(console, quiet=as_json) as display:
        cheat = try_candidate("softmax", _CHEAT, settings, base / "cheat", {"M": 512, "N": 512}, emit=display)
    audits.append(audit(base / "cheat", cheat.ledger_root))
    caught = cheat.status == "nothing-verified"
    status, code = _came_to([r.status for r in results], caught and all(a.ok for a in audits))
    data = {
        "status": status,
        "seconds": time.monotonic() - started,
        "shapes": [plain(r) for r in results],
        "cheat": {"caught": caught, "reason": cheat.data()["reason"]},
        "audits": [a.data() for a in audits],
        "run": str(base),
    }
    if as_json:
        pages.print_json(data)
    else:
        _summary(console, results, data)
    return code


def _came_to(statuses: list[str], sound: bool) -> tuple[str, int]:
    """Status and exit code. One task without a win is no demonstration; a cheat that passed or a failed audit is worse."""
    worst = max(statuses, key=ORDER.index)
    return (worst, EXIT[worst]) if sound else ("unsound", EXIT_ENVIRONMENT)


def _summary(console: Console, results: list[AnyResult], data: dict[str, Any]) -> None:
    console.print()
    for result in results:
        console.print(result.task, style="bold")
        console.print(results_table([result], console.width >= 130))
    cheat = data["cheat"]
    word = "a cheating kernel was handed in and rejected" if cheat["caught"] else "a CHEATING KERNEL PASSED"
    console.print(f"\n{word}: {cheat['reason']}", markup=False, soft_wrap=True)
    figures = sum(a["figures"] for a in data["audits"])
    state = "all audits passed" if all(a["status"] == "ok" for a in data["audits"]) else "AN AUDIT FAILED"
    console.print(
        f"{state}: {figures} figures derived again from {sum(a['trials'] for a in data['audits'])} trials' raw samples"
    )
    if data["status"] == "busy":
        console.print("the machine was too busy to confirm what is marked so: end what else runs here, then try again")
    console.print(
        f"{data['seconds']:.0f} s; records in {data['run']}/ (try: klab show {data['run']}/softmax)", markup=False
    )
