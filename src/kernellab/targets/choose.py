"""Which kind of device a run gets, settled before any work: what cannot run is refused with what can be done instead."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.settings import Settings
from kernellab.core.targets import backend_of, devices, devices_of
from kernellab.targets.base import Platform, platform

AUTO = "auto"


def choose_device(
    settings: Settings, candidates: Sequence[Candidate], builtin: Sequence[str] = (), task: str = ""
) -> Settings:
    """Settle "auto": an accelerator where there is one and something to run on it, the processor otherwise.

    `builtin`: the devices for which the task has built-in candidates.
    """
    given = {kind for c in candidates for kind in devices_of(backend_of(c.text))}
    usable = given | set(builtin)
    if settings.device == AUTO:
        return settings.model_copy(update={"device": _best(given or usable, usable, candidates, task)})
    wanted = platform(settings.device)
    if usable and wanted.kind not in usable:
        raise UsageError(
            f"{_named(candidates, task)} for {_ranked(usable)[0].place}, which --device {wanted.kind} is not",
            f"leave --device out; or {_instead(candidates, usable, wanted)}",
        )
    if not wanted.present():
        home = processor()
        fix = "leave --device out for the processor" if home.kind in usable else _instead(candidates, usable, home)
        raise wanted.absent(f"--device {wanted.kind} needs {wanted.here()}, and none answers here", fix)
    return settings


def settle_device(settings: Settings) -> Settings:
    """The same for what is measured whether there is a candidate or not: an accelerator if one is here."""
    if settings.device != AUTO:
        return choose_device(settings, [])
    found = next((p for p in _ranked(devices()) if p.present()), processor())
    return settings.model_copy(update={"device": found.kind})


def processor() -> Platform:
    """Where everything runs for which there is nothing else."""
    return next(found for found in map(platform, devices()) if not found.accelerator)


def platform_of(settings: Settings) -> Platform:
    """Of a run; one whose device was never settled is on the processor."""
    return processor() if settings.device == AUTO else platform(settings.device)


def _best(likely: Collection[str], usable: Collection[str], candidates: Sequence[Candidate], task: str) -> str:
    ranked, home = _ranked(likely), processor()
    for found in ranked:
        if found.present():
            return found.kind
    if usable and home.kind not in usable:
        what = f"{_named(candidates, task)} for {ranked[0].place}, and none answers here"
        raise ranked[0].absent(what, _instead(candidates, usable, home))
    return home.kind


def _ranked(kinds: Collection[str]) -> list[Platform]:
    """Accelerators first."""
    return sorted((platform(kind) for kind in devices() if kind in kinds), key=lambda found: not found.accelerator)


def _named(candidates: Sequence[Candidate], task: str) -> str:
    if not candidates:
        return f"the built-in kernels of {task or 'this task'} are"
    names = ", ".join(c.name for c in candidates)
    return f"{names} is" if len(candidates) == 1 else f"{names} are"


def _instead(candidates: Sequence[Candidate], usable: Collection[str], wanted: Platform) -> str:
    """What a user may do who has no such device."""
    return wanted.instead if wanted.accelerator or not candidates else _ranked(usable)[0].elsewhere
