"""Targets as plain data, and the one list of them. A target is a language on a platform (a kind of device).

What builds, runs and measures for a target is in kernellab/targets, one file a target. Those files are read when somebody
first asks here, so that every folder can look a name up. Records carry two words of a target: the language's name (an
artifact's `backend`) and the platform's (a run's `device`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kernellab.core.errors import UsageError

if TYPE_CHECKING:  # a job in the sandbox imports this file, and needs none of what records are made of
    from kernellab.core.records import Trust

BUILT_IN = ("kernellab.targets.cpu_c", "kernellab.targets.cuda_triton", "kernellab.targets.cuda_cpp")
"""Each has a TARGET. The order is that of lists for people; of a platform's targets the first is its default."""

Abilities = Callable[[bytes, int], Iterable[Mapping[str, set[str]]]]
"""What machine code can do besides computing, by the rules of an edition, module by module: words, each with how it comes
by it."""


@dataclass(frozen=True)
class Export:
    """How a kernel leaves the laboratory as a package. `launch`: the template of the module that starts it on a device.

    `compiled`: its SOURCE is compiled by that module. `alignment` of buffers is in bytes.
    """

    runner: Literal["host", "device"]
    way: str
    buffers: str
    alignment: int
    dependencies: tuple[str, ...] = ()
    launch: str = ""
    compiled: bool = False


@dataclass(frozen=True)
class Language:
    """What a candidate is written in.

    name         the word in records; `title` is for people, `written` for a model ("You write ... kernels")
    recognises   whether a candidate's text is in this language; a `fallback` is taken where no other is
    recipes      the folder of the built-in candidates; `suffix` goes behind their names
    prompts      a folder with _format_NAME.j2 and _example_NAME.j2, where they are not among the built-in templates
    dialect      whose mistakes a mutant of such a text may have (propose/mutants.py)
    sourced      the kernels are text in SOURCE; else they are decorated functions
    no_flags     why compile() takes no flags, where that is so
    each_shape   a shape is compiled anew, so that a compiler's message may tell of the shape
    same_code    a second build of the same text gives the same bytes, whatever else it is built for
    warps        of a block, where a candidate does not say how many
    cited        the key of its publication in a paper's list
    """

    name: str
    title: str
    written: str
    recognises: Callable[[str], bool]
    abilities: Abilities
    fallback: bool = False
    recipes: Path | None = None
    suffix: str = ""
    prompts: Path | None = None
    dialect: str = ""
    sourced: bool = True
    no_flags: str = ""
    each_shape: bool = False
    same_code: bool = False
    warps: int = 0
    cited: str = ""
    export: Export | None = None


@dataclass(frozen=True)
class Machine:
    """A device as its name tells: the architecture that is built for, and how many processors it has (0: not told).

    `generation`: architectures of one run much the same code.
    """

    name: str
    architecture: str
    processors: int = 0
    generation: str = ""


@dataclass(frozen=True)
class PlatformFacts:
    """A kind of device, as far as it is known without opening one.

    kind         the word in records and of --device; `title` and `place` are for people ("GPU", "a GPU")
    trust        what a measurement on it is worth (core/trust.py)
    accelerator  not the processor that the laboratory itself runs on
    sizes        the key of a task's shapes for it ('': the task's own)
    gauntlet     the folder of its shipped cheats and honest kernels
    architecture what is built for where nothing is named and no device is here
    example      a machine to speak of where none is at hand
    torch        what torch calls such a device
    launch_s     what starting a kernel costs by itself, about
    packages     whose versions belong into a run's environment; `facts` are its other words there, with titles
    elsewhere    what a user may do with its kernels where there is no such device
    instead      what a user may do who has no kernels for it
    """

    kind: str
    title: str
    place: str
    trust: Trust
    architecture: str
    example: Machine
    accelerator: bool = False
    sizes: str = ""
    gauntlet: str = ""
    torch: str = "cpu"
    launch_s: float = 0.0
    packages: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    elsewhere: str = ""
    instead: str = ""

    def machine(self, device: str) -> Machine | None:
        """What a recorded device name tells, where it is one of this kind."""
        return None

    def occupancy(self, device: str, threads: int, resources: Mapping[str, int]) -> float:
        """The share of the threads a processor could hold that a block of so many leaves resident; 0: not known."""
        return 0.0


@dataclass(frozen=True)
class TargetFacts:
    """`name` is for people and for this list."""

    name: str
    language: Language
    platform: PlatformFacts


_added: dict[str, TargetFacts] = {}


@cache
def _built_in() -> tuple[TargetFacts, ...]:
    return tuple(importlib.import_module(module).TARGET for module in BUILT_IN)


def targets() -> tuple[TargetFacts, ...]:
    return (*_built_in(), *_added.values())


def register(target: TargetFacts) -> None:
    """Add a target. From here on it is there like a built-in one."""
    if target.name in {known.name for known in targets()}:
        raise UsageError(f"there is a target '{target.name}' already", "give the new one another name")
    _added[target.name] = target


def forget(name: str) -> None:
    """Take a registered target out again."""
    _added.pop(name, None)


def languages() -> tuple[Language, ...]:
    return tuple({t.language.name: t.language for t in targets()}.values())


def platforms() -> tuple[PlatformFacts, ...]:
    return tuple({t.platform.kind: t.platform for t in targets()}.values())


def backends() -> list[str]:
    """The names of the languages."""
    return [language.name for language in languages()]


def devices() -> list[str]:
    """The names of the platforms."""
    return [platform.kind for platform in platforms()]


def language(name: str) -> Language:
    found = {known.name: known for known in languages()}
    if name not in found:
        raise UsageError(f"no target here is written in '{name}'", f"there are: {', '.join(found)}")
    return found[name]


def platform_facts(kind: str) -> PlatformFacts:
    found = {known.kind: known for known in platforms()}
    if kind not in found:
        raise UsageError(f"no target here runs on '{kind}'", f"there are: {', '.join(found)}")
    return found[kind]


def export_of(backend: str) -> Export:
    found = language(backend)
    if found.export is None:
        raise UsageError(
            f"a {found.title} kernel cannot be exported", "its source is in the run: 'klab show' prints it"
        )
    return found.export


def targets_on(kind: str) -> tuple[TargetFacts, ...]:
    """Of one platform, its default first."""
    return tuple(t for t in targets() if t.platform.kind == kind)


def recognised(text: str) -> Language | None:
    """The language that a candidate's text shows."""
    known = sorted(languages(), key=lambda found: found.fallback)
    return next((found for found in known if found.recognises(text)), None)


def backend_of(text: str) -> str:
    """The name of a candidate's language; of a text that shows none, the fallback's."""
    found = recognised(text) or next(found for found in languages() if found.fallback)
    return found.name


def devices_of(backend: str) -> tuple[str, ...]:
    """The platforms that run this language."""
    return tuple(t.platform.kind for t in targets() if t.language.name == backend)


def home_of(backend: str) -> str:
    """The platform of a language: the first that runs it."""
    language(backend)
    return devices_of(backend)[0]


def title_of(backend: str) -> str:
    """For people; a language that is not known here goes by its recorded name."""
    return next((found.title for found in languages() if found.name == backend), backend)


def default_language(kind: str) -> str:
    """What a first kernel for this platform is written in."""
    platform_facts(kind)
    return targets_on(kind)[0].language.name


def sizes_key(kind: str) -> str:
    """The key of a task's shapes for a platform; '' for one that has none, or is not known here."""
    return next((known.sizes for known in platforms() if known.kind == kind), "")


def torch_name(kind: str) -> str:
    """What torch calls a device of this kind; the processor for one that is not known here."""
    return next((known.torch for known in platforms() if known.kind == kind), "cpu")


def fact_titles() -> dict[str, str]:
    """The words of every platform in a run's environment, with their titles."""
    return {word: title for known in platforms() for word, title in known.facts.items()}


def recorded_machine(device: str) -> tuple[PlatformFacts, Machine | None]:
    """The platform of a recorded device name, and what the name tells. What no accelerator knows is a processor."""
    for known in platforms():
        if found := known.machine(device):
            return known, found
    return next(known for known in platforms() if not known.accelerator), None
