"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="End with one JSON object on standard output.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder (default: klab-runs/<name>-<time>).")]
Effort = Annotated[str | None, typer.Option("--effort", help="quick, standard or full.")]
Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads for candidates and baselines alike (default 1).")
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
Parameter = Annotated[list[str] | None, typer.Option("--param", help="A parameter of the candidate, as NAME=VALUE.")]
CandidateFile = Annotated[Path, typer.Argument(help="A candidate file.")]
ForTask = Annotated[str, typer.Option("--task", help="The task it is for.")]
