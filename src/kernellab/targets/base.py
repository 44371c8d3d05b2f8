"""What a target and its platform can do: open builders, open a device, and say what there is to be read of machine code.

A new target gives a Language and a Toolchain; a new kind of device gives a Platform as well. Files of targets import what
is heavy only inside their functions: the list is read by commands that build and run nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.targets import Machine, PlatformFacts, TargetFacts, platform_facts, targets_on

if TYPE_CHECKING:
    from kernellab.build.base import Builder, Built
    from kernellab.build.cache import CodeCache
    from kernellab.build.router import Router
    from kernellab.core.settings import Settings
    from kernellab.measurement.profile import Profile
    from kernellab.measurement.rig import Rig
    from kernellab.sandbox.host import Sandbox
    from kernellab.tasks.crew import Crew
    from kernellab.tasks.spec import Array, Dims, Task
    from kernellab.verdict.cases import Case
    from kernellab.verdict.sanitize import Sanitized


@dataclass(frozen=True)
class Toolchain:
    """What a language's compiler asks of the sandbox, and how it is opened in one.

    `identity` goes into a run's environment. `missing`: why nothing can be built with it, asked once the sandbox is open.
    """

    identity: str
    preload: tuple[str, ...]
    builder: Callable[[Sandbox, CodeCache], Builder]
    missing: Callable[[Sandbox], str] = lambda _: ""
    trees: tuple[str, ...] = ()
    self_exe: str = ""


@dataclass(frozen=True)
class Target(TargetFacts):
    """`toolchain(settings, machine)`: for the machine that is built for."""

    toolchain: Callable[[Settings, Machine], Toolchain]


@dataclass
class Workbench:
    """Builders in their sandbox. `built_for` names what they build for, `compilers` who does it."""

    sandbox: Sandbox
    builder: Router
    built_for: str
    compilers: str

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.sandbox.close()


@dataclass
class DeviceSetup:
    """A device, opened. `missing`: baselines that cannot run here, and why.

    `build_jobs`: how many builds may run ahead of the measurements (0: none, where they would disturb them).
    """

    sandbox: Sandbox
    builder: Builder
    rig: Rig
    environment: dict[str, Any]
    missing: dict[str, str] = field(default_factory=dict)
    crew: Crew | None = None
    build_jobs: int = 0

    def gpu_seconds(self) -> float:
        return float(getattr(self.rig.device, "gpu_s", 0.0))

    def close(self) -> None:
        self.rig.close()
        self.sandbox.close()


class Profiler(Protocol):
    def __call__(self, built: Built, task: Task, dims: Dims, inputs: Sequence[Array]) -> Profile: ...


class Sanitizer(Protocol):
    """A tool that watches a kernel's memory accesses. verdict/sanitize.py is one."""

    @property
    def NAME(self) -> str: ...

    @property
    def TOOLS(self) -> Sequence[str]: ...

    def missing(self) -> str: ...

    def sanitizer_cases(self, task: Task) -> list[Case]: ...

    def sanitize(self, built: Built, task: Task, cases: Sequence[Case]) -> Sanitized: ...


class Platform(PlatformFacts, ABC):
    """A kind of device that can be opened."""

    @abstractmethod
    def present(self) -> bool:
        """Whether there is such a device here."""

    @abstractmethod
    def absent(self, what: str, fix: str) -> EnvironmentFault:
        """The fault of a run that needs a device which is not here; `fix` is what else can be done."""

    @abstractmethod
    def open(self, settings: Settings, task: Task, torch: bool) -> DeviceSetup:
        """Everything that a run on it needs. `torch`: whether its baselines are wanted."""

    @abstractmethod
    def workbench(self, settings: Settings) -> Workbench:
        """Its builders, without a device."""

    @abstractmethod
    def baselines(self, task: Task) -> Mapping[str, Callable[..., Any]]:
        """What a task is compared with here."""

    @abstractmethod
    def memory_gb(self) -> float:
        """Of the device that is here."""

    def here(self) -> str:
        """The name of the device, or what to call one that is not here."""
        return self.example.name

    def notes(self, target: str = "") -> tuple[str, ...]:
        """What whoever writes a kernel for it should know: instructions, caches, limits. `target`: what is built for."""
        return ()

    def kernels(self, built: Built) -> list[dict[str, Any]]:
        """A row for each kernel of the machine code, those of the timed shape first."""
        timed = {step.kernel for step in built.timed.plan.steps}
        names = dict.fromkeys(step.kernel for plan in built.plans for step in plan.steps)
        return [{"kernel": name, "timed": name in timed} for name in names]

    @property
    def listings(self) -> tuple[str, ...]:
        """What can be listed of an artifact, by the words of `klab build`."""
        return ()

    def listing(self, sandbox: Sandbox, built: Built, wanted: Sequence[str]) -> str:
        """The listings that are wanted. EnvironmentFault where one cannot be had."""
        raise UsageError(f"there are no listings of a kernel for {self.place}", "leave the listings out")

    def disassembly(self, sandbox: Sandbox, built: Built) -> str:
        """The machine code in words, or ''."""
        return ""

    def loop(self, sandbox: Sandbox, code: bytes) -> str:
        """The innermost loop of stored machine code as it was compiled, or ''."""
        return ""

    def sanitizer(self) -> Sanitizer | None:
        return None

    def profiler(self) -> Profiler | None:
        """What reads the device's counters during one call; it raises NoCounters where it cannot."""
        return None

    def survey(self) -> dict[str, str]:
        """What work there can be for it here: devices, compilers, tools, each with a version or why not."""
        return {}


def platform(kind: str) -> Platform:
    """By the word that records carry."""
    found = platform_facts(kind)
    if not isinstance(found, Platform):
        raise UsageError(f"the platform '{kind}' is data alone: it cannot be opened", "make it a targets.base.Platform")
    return found


def toolchains(kind: str, settings: Settings, machine: Machine) -> dict[str, Toolchain]:
    """Those of every target of a platform, by language."""
    found = [t for t in targets_on(kind) if isinstance(t, Target)]
    return {t.language.name: t.toolchain(settings, machine) for t in found}


def open_workbench(
    kind: str, settings: Settings, machine: Machine, built_for: str = "", preload: Sequence[str] = ()
) -> Workbench:
    """One sandbox with the builders of every target of a platform; `preload`: what else its jobs import."""
    from kernellab.build.cache import open_cache
    from kernellab.build.router import Router
    from kernellab.sandbox.tiers import open_sandbox

    chains = toolchains(kind, settings, machine)
    wanted = dict.fromkeys([*(name for chain in chains.values() for name in chain.preload), *preload])
    trees = dict.fromkeys(tree for chain in chains.values() for tree in chain.trees)
    self_exe = next((chain.self_exe for chain in chains.values() if chain.self_exe), "")
    sandbox = open_sandbox(settings.sandbox, tuple(wanted), tuple(trees), self_exe)
    missing = {name: reason for name, chain in chains.items() if (reason := chain.missing(sandbox))}
    cache = open_cache(settings.cache)
    builders = {name: chain.builder(sandbox, cache) for name, chain in chains.items() if name not in missing}
    compilers = ", ".join(chain.identity for chain in chains.values())
    return Workbench(sandbox, Router(kind, builders, missing), built_for or machine.architecture, compilers)
