"""The fixed sample of mutants, and the tests that have to notice each of them."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.mutants.mutate import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
SAMPLE, EQUIVALENT = (Path(__file__).with_name(name) for name in ("sample.txt", "equivalent.txt"))
SEED = "2026-11"
QUOTA = {"measurement": 60, "ledger": 30, "search": 30, "certify": 25, "report": 30, "build": 25}
NEEDS_A_GPU = frozenset(
    f"{name}.py"
    for name in (
        "measurement/device_ring", "measurement/gpu_baseline_job", "measurement/gpu_roofline", "measurement/cuda_rig",
        "build/nvrtc_job", "build/cuda", "build/triton_job", "build/triton_warm",
    )
)  # fmt: skip
"""Modules whose statements run on a GPU or with its compiler: a machine without them would show nothing."""
_TESTED = ("unit/*/test_*.py", "unit/*/*/test_*.py")


def candidates(folder: str) -> Iterator[Mutant]:
    """Every mutant that a folder could have."""
    source = ROOT / "src" / "kernellab"
    for path in sorted((source / folder).rglob("*.py")):
        module = path.relative_to(source).as_posix()
        if module not in NEEDS_A_GPU:
            yield from mutants_of(module, path.read_text())


def draw(kept: Iterable[Mutant] = ()) -> list[Mutant]:
    """The sample: what is kept of an earlier one and still there, then the first by the hash of seed and name."""
    kept = set(kept)
    drawn: list[Mutant] = []
    for folder, count in QUOTA.items():
        there = sorted(candidates(folder), key=lambda m: (m not in kept, _rank(m)))
        drawn += sorted(there[:count])
    return drawn


def _rank(mutant: Mutant) -> str:
    return hashlib.sha256(f"{SEED} {mutant}".encode()).hexdigest()


def sample() -> list[Mutant]:
    return [Mutant.named(line) for line in _lines(SAMPLE)]


def equivalent() -> dict[Mutant, str]:
    """Mutants that no test can notice, and why."""
    split = (line.partition(": ") for line in _lines(EQUIVALENT))
    return {Mutant.named(name): reason for name, _, reason in split}


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def tests_of(module: str) -> list[str]:
    """Test files, the one of the same name first: those of its folder that import the module, or else those of its folder
    that import what imports it, or else others that import it, or else all of its folder."""
    name = "kernellab." + module.removesuffix(".py").replace("/", ".")
    mirror = Path("tests/unit") / Path(module).with_name(f"test_{Path(module).name}")
    importers = {m for m, imported in _imports("src/kernellab", ("**/*.py",)).items() if name in imported}
    files = _imports("tests", _TESTED)
    inside = [path for path in files if path.split("/")[2] == module.split("/")[0]]
    chosen = (
        [path for path in inside if name in files[path] or path == mirror.as_posix()]
        or [path for path in inside if importers & files[path]]
        or [path for path in files if name in files[path]]
        or [path for path in files if Path(path).parent == mirror.parent]
    )
    return sorted(chosen, key=lambda path: (path != mirror.as_posix(), path))


@cache
def _imports(folder: str, patterns: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """What each file imports: test files by their paths, modules by their names."""
    found = {}
    for pattern in patterns:
        for path in (ROOT / folder).glob(pattern):
            place = path.relative_to(ROOT).as_posix()
            key = place if folder == "tests" else place.removeprefix("src/").removesuffix(".py").replace("/", ".")
            found[key] = frozenset(_imported(ast.parse(path.read_text())))
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
