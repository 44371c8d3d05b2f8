"""plan.json: tools to be run in order, on what, with which quotas. A document from elsewhere, so nothing in it is guessed.

Covered: unknown keys by name, wrong types, keys given twice, quotas above the machine, another environment than the one
that was asked for, paths that leave the artifact folder (also by a link), references to steps that are not there.
A plan cannot name a task file: those run unconfined, and the person who runs the plan names them (--task).
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator

from kernellab.core.choices import OneOf
from kernellab.core.errors import UsageError
from kernellab.core.targets import devices
from kernellab.tools import calls
from kernellab.tools.calls import Call, checked
from kernellab.tools.quota import LONGEST_S

_LARGEST = 2 << 20
StepName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,39}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Quotas(_Part):
    """Of the whole plan; zero: none. `vram_gb` is memory for one candidate's buffers, on a processor too."""

    timeout_s: Annotated[float, Field(ge=0, le=LONGEST_S)] = 0.0
    vram_gb: Annotated[float, Field(ge=0)] = 0.0
    threads: Annotated[int, Field(ge=1, le=1024)] = 1


class _Step(_Part):
    """`id` names the result for later steps: "$id" stands for its kernel, artifact or run."""

    call: ClassVar[type[Call]]
    id: StepName | None = None


class GenerateStep(_Step, calls.GenerateKernel):
    call = calls.GenerateKernel
    tool: Literal["generate_kernel"]


class CompileStep(_Step, calls.Compile):
    """`file`: one of the plan's inputs, instead of `src`."""

    call = calls.Compile
    tool: Literal["compile"]
    src: calls.Text = ""
    file: calls.Short = ""

    @model_validator(mode="after")
    def _one_source(self) -> CompileStep:
        if bool(self.src) == bool(self.file):
            raise ValueError("give src (a kernel, a text) or file (one of the inputs), and not both")
        if self.file and self.spec is None:
            raise ValueError(f"say what '{self.file[:80]}' is for: spec is missing")
        return self


class VerifyStep(_Step, calls.Verify):
    call = calls.Verify
    tool: Literal["verify"]


class BenchmarkStep(_Step, calls.Benchmark):
    call = calls.Benchmark
    tool: Literal["benchmark"]


class SelectStep(_Step, calls.ContrastiveSelect):
    call = calls.ContrastiveSelect
    tool: Literal["contrastive_select"]


Step = Annotated[GenerateStep | CompileStep | VerifyStep | BenchmarkStep | SelectStep, Field(discriminator="tool")]


class Plan(_Part):
    """`environment` (the seed of this format calls it "image") is a digest as every trial records it; empty: any."""

    runner: Literal["local_sandbox"]
    environment: Annotated[
        str, Field(pattern=r"^([0-9a-f]{64})?$", validation_alias=AliasChoices("environment", "image"))
    ] = ""
    device: Annotated[str, OneOf(lambda: ["auto", *devices()])] = "auto"
    inputs: Annotated[tuple[str, ...], Field(max_length=64)] = ()
    artifact_dir: str
    quotas: Quotas = Quotas()
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=64)]

    @field_validator("artifact_dir", "inputs")
    @classmethod
    def _stays_inside(cls, given: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for text in (given,) if isinstance(given, str) else given:
            path = PurePosixPath(text)
            if not text or "\0" in text or path.is_absolute() or ".." in path.parts or text.startswith("~"):
                raise ValueError(f"'{text[:80]}' must be a relative path that stays inside")
        return given

    @model_validator(mode="after")
    def _known_names(self) -> Plan:
        known: set[str] = set()
        for number, step in enumerate(self.steps):
            for name in references(step):
                if name not in known:
                    raise ValueError(f"step {number} refers to '${name}', which no step before it is called")
            if isinstance(step, CompileStep) and step.file and step.file not in self.inputs:
                raise ValueError(f"step {number} reads '{step.file[:80]}', which is none of the inputs")
            if step.id in known:
                raise ValueError(f"two steps are called '{step.id}'")
            known |= {step.id} if step.id else set()
        return self


def references(step: _Step) -> list[str]:
    """The steps whose results this one takes."""
    values = [getattr(step, field, "") for field in ("src", "artifact", "db", "base")]
    return [v[1:] for v in values if isinstance(v, str) and v.startswith("$") and "\n" not in v]


def read_plan(path: Path) -> Plan:
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path} is larger than {_LARGEST >> 20} MB", "a plan names files, it does not hold them")
        data = json.loads(path.read_text(), object_pairs_hook=_once, parse_constant=_no_number)
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"{path} cannot be read: {err}", "give the path of a plan (docs/agents.md)") from None
    except (ValueError, RecursionError) as err:
        raise UsageError(f"{path} is not JSON: {err}", "correct it; docs/agents.md has an example") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path} is not a JSON object", "docs/agents.md has an example")
    return checked(Plan, data, f"{path.name}: ")


def place(plan: Plan, path: Path) -> Path:
    """The artifact folder beside the plan; a link that leads elsewhere is refused, and so are inputs outside it."""
    home = path.resolve().parent
    folder = home / plan.artifact_dir
    if not folder.resolve().is_relative_to(home):
        raise UsageError(f"artifact_dir '{plan.artifact_dir}' leads out of {home.name}", "use a folder beside the plan")
    for name in plan.inputs:
        file = folder / name
        if not file.resolve().is_relative_to(folder.resolve()):
            raise UsageError(f"the input '{name}' leads out of artifact_dir", "put a copy into the folder")
        if not file.is_file():
            raise UsageError(f"there is no input '{name}' in {plan.artifact_dir}", "paths are relative to artifact_dir")
    return folder


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(k for i, (k, _) in enumerate(pairs) if k in [other for other, _ in pairs[:i]])
        raise ValueError(f"the key '{twice[:60]}' is given twice")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
