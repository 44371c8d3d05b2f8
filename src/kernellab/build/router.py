"""One builder that stands for all that a device has: a candidate goes to that of its language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernellab.build.base import Builder, Built, Candidate, Described, NotBuilt
from kernellab.core.records import Param
from kernellab.core.targets import backend_of, devices_of
from kernellab.tasks.spec import Dims, Task


class Router:
    """A builder for every back end of one device."""

    backend = "any"

    def __init__(self, device: str, builders: Mapping[str, Builder], missing: Mapping[str, str]) -> None:
        self._device = device
        self._builders = builders
        self._missing = missing  # back ends of this device that cannot build here, and why

    @property
    def backends(self) -> tuple[str, ...]:
        """Those that build here."""
        return tuple(self._builders)

    def describe(self, candidate: Candidate) -> Described | NotBuilt:
        builder = self._of(candidate)
        return builder if isinstance(builder, NotBuilt) else builder.describe(candidate)

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt:
        builder = self._of(candidate)
        return builder if isinstance(builder, NotBuilt) else builder.build(task, candidate, params, shapes)

    def lacks(self, candidate: Candidate) -> str:
        """Why nothing at all of this candidate's back end can be built here, or ''."""
        backend = backend_of(candidate.text)
        return "" if backend in self._builders else self._missing.get(backend, "")

    def _of(self, candidate: Candidate) -> Builder | NotBuilt:
        backend = backend_of(candidate.text)
        if backend in self._builders:
            return self._builders[backend]
        if self._device not in devices_of(backend):
            reason = f"is a kernel for --device {devices_of(backend)[0]} ({backend}), this run is on {self._device}"
            return NotBuilt("build-failed", reason)
        return NotBuilt("build-failed", self._missing.get(backend, f"there is no {backend} back end here"))
