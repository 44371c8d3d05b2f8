"""The pages as files, for a web server or a folder that is handed on: every page there is, and nothing else."""

from __future__ import annotations

from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.core.files import write_file
from kernellab.view.places import places
from kernellab.view.site import Site


def write_files(root: Path, out: Path) -> int:
    """How many pages were written. UsageError before anything is, where `out` is no place for them."""
    refuse_place(root, out)
    site = Site(root, served=False)
    count = 0
    for path in site.paths():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, site.page(path).html)
        count += 1
    return count


def refuse_place(root: Path, out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is there already and is not an empty folder", "name a folder that is not there yet")
    whole = out.resolve()
    for place in places(root).values():
        if whole.is_relative_to(place.folder.resolve()):
            raise UsageError(
                f"{out} lies inside the run {place.folder}", "a run holds its records alone: choose another"
            )
