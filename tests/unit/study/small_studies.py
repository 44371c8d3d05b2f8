"""Whole studies that take seconds, with real compilers, and records as their owner could have signed them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.once import once
from tests.support.resign import Bodies as Entries
from tests.support.resign import resigned as resigned_run

from kernellab.core.settings import Settings
from kernellab.ledger.journal import read_entries
from kernellab.studies.conduct import Report, run_study
from kernellab.studies.library import SHIPPED, checked, find, read
from kernellab.studies.mine.follow_up import as_toml

QUICK = Settings(device="cpu", sample_s=0.0001)
TINY: dict[str, dict[str, Any]] = {
    "H1": {
        "shapes": ["16x128"],
        "space": {"BLOCK": [128, 512], "UNROLL": [4], "POLYNOMIAL": ["horner"], "SCHEDULE": ["source"]},
    },
    "H2": {"shapes": ["4x64"], "distributions": ["normal", "large"]},
    "H3": {"shapes": ["16x128", "16x256"], "candidates": ["softmax_online"], "most": 2, "space": {"EXP": ["poly"]}},
}


NAMES = [pytest.param("H1", marks=pytest.mark.heavy(of="study H1")), "H2", "H3"]
"""Each study takes five seconds; forgers are tried on the last two."""


class Reports(dict[str, Report]):
    """The tiny studies, each run when it is first asked for, once for all workers. A study that has ended tells its report again."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        super().__init__()
        self._factory, self._home = factory, factory.mktemp("studies")

    def __missing__(self, name: str) -> Report:
        made = once(self._factory, f"study-{name}", lambda f: run_study(tiny(name, f), QUICK, f / name))
        self[name] = run_study(tiny(name, self._home), QUICK, made / name)
        return self[name]


def tiny(name: str, folder: Path) -> Path:
    """A shipped hypothesis with its own claim and rule, and a population that takes seconds."""
    content = read(find(name)).content()
    content["population"] = [{**p, **TINY[name]} for p in content["population"] if p["device"] == "cpu"]
    content["part"] = [p for p in content["part"] if p["device"] in (None, "cpu")]
    content |= {"seeds": content["seeds"][:3], "sample": 3, "level": 0.75}
    folder.mkdir(exist_ok=True)
    shutil.copytree(SHIPPED / "candidates", folder / "candidates", dirs_exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(as_toml(checked(content, name)))
    return path


def kinds(folder: Path) -> list[str]:
    return [e.kind for e in read_entries(folder)]


def resigned(report: Report, target: Path, change: Callable[[Entries], object]) -> Path:
    """The study as its owner could have signed it, had this been the content."""
    return resigned_run(report.folder, target, change)


def body_of(entries: Entries, kind: str) -> dict[str, Any]:
    return next(body for k, body in entries if k == kind)
