"""The Python API: optimize(), verify(), measure(), build(). The command line does nothing that these cannot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernellab.core.events import Listener, silent
from kernellab.core.records import Param
from kernellab.core.settings import load_settings
from kernellab.propose.recipe import read_candidate
from kernellab.search.construct import Construction, construct
from kernellab.search.runs import Outcome, default_folder, run_search, try_candidate
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, parse_dims


def optimize(
    task: str,
    *,
    dtype: str = "",
    shapes: Sequence[Dims | str] = (),
    candidates: Sequence[str | Path] = (),
    out: str | Path | None = None,
    warm_start: str | Path | None = None,
    profile: bool = False,
    listener: Listener = silent,
    **settings: Any,
) -> Outcome:
    """Search for the fastest verified kernel of a task: a built-in name or the path of a task file.

    `dtype` (f32, bf16, f16) picks the variant of a built-in task. `profile`: say what bounds the best kernels.
    Keyword arguments are settings: effort, device, threads, seed, trials, seconds, sampler, compiler, sandbox, ...
    """
    task = locate(task, dtype)
    chosen = [_shape(task, s) for s in shapes]
    extra = [read_candidate(c) for c in candidates]
    warm = Path(warm_start) if warm_start is not None else None
    return run_search(task, load_settings(settings), _folder(out, task), chosen, extra, warm, listener, profile)


def verify(
    candidate: str | Path,
    task: str,
    *,
    dtype: str = "",
    shape: Dims | str | None = None,
    params: dict[str, Param] | None = None,
    out: str | Path | None = None,
    sanitize: bool = False,
    listener: Listener = silent,
    **settings: Any,
) -> Outcome:
    """Judge one candidate file: every case, held-out shapes, timed calls checked. Quick timing.

    `sanitize`: on a GPU, let compute-sanitizer look at the edge shapes too; a finding is a rejection.
    """
    task = locate(task, dtype)
    chosen = _shape(task, shape) if shape is not None else None
    merged = load_settings({"effort": "quick", **settings})
    return try_candidate(
        task, read_candidate(candidate), merged, _folder(out, "verify"), chosen, params, listener, sanitize
    )


def measure(
    candidate: str | Path,
    task: str,
    *,
    dtype: str = "",
    shape: Dims | str | None = None,
    params: dict[str, Param] | None = None,
    out: str | Path | None = None,
    listener: Listener = silent,
    **settings: Any,
) -> Outcome:
    """Judge and measure one candidate file against the fastest baseline, at standard effort unless told otherwise."""
    task = locate(task, dtype)
    chosen = _shape(task, shape) if shape is not None else None
    return try_candidate(
        task, read_candidate(candidate), load_settings(settings), _folder(out, "bench"), chosen, params, listener
    )


def build(
    candidate: str | Path,
    task: str,
    *,
    dtype: str = "",
    shape: Dims | str | None = None,
    params: dict[str, Param] | None = None,
    listings: Sequence[str] = (),
    **settings: Any,
) -> Construction:
    """Build one candidate file for every shape of a task and run nothing; no GPU is needed.

    The setting `target` names the architecture; `listings` ("ptx", "sass") asks for the code in words.
    """
    task = locate(task, dtype)
    chosen = _shape(task, shape) if shape is not None else None
    return construct(task, read_candidate(candidate), load_settings(settings), chosen, params, listings)


def locate(task: str, dtype: str) -> str:
    """The name of a built-in task's variant for this dtype; a task file stands for itself."""
    return load_task(task, dtype).name if dtype else task


def _shape(task: str, shape: Dims | str) -> Dims:
    if isinstance(shape, str):
        return parse_dims(shape, load_task(task))
    return parse_dims(",".join(f"{k}={v}" for k, v in shape.items()), load_task(task))


def _folder(out: str | Path | None, name: str) -> Path:
    return Path(out) if out is not None else default_folder(Path(name).stem)
