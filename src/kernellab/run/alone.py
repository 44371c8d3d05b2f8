"""One artifact replayed alone: plain allocations of exactly the right size, every call in turn, no clock and no judge.

It exists to be watched. compute-sanitizer and ncu start it (`python -m kernellab.run.alone FOLDER`) and look at what
the kernels do; the runner's arenas would hide a stray access among their guard bands. The laboratory writes the folder
and reads what the tool says.
Covered: kernels, plans, scratch and launches as in the runner, whose code it shares.
Not covered: outputs are written back for people, nobody judges them; graphs (the launches go one by one).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from kernellab.build.base import Built
from kernellab.core.ids import canonical_json
from kernellab.core.printable import printable
from kernellab.run.cuda import plan_data
from kernellab.run.cuda_process import gpu_environment
from kernellab.run.cuda_serve import Modules, bind
from kernellab.run.driver import Context, DriverFault, call
from kernellab.tasks.spec import Array, Buffer, Dims, Task

BUNDLE, PLAN = "bundle.bin", "plan.json"
_FAILED = 3
_VERSION_S = 30.0
_MOST_TEXT = 16 << 20


@dataclass(frozen=True)
class Work:
    """One call to make: a shape that the artifact has a plan for, and its inputs in the task's order."""

    dims: Dims
    inputs: Sequence[Array]


def write(folder: Path, built: Built, task: Task, works: Sequence[Work], repeats: int = 1, fetch: bool = True) -> None:
    """Lay out a folder for `replay`. `repeats`: how often each call is made; `fetch`: whether outputs are written."""
    (folder / BUNDLE).write_bytes(b"".join(built.codes))
    plans: list[dict[str, Any]] = []
    calls = []
    for number, work in enumerate(works):
        inputs = []
        for buffer, values in zip(task.inputs, work.inputs, strict=True):
            facts = _facts(buffer, work.dims, f"{number}-{buffer.name}.bin")
            contents = np.ascontiguousarray(values, buffer.dtype).tobytes()
            if len(contents) != facts["nbytes"]:
                raise ValueError(f"{buffer.name} has {len(contents)} bytes of input, its shape takes {facts['nbytes']}")
            (folder / facts["file"]).write_bytes(contents)
            inputs.append(facts)
        outputs = [_facts(b, work.dims, f"{number}-{b.name}.out.bin") for b in task.outputs]
        part = built.part(work.dims)
        plan = plan_data(part.plan) | {"bundle": built.codes.index(part.code)}
        if plan not in plans:
            plans.append(plan)
        calls.append({"plan": plans.index(plan), "inputs": inputs, "outputs": outputs})
    sizes = [len(code) for code in built.codes]
    setup = {"bundles": sizes, "plans": plans, "calls": calls, "repeats": repeats, "fetch": fetch}
    (folder / PLAN).write_bytes(canonical_json(setup))


def _facts(buffer: Buffer, dims: Dims, file: str) -> dict[str, Any]:
    return {"file": file, "shape": list(buffer.shape(dims)), "dtype": buffer.dtype, "nbytes": buffer.nbytes(dims)}


def replay(folder: Path) -> None:
    """Load the modules and make every call. Raises DriverFault when the GPU objects."""
    setup = json.loads((folder / PLAN).read_bytes())
    context = Context()
    handles: list[Any] = []
    modules = Modules(handles)
    modules.load((folder / BUNDLE).read_bytes(), setup["bundles"])
    for work in setup["calls"]:
        _one(context, modules, setup["plans"][work["plan"]], work, folder, setup["repeats"], setup["fetch"])
    for handle in handles:
        call("cuModuleUnload", handle)


def _one(
    context: Context, modules: Modules, plan: dict[str, Any], work: dict[str, Any], folder: Path,
    repeats: int, fetch: bool,
) -> None:  # fmt: skip
    """One call on memory of its own: scratch and outputs are as the driver hands them out, so a read of either before
    it was written is one of uninitialised memory."""
    sizes = [b["nbytes"] for b in (*work["inputs"], *work["outputs"])]
    buffers = [int(call("cuMemAlloc", size)) for size in sizes]
    scratch = [int(call("cuMemAlloc", size)) for size in plan["scratch"]]
    for address, facts in zip(buffers, work["inputs"], strict=False):
        context.upload(address, np.fromfile(folder / facts["file"], np.uint8))
    launches = [bind(modules.kernel(plan["bundle"], step["kernel"]), step, buffers, scratch) for step in plan["steps"]]
    for _ in range(repeats):
        for index in plan["zeroed"]:
            context.fill(scratch[index], 0, 1, plan["scratch"][index])
        for step in launches:
            step.queue(context.stream)
        context.synchronize()
    if fetch:
        for address, facts in zip(buffers[len(work["inputs"]) :], work["outputs"], strict=True):
            context.download(address, (facts["nbytes"],), np.uint8).tofile(folder / facts["file"])
    for address in (*buffers, *scratch):
        context.free(address)


def find_tool(name: str) -> str:
    """A tool of the CUDA toolkit: from the PATH, /usr/local/cuda or CUDA_HOME; '' where there is none."""
    homes = ["/usr/local/cuda", os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", "")]
    folders = [os.path.join(home, "bin") for home in homes if home]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders)) or ""


def version_of(tool: str) -> str:
    """The line in which a tool names its version; '' where it does not say."""
    try:
        said = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=_VERSION_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next((line.strip() for line in said.stdout.splitlines() if line.startswith("Version")), "")


@dataclass(frozen=True)
class Watched:
    """A tool's run over a replay: its exit code (None when it was ended for taking too long) and what it said."""

    code: int | None
    out: str
    err: str

    @property
    def last(self) -> str:
        """Its last words, for a message."""
        lines = [line.strip() for line in (*self.out.splitlines(), *self.err.splitlines()) if line.strip("= \t")]
        return lines[-1][:300] if lines else "no message"


def watch(tool: Sequence[str], folder: Path, timeout_s: float) -> Watched:
    """Start the replay of a folder under a tool; past the time-out the whole process group is ended."""
    command = [*tool, sys.executable, "-m", "kernellab.run.alone", str(folder)]
    source = str(Path(__file__).resolve().parents[2])  # may be run from a checkout that is not installed
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, **gpu_environment(), "PYTHONPATH": path}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # no pipe that an orphan could hold open
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, start_new_session=True
        )
        code: int | None = None
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if code is None:
                _end(process)
        said = [_text(file) for file in (out, err)]
    return Watched(code, *said)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its group first, then what it may have put into groups of their own: the session is this tool's alone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _session(entry) == process.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(entry.name), signal.SIGKILL)
    process.wait()


def _session(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except (OSError, IndexError, ValueError):
        return 0


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return printable(file.read(_MOST_TEXT).decode(errors="replace"))


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m kernellab.run.alone FOLDER", file=sys.stderr)
        return 2
    try:
        replay(Path(arguments[0]))
    except DriverFault as fault:
        print(f"the GPU reports: {fault}", file=sys.stderr)
        return _FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
