"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernellab.core.errors import UsageError


def named(text: str | Path) -> Path:
    """A path that is not empty. An empty one is usually a variable that was not set; it never means "here"."""
    if not str(text).strip():
        raise UsageError("an empty path names no file and no folder", "give a path, as --out FOLDER")
    return Path(text)


def out_option(help_: str) -> Any:
    """--out, wherever it stands."""
    return typer.Option("--out", parser=named, metavar="PATH", help=help_)


Json = Annotated[bool, typer.Option("--json", help="End with one JSON object on standard output.")]
Out = Annotated[Path | None, out_option("The run folder (default: klab-runs/<name>-<time>).")]
HERE = Path("klab-runs")
WorkspaceFolder = Annotated[
    Path,
    typer.Option("--workspace", parser=named, metavar="PATH", help="The folder of kernels, artifacts and runs."),
]
Effort = Annotated[str | None, typer.Option("--effort", help="quick, standard or full.")]
Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads for candidates and baselines alike (default 1).")
]
WAIT_S = 3600.0
Wait = Annotated[
    bool, typer.Option("--wait", help="Wait, an hour at most, until the machine is quiet enough to measure on.")
]
Shape = Annotated[list[str] | None, typer.Option("--shape", help="A shape, as M=4096,N=512; may be repeated.")]
OneShape = Annotated[str | None, typer.Option("--shape", help="The timed shape.")]
Device = Annotated[str | None, typer.Option("--device", help="auto (the GPU where there is one), cpu or cuda.")]
Dtype = Annotated[str | None, typer.Option("--dtype", help="f32, bf16 or f16: the variant of a built-in task.")]
Compiler = Annotated[str | None, typer.Option("--compiler", help="cc, gcc, clang, zig or a path.")]
Target = Annotated[
    str | None, typer.Option("--target", help="What C is built for, as x86-64-v2 or generic (default: this processor).")
]
SandboxTier = Annotated[str | None, typer.Option("--sandbox", help="auto, T1, T2, T3, or none for kernels you trust.")]
Parameter = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        help="A parameter of the candidate, as NAME=VALUE (default: the first choice in its SPACE, not launch()'s own).",
    ),
]
Track = Annotated[
    str | None,
    typer.Option("--track", help="trackio, tensorboard, wandb or mlflow: log the run there too (docs/tracking.md)."),
]
Events = Annotated[
    bool,
    typer.Option("--events", help="A JSON line an event on standard error: what is waited for, how long it may take."),
]
CandidateFile = Annotated[Path, typer.Argument(help="A candidate file.")]
ForTask = Annotated[str, typer.Option("--task", help="The task it is for: a name, a task file, or FILE.py:Class.")]
EvalMode = Annotated[bool, typer.Option("--eval", help="Take a PyTorch module in evaluation mode.")]
Backward = Annotated[
    bool, typer.Option("--backward", help="Take a PyTorch module's gradients (of inputs and weights) as the task.")
]
Contract = Annotated[
    str | None, typer.Option("--precision", help="ieee, tf32, bf16 or f16: what a PyTorch module's products may cost.")
]
