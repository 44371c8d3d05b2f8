"""A tool's arguments as a strict record that can be run at a context: what MCP receives and what a plan holds are these.

Wrong types and unknown names are refused by name, with the nearest name that there is.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kernellab.core.errors import UsageError
from kernellab.core.records import Param, Record
from kernellab.search.memory.select import TAU, Scheme
from kernellab.tools import build, generate, judge, memory, tasks
from kernellab.tools.context import ToolContext
from kernellab.tools.records import Backend, Spec, Strategy

M = TypeVar("M", bound=BaseModel)
SYNONYMS = {"gpu": "device", "cuda_version": "environment", "source": "src", "task": "spec", "kernel": "src", "run": "db",
            "tolerance": "tol", "out": "artifact_dir", "limits": "quotas"}  # fmt: skip
"""What people write who come from elsewhere."""
_MOST_TEXT = 400_000
Text = Annotated[str, Field(max_length=_MOST_TEXT)]
Short = Annotated[str, Field(max_length=200)]


class Call(BaseModel):
    """One call. `about` is what a caller reads in the list of tools; `long`: it opens a laboratory."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
    name: ClassVar[str]
    about: ClassVar[str]
    long: ClassVar[bool] = True

    def run(self, context: ToolContext) -> Record:
        raise NotImplementedError


class ListTasks(Call):
    name = "list_tasks"
    about = (
        "The tasks there are: dtypes, shapes that are timed, built-in recipes. Start here. suite 'lab': PyTorch modules, by "
        "names that a spec takes."
    )
    long = False
    suite: Short = ""

    def run(self, context: ToolContext) -> Record:
        return tasks.list_tasks(context.files, self.suite)


class GenerateKernel(Call):
    name = "generate_kernel"
    about = (
        "A kernel source for a task, kept under an id. strategy 'recipe' takes a built-in one (base: its name); "
        "'lower' writes one from the graph of a PyTorch module (base: its form); "
        "'write' and 'translate' ask the server's own model. meta_space {NAME: [choices]} replaces choices of its SPACE. "
        "You may as well write the source yourself and hand it to compile."
    )
    spec: Spec
    meta_space: dict[Short, list[Param]] = {}
    strategy: Strategy = "recipe"
    backend: Backend = "auto"
    base: Short = ""

    def run(self, context: ToolContext) -> Record:
        return generate.generate_kernel(
            self.spec, self.meta_space, self.strategy, backend=self.backend, base=self.base, context=context
        )


class Compile(Call):
    name = "compile"
    about = (
        "Builds a source in a sandbox and keeps the artifact under an id. src: the text of a candidate file (its format "
        "is in the resource klab://task/NAME/BACKEND) or a kernel id; spec: what it is for (a kernel id knows); "
        "params: choices of its SPACE."
    )
    src: Text
    backend: Backend = "auto"
    flags: Annotated[list[Short], Field(max_length=32)] = []
    spec: Spec | None = None
    params: dict[Short, Param] = {}

    def run(self, context: ToolContext) -> Record:
        return build.compile(self.src, self.backend, self.flags, spec=self.spec, params=self.params, context=context)


class Verify(Call):
    name = "verify"
    about = (
        "The judge's full verdict on an artifact: edge shapes, shapes you do not know, every distribution, repeatability, "
        "timed calls. tol (ULP) may only tighten the task's own error budget. Takes seconds to minutes."
    )
    artifact: Short
    reference: Short = ""
    dtype: Short = ""
    tol: float | None = None
    timeout_s: float = 0.0

    def run(self, context: ToolContext) -> Record:
        return judge.verify(
            self.artifact, self.reference, self.dtype, self.tol, timeout_s=self.timeout_s, context=context
        )


class Benchmark(Call):
    name = "benchmark"
    about = (
        "Judges an artifact and measures its speed-up over the fastest baseline, with a 95 % interval, at each shape "
        "(as M=4096,N=512; default: the one it was compiled for). repeats: paired samples, 41, 201 or 401 are taken."
    )
    artifact: Short
    shapes: Annotated[list[Short], Field(max_length=16)] = []
    repeats: int = judge.REPEATS
    timeout_s: float = 0.0
    vram_gb: float = 0.0

    def run(self, context: ToolContext) -> Record:
        return judge.benchmark(self.artifact, self.shapes, self.repeats, self.timeout_s, self.vram_gb, context=context)


class ContrastiveSelect(Call):
    name = "contrastive_select"
    about = (
        "Up to n trials of a run that teach the most side by side: clearly different speed, little difference in code. "
        "Default: all kernels of this session; db: another run's name. tau 0 is greedy."
    )
    long = False
    db: Short = ""
    n: int = 4
    scheme: Scheme = "bucket"
    tau: float = TAU
    seed: int = 0

    def run(self, context: ToolContext) -> Record:
        return memory.contrastive_select(
            context.workspace.session_run(self.db), self.n, self.scheme, self.tau, seed=self.seed
        )


class Best(Call):
    name = "best"
    about = "The best confirmed kernel for each task and shape, over all runs of the workspace or one; task narrows it."
    long = False
    run_name: Annotated[Short, Field(alias="run")] = ""
    task: Short = ""

    def run(self, context: ToolContext) -> Record:
        names = [self.run_name] if self.run_name else context.workspace.runs()
        return memory.best([context.workspace.run(name) for name in names], self.task)


class Explain(Call):
    name = "explain"
    about = (
        "A trial in words: verdict, time, what bounds it, how it differs from the fastest. trial: its number; or "
        "id: a kernel's or an artifact's; default: the best. run: default this session."
    )
    long = False
    run_name: Annotated[Short, Field(alias="run")] = ""
    trial: int | None = None
    id: Short = ""

    def run(self, context: ToolContext) -> Record:
        return memory.explain(context.workspace.session_run(self.run_name), self.id or self.trial)


CALLS: tuple[type[Call], ...] = (
    ListTasks, GenerateKernel, Compile, Verify, Benchmark, ContrastiveSelect, Best, Explain,
)  # fmt: skip


def read_call(name: str, arguments: Mapping[str, Any]) -> Call:
    """The call of this name with these arguments, or what is wrong with them."""
    kinds = {kind.name: kind for kind in CALLS}
    if name not in kinds:
        raise UsageError(f"there is no tool '{name[:60]}'", f"{_near(name, kinds)}the tools: {', '.join(kinds)}")
    return checked(kinds[name], arguments, f"{name}: ")


def checked(kind: type[M], data: Mapping[str, Any], where: str) -> M:
    """Plain data as a record of this kind, strictly: no text for a number, no unknown name."""
    try:
        return kind.model_validate_json(json.dumps(data, allow_nan=False))
    except ValidationError as err:
        raise _fault(kind, err, where) from None
    except (TypeError, ValueError) as err:
        raise UsageError(f"{where}not plain JSON: {err}", "send finite numbers, text, lists and objects") from None


def _fault(kind: type[BaseModel], err: ValidationError, where: str) -> UsageError:
    """The first thing that is wrong, by its place: unknown names before all, with the one that was probably meant."""
    faults = err.errors(include_url=False)
    first = next((f for f in faults if f["type"] == "extra_forbidden"), faults[0])
    place = ".".join(str(p) for p in first["loc"])
    known = _names(kind, first["loc"][:-1])
    listed = f"known: {', '.join(known)}" if known else "docs/agents.md has an example"
    if first["type"] == "extra_forbidden":
        return UsageError(f"{where}there is no '{place[:120]}'", f"{_near(str(first['loc'][-1]), known)}{listed}")
    if first["type"] == "missing":
        return UsageError(f"{where}'{place[:120]}' is missing", listed)
    said = first["msg"].removeprefix("Value error, ")
    given = "" if first["type"] == "value_error" else f" (given: {str(first.get('input'))[:60]})"
    at = f"'{place[:120]}': " if place else ""
    return UsageError(f"{where}{at}{said}{given}", listed)


def _names(kind: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """The names that an object at this place may hold."""
    schema = kind.model_json_schema()
    here = schema
    for step in path:
        here = _resolved(here, schema)
        if "discriminator" in here:
            here = {"$ref": here["discriminator"]["mapping"][step]}
        else:
            here = here.get("properties", {}).get(step) or here.get("items", {})
    return list(_resolved(here, schema).get("properties", {}))


def _resolved(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    options = [o for o in part.get("anyOf", []) if o.get("type") != "null"]
    return _resolved(options[0], schema) if len(options) == 1 else part


def _near(key: str, known: list[str] | Mapping[str, Any]) -> str:
    meant = SYNONYMS.get(key)
    close = [meant] if meant in known else difflib.get_close_matches(key, list(known), 1)
    return f"did you mean '{close[0]}'? " if close else ""
