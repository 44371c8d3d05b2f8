"""klab build: what a compiler makes of a candidate, for people and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernellab.cli.options import (
    CandidateFile,
    Compiler,
    Contract,
    Dtype,
    EvalMode,
    ForTask,
    Json,
    OneShape,
    Parameter,
    SandboxTier,
    named,
)
from kernellab.cli.pages import parse_params, print_json
from kernellab.cli.screen import Screen
from kernellab.core.errors import UsageError
from kernellab.core.files import write_file
from kernellab.tasks.spec import dims_label


def build(
    file: CandidateFile,
    task: ForTask,
    dtype: Dtype = None,
    target: Annotated[
        str | None,
        typer.Option(help="sm_80, ... (default: the GPU here, else sm_90); for C as generic."),
    ] = None,
    shape: OneShape = None,
    param: Parameter = None,
    eval_mode: EvalMode = False,
    precision: Contract = None,
    ptx: Annotated[bool, typer.Option("--ptx", help="Write the PTX to --listing.")] = False,
    sass: Annotated[bool, typer.Option("--sass", help="Write the instructions to --listing.")] = False,
    listing: Annotated[
        Path | None, typer.Option(parser=named, metavar="PATH", help="The file for --ptx and --sass.")
    ] = None,
    compiler: Compiler = None,
    sandbox: SandboxTier = None,
    as_json: Json = False,
) -> None:
    """Build a candidate for every shape of a task and run nothing; needs no GPU. Exit code 4 if it does not build."""
    from kernellab import api

    wanted = [name for name, asked in (("ptx", ptx), ("sass", sass)) if asked]
    if bool(wanted) != (listing is not None):
        raise UsageError("--ptx and --sass go with --listing FILE", "give both, or neither")
    made = api.build(
        file, task, dtype=dtype or "", shape=shape, params=parse_params(param), listings=wanted,
        wishes=api.module_wishes(eval_mode, precision or ""),
        target=target, compiler=compiler, sandbox=sandbox,
    )  # fmt: skip
    data = made.data()
    if listing is not None and made.listing:
        write_file(listing, made.listing)
        data["listing"] = str(listing)
    if as_json:
        print_json(data)
    else:
        show(Screen(), data)
    raise typer.Exit(made.exit_code)


def show(console: Console, data: dict[str, Any]) -> None:
    def line(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    line(f"{data['candidate']} ({data['backend']}) for {data['task']} {dims_label(data['dims'])}, {data['target']}")
    if data["params"]:
        line("parameters  " + " ".join(f"{k}={v}" for k, v in data["params"].items()))
    if data["status"] != "built":
        console.print(Text(f"{data['status'].upper()}  ", style="bold red").append(data["reason"]), soft_wrap=True)
        if data["log"]:
            line(data["log"])
        return
    cached = " (from the cache)" if data["cached"] else ""
    line(f"compiler    {data['compiler']}, {data['build_s']:.2f} s{cached}, plans for {data['shapes']} shapes")
    line(f"artifact    {data['artifact']}")
    resources = ", ".join(f"{k} {v}" for k, v in data["resources"].items())
    line(f"resources   {resources}, static_bytes {data['static_bytes']}")
    if data["scratch_bytes"]:
        line(f"scratch     {' + '.join(map(str, data['scratch_bytes']))} bytes")
    _kernels(console, data["kernels"])
    table = Table(show_edge=False, pad_edge=False)
    for name in ("launch", "kernel", "grid", "block", "shared", ""):
        table.add_column(name, overflow="fold")
    for number, step in enumerate(data["launches"]):
        kind = " ".join(filter(None, ["cooperative" if step["cooperative"] else "",
                                      f"cluster {_by(step['cluster'])}" if step["cluster"] else ""]))  # fmt: skip
        row = (str(number), Text(step["kernel"]), _by(step["grid"]), _by(step["block"]), str(step["shared"]), kind)
        table.add_row(*row)
    console.print()
    console.print(table)
    if data.get("listing"):
        line(f"\nlisting in {data['listing']}")


def _kernels(console: Console, kernels: list[dict[str, Any]]) -> None:
    """The kernels of the timed shape in full, the others in one line."""
    if not kernels or "registers" not in kernels[0]:
        return
    timed = [k for k in kernels if k["timed"]]
    others = [k for k in kernels if not k["timed"]]
    table = Table(show_edge=False, pad_edge=False)
    for name in ("kernel", "registers", "local bytes", "static shared", "code bytes"):
        table.add_column(name, justify="left" if name == "kernel" else "right", overflow="fold")
    for k in timed:
        numbers = (k["registers"], k["local_bytes"], k["shared_bytes"], k["code_bytes"])
        table.add_row(Text(k["kernel"]), *map(str, numbers))
    console.print()
    console.print(table)
    if others:
        registers, local = max(k["registers"] for k in others), max(k["local_bytes"] for k in others)
        console.print(
            f"and {len(others)} more for the other shapes: at most {registers} registers, {local} local bytes"
        )


def _by(extents: list[int] | None) -> str:
    return "x".join(map(str, extents)) if extents else "-"
