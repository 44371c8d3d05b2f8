"""The README tells the truth: its commands exist, its counts are the shipped ones, its output has today's shape."""

from __future__ import annotations

import re
from pathlib import Path

from kernellab.search.gauntlet import collect

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_every_command_of_the_readme_exists(klab) -> None:  # type: ignore[no-untyped-def]
    listed = klab("--help").out
    used = set(re.findall(r"^klab (\w+)", README, re.M)) | set(re.findall(r"\| (\w+) RUN", README))
    assert len(used) >= 8
    for name in used:
        assert re.search(rf"^\s+{name}\s", listed, re.M), name


def test_the_counts_of_the_gauntlet_are_the_shipped_ones() -> None:
    kinds = [e.kind for e in collect([], [])]
    words = f"{kinds.count('cheat')} cheating kernels, {kinds.count('task')} cheating tasks and {kinds.count('honest')} honest"
    assert words in README


def test_the_make_targets_of_the_readme_exist() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)
    for target in re.findall(r"^make (\w+)", README, re.M):
        assert target in targets


def test_the_shown_output_has_the_shape_of_todays_display() -> None:
    """Lines of the console block are made by display.py: the words around the figures must still be there."""
    block = README.split("```console")[1].split("```")[0]
    source = (ROOT / "src/kernellab/cli/display.py").read_text() + (ROOT / "src/kernellab/cli/demo.py").read_text()
    for words in ("% of floor", "speed-up [95 %]", "of floor", "figures derived again from"):
        assert words in block
        assert words in source
    assert re.search(r"#\d+ +\w+ +\d+\.\d\dx \[\d+\.\d\d, \d+\.\d\d\]", block)
    assert re.search(r"rejected: [\w-]+: ", block)
