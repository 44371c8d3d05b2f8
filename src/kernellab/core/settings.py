"""Settings of a run: defaults < the user's TOML file < KLAB_* environment < flags. Effort profiles set the sample sizes."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kernellab.core.choices import OneOf
from kernellab.core.errors import UsageError
from kernellab.core.targets import backends, devices

EffortName = Literal["quick", "standard", "full"]
DeviceName = Annotated[str, OneOf(devices)]
BackendName = Annotated[str, OneOf(backends)]


class Effort(BaseModel):
    """How hard to look. Pairs: at least and at most for a trial, and in all for a confirmation, which are shared out among
    so many fresh `processes`; `narrow` ends a trial's measurement.

    Every pair of a confirmation holds a call that is judged in full. 111 are the least: a kernel that is wrong in one
    call of 16 then escapes once in 1,300 confirmations.
    """

    model_config = ConfigDict(frozen=True)
    least_pairs: int
    trial_pairs: int
    confirm_pairs: int
    processes: int
    narrow: float
    trials: int
    confirmations: int


EFFORTS: dict[str, Effort] = {
    "quick": Effort(
        least_pairs=5, trial_pairs=11, confirm_pairs=111, processes=3, narrow=0.02, trials=24, confirmations=2
    ),
    "standard": Effort(
        least_pairs=7, trial_pairs=31, confirm_pairs=205, processes=5, narrow=0.003, trials=80, confirmations=3
    ),
    "full": Effort(
        least_pairs=9, trial_pairs=61, confirm_pairs=413, processes=7, narrow=0.002, trials=240, confirmations=5
    ),
}


class Settings(BaseModel):
    """At most twenty fields; each is also a flag and an environment variable KLAB_<NAME>."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    effort: EffortName = "standard"
    device: Annotated[str, OneOf(lambda: ["auto", *devices()])] = "auto"
    target: str = ""
    threads: int = Field(1, ge=1, le=1 << 20)
    seed: int = Field(0, ge=0, lt=1 << 32)
    trials: int = Field(0, ge=0)
    seconds: float = Field(0.0, ge=0)
    proposer: str = ""
    sampler: Literal["gp", "tpe", "random", "exhaustive"] = "gp"
    compiler: str = ""
    build_timeout_s: float = Field(20.0, gt=0)
    build_jobs: int = Field(0, ge=0, le=1024)
    vram_gb: float = Field(0.0, ge=0, le=1e6)
    gpu_seconds: float = Field(0.0, ge=0)
    sandbox: Literal["auto", "T1", "T2", "T3", "none"] = "auto"
    cache: bool = True
    win_floor: float = Field(1.01, ge=1.0)
    wait_s: float = Field(0.0, ge=0)
    sample_s: float = Field(0.0, ge=0)

    @property
    def profile(self) -> Effort:
        return EFFORTS[self.effort]

    @property
    def sampled(self) -> bool:
        """Whether the sampler has a say: the tuner asks it, and the scientist asks the tuner."""
        return self.proposer in ("", "tuner", "scientist")

    @property
    def max_trials(self) -> int:
        return self.trials or self.profile.trials


class Science(BaseModel):
    """How the scientist works; at most twenty fields. A run without a `model` has none and searches its recipes.

    `experiments`: written side by side in a generation; `designs`: asked for, to choose those from. `tune`: trials for
    each written kernel; `repairs`: further attempts at one that fails; `samples`: first translations side by side.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    model: str = ""
    backend: Annotated[str, OneOf(lambda: ["", *backends()])] = ""
    feedback: Literal["full", "timing"] = "full"
    experiments: int = Field(3, ge=1, le=16)
    designs: int = Field(5, ge=1, le=16)
    tune: int = Field(6, ge=1, le=1000)
    repairs: int = Field(2, ge=0, le=10)
    samples: int = Field(4, ge=1, le=16)
    exemplars: int = Field(4, ge=1, le=16)
    scheme: Literal["bucket", "island"] = "bucket"
    tau: float = Field(0.1, ge=0)
    soft: bool = False
    max_tokens: int = Field(8192, ge=16)
    prompt_tokens: int = Field(24_000, ge=1000)
    temperature: float | None = Field(None, ge=0)
    budget_usd: float | None = Field(None, ge=0)
    budget_tokens: int | None = Field(None, ge=0)
    budget_calls: int | None = Field(None, ge=0)
    budget_seconds: float | None = Field(None, ge=0)
    budget_trials: int | None = Field(None, ge=1)


NO_MODEL = Science.model_validate({})


def config_path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(base) / "kernellab" / "config.toml"


def load_settings(flags: dict[str, Any], path: Path | None = None) -> Settings:
    """Flags that are None count as not given."""
    values = {k: v for k, v in _from_file(path or config_path()).items() if k != "scientist"}
    for name in Settings.model_fields:
        if (text := os.environ.get(f"KLAB_{name.upper()}")) is not None:
            values[name] = text
    return _checked(Settings, values, flags)


def load_science(flags: dict[str, Any], path: Path | None = None) -> Science:
    """Defaults < the table [scientist] of the user's file < flags; KLAB_MODEL names the model."""
    table = _from_file(path or config_path()).get("scientist", {})
    if not isinstance(table, dict):
        raise UsageError(
            "'scientist' in the settings file is not a table", 'write [scientist] and below it model = "..."'
        )
    values = dict(table)
    if text := os.environ.get("KLAB_MODEL"):
        values["model"] = text
    return _checked(Science, values, flags)


def _from_file(source: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(source.read_text()) if source.is_file() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        raise UsageError(f"{source} cannot be read: {err}", "correct or remove the file") from None


S = TypeVar("S", bound=BaseModel)


def _checked(kind: type[S], values: dict[str, Any], flags: dict[str, Any]) -> S:
    values = {**values, **{k: v for k, v in flags.items() if v is not None}}
    try:
        return kind(**values)
    except ValidationError as err:
        first = err.errors()[0]
        name = ".".join(str(p) for p in first["loc"])
        known = f"known settings: {', '.join(kind.model_fields)}"
        fix = f"give {name} such a value, or leave it out" if name in kind.model_fields else known
        raise UsageError(f"setting '{name}': {first['msg']} (given: {first.get('input')!r})", fix) from None
