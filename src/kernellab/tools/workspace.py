"""The folder that the tools work in: kernels and artifacts by id, and beside them the run folders.

An id is made from content, so the same source or build has the same one. Nothing outside the folder can be named: an id
or a run's name is matched as a whole before it becomes a path, and links that lead out are not followed.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from kernellab.build.base import Built, Candidate
from kernellab.build.plan import plan_bytes
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.files import replace_file
from kernellab.core.ids import digest
from kernellab.core.records import Artifact, Dims, Param, Record
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.tools.open_tasks import OpenTasks
from kernellab.tools.records import Space, Spec
from kernellab.tools.session import Session

R = TypeVar("R", bound=Record)
DEFAULT = "klab-runs"
KERNEL_ID = re.compile(r"k[0-9a-f]{16}")
ARTIFACT_ID = re.compile(r"a[0-9a-f]{16}")
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,119}")
_KERNELS, _ARTIFACTS = "kernels", "built"
_MOST_SOURCE = 400_000


class Kernel(Record):
    """A source with what it is for; `task` is a built-in name or the path of a task file."""

    id: str
    name: str
    spec: Spec
    backend: str
    space: Space = Field(default_factory=dict)
    why: str = ""
    origin: str = "user"


class Kept(Record):
    """An artifact as it was built: enough to judge and measure it later, and to notice that its task has changed."""

    id: str
    kernel: str
    task: str
    fingerprint: str
    dims: Dims
    params: dict[str, Param]
    backend: str
    target: str
    artifact: Artifact


@dataclass
class Workspace:
    """`lab` is held while a laboratory works: two at a time would measure each other. `open`: the task verified last.
    `session`: the ledger of everything that is judged and timed here until it is closed."""

    folder: Path
    lab: threading.Lock = field(default_factory=threading.Lock)
    open: OpenTasks = field(default_factory=OpenTasks)
    session: Session = field(init=False)

    def __post_init__(self) -> None:
        self.session = Session(self.folder)

    def close(self) -> None:
        """Ends the session, and closes the task that is open. May be used again."""
        with self.lab:
            self.open.close()
            self.open.close_workbench()
            self.session.close()

    def keep_kernel(self, text: str, name: str, spec: Spec, backend: str, space: Space | None = None, why: str = "",
                    origin: str = "user") -> Kernel:  # fmt: skip
        if len(text) > _MOST_SOURCE:
            raise UsageError(f"a source of {len(text)} characters is no kernel", f"at most {_MOST_SOURCE} are taken")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UsageError("the source holds characters that are no text", "send it as UTF-8") from None
        name = _plain(name)
        id = "k" + digest([text, name, spec.task, spec.dtype, spec.shape])[:16]
        kernel = Kernel(id=id, name=name, spec=spec, backend=backend, space=space or {}, why=why, origin=origin)
        place = self.folder / _KERNELS / id
        write_whole(place / f"{name}.py", text.encode())
        write_whole(place / "kernel.json", kernel.model_dump_json(indent=1).encode())
        return kernel

    def kernel(self, id: str) -> Kernel:
        place = self._place(_KERNELS, KERNEL_ID, id, "kernel", "generate_kernel() and compile() give such ids")
        return _read(Kernel, place / "kernel.json")

    def candidate(self, kernel: Kernel) -> Candidate:
        return Candidate((self.folder / _KERNELS / kernel.id / f"{kernel.name}.py").read_text(), kernel.name)

    def keep_log(self, kernel: Kernel, log: str) -> None:
        write_whole(self.folder / _KERNELS / kernel.id / "build.log", log.encode(errors="replace"))

    def log(self, kernel: Kernel) -> str:
        path = self.folder / _KERNELS / kernel.id / "build.log"
        return path.read_text(errors="replace") if path.is_file() else ""

    def keep_artifact(self, kernel: Kernel, built: Built, listing: str, **facts: object) -> Kept:
        """The timed shape's machine code, the plans of all shapes, and the listing where there is one."""
        id = "a" + digest([kernel.id, built.artifact.id, facts["params"]])[:16]
        kept = Kept.model_validate({"id": id, "kernel": kernel.id, "artifact": built.artifact, **facts})
        place = self.folder / _ARTIFACTS / id
        write_whole(place / "code.bin", built.timed.code)
        write_whole(place / "plans.json", plan_bytes(built.shapes, built.plans))
        write_whole(place / "listing.txt", listing.encode(errors="replace"))
        write_whole(place / "artifact.json", kept.model_dump_json(indent=1).encode())
        return kept

    def artifact(self, id: str) -> Kept:
        return _read(
            Kept, self._place(_ARTIFACTS, ARTIFACT_ID, id, "artifact", "compile() gives such ids") / "artifact.json"
        )

    def listing(self, kept: Kept) -> str:
        return (self.folder / _ARTIFACTS / kept.id / "listing.txt").read_text(errors="replace")

    def session_run(self, name: str) -> Path:
        """The run of this name; without one, that of the session."""
        if name:
            return self.run(name)
        if self.session.folder is None:
            known = ", ".join(self.runs()[-5:]) or "none yet"
            raise UsageError(
                "nothing was verified or benchmarked in this session yet", f"name a run; runs here: {known}"
            )
        return self.session.folder

    def new_run(self, name: str) -> Path:
        """A folder for a run that does not exist yet: NAME-r1, NAME-r2, ..."""
        number = 1
        while (folder := self.folder / f"{name}-r{number}").exists():
            number += 1
        return folder

    def run(self, name: str) -> Path:
        folder = self.folder / name
        if not RUN_NAME.fullmatch(name) or not (folder / LEDGER_FILE).is_file() or not self._inside(folder):
            known = ", ".join(self.runs()[-5:]) or "none yet"
            raise UsageError(f"there is no run '{name[:120]}'", f"runs here: {known}")
        return folder

    def runs(self) -> list[str]:
        """By name, those that began last at the end."""
        if not self.folder.is_dir():
            return []
        found = [p for p in self.folder.iterdir() if RUN_NAME.fullmatch(p.name) and (p / LEDGER_FILE).is_file()]
        return [p.name for p in sorted(found, key=lambda p: (p / LEDGER_FILE).stat().st_ctime) if self._inside(p)]

    def _inside(self, folder: Path) -> bool:
        return folder.resolve().parent == self.folder.resolve()

    def _place(self, group: str, pattern: re.Pattern[str], id: str, noun: str, fix: str) -> Path:
        place = self.folder / group / id
        if not pattern.fullmatch(id) or not place.is_dir():
            raise UsageError(f"there is no {noun} '{id[:80]}'", fix)
        return place


def _plain(name: str) -> str:
    """A file name without surprises; a kernel's name is for people."""
    kept = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:60]
    return kept if kept and not kept[0].isdigit() else f"kernel_{kept}".rstrip("_")


def write_whole(path: Path, data: bytes) -> None:
    """Whole or not at all: another session may be reading."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data)


def _read(kind: type[R], path: Path) -> R:
    try:
        return kind.model_validate_json(path.read_text())
    except (OSError, ValidationError, UnicodeDecodeError) as err:
        raise LedgerFault(f"{path.parent.name} is damaged: {str(err).splitlines()[0]}", "compile it again") from None
