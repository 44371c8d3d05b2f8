"""klab check: a task or a PyTorch module, proved alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from kernellab.cli.options import Backward, Contract, Dtype, EvalMode, Json
from kernellab.cli.pages import print_json
from kernellab.cli.screen import Screen, waiting

if TYPE_CHECKING:
    from kernellab.verdict.check_task import Checked, OutputScale


def check(
    task: Annotated[str, typer.Argument(help="A built-in task, a task file, or a PyTorch module as FILE.py:Class.")],
    dtype: Dtype = None,
    eval_mode: EvalMode = False,
    precision: Contract = None,
    backward: Backward = False,
    as_json: Json = False,
) -> None:
    """Prove a task's judge and show what was derived for it; builds and times nothing. Exit code 2 if it is refused."""
    from kernellab import api

    wishes = api.module_wishes(eval_mode, precision or "", backward)
    with waiting("reading the task, deriving its shapes, proving its judge"):
        checked = api.check(task, dtype=dtype or "", wishes=wishes)
    if as_json:
        print_json(checked.data())
    else:
        show(Screen(), checked)


def show(console: Console, checked: Checked) -> None:
    def line(head: str, text: str) -> None:
        console.print(f"{head:14} {text}", markup=False, soft_wrap=True)

    line("task", f"{checked.name}: {checked.about.removeprefix(f'{checked.name}: ')}")
    line("identity", checked.fingerprint)
    line("contract", checked.precision)
    for head, buffers in (("inputs", checked.inputs), ("outputs", checked.outputs)):
        line(head, ", ".join(f"{name} {kind}" for name, kind in buffers.items()))
    line("timed", "; ".join(checked.tune))
    line("judged", f"{'; '.join(checked.edge)}; {checked.held_out} held out")
    for least in checked.least:
        line("floor", f"{least.shape}: {least.bytes:,} bytes, {least.flops:,} operations at least")
    console.print(_table(checked.scales))
    for remark in checked.remarks:
        line("remark", remark)
    line("proved", f"{checked.controls} wrong kernels were tried and seen, in {checked.seconds:.1f} s")


def _table(scales: tuple[OutputScale, ...]) -> Table:
    table = Table("output", "inputs", "scale / size", "floor ULP", "budget ULP", box=None, pad_edge=False)
    for s in scales:
        table.add_row(s.name, s.distribution, _figure(s.scale), _figure(s.floor_ulp), _figure(s.budget_ulp))
    return table


def _figure(value: float | None) -> str:
    return "exact" if value is None else f"{value:.3g}"
