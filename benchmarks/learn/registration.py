"""A study on recorded spaces: registered as a file before its first seed, one row a seed, and a verdict by the rule.

The registration holds what is claimed, the statistic, the rule, seeds, arms, controls and settings, and digests of the recorded files and
of the code that runs it. A run refuses to begin, or to go on, with anything else. Rows name the registration's digest; those of
another are not read. The rule is the house's (docs/studies.md): a part is confirmed where its whole interval is on the predicted
side of the bound, rejected where it is on the other side, else inconclusive; one rejected part rejects.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kernellab.core.ids import digest, sha256_hex

FOLDER = Path(__file__).parent / "registered"
ROOT = Path(__file__).parents[2]
Verdict = Literal["confirmed", "rejected", "inconclusive"]


def command(
    name: str, words: dict[str, Any], files: Sequence[Path], seeds: Sequence[int], one: Callable[[int], dict[str, Any]],
    verdict: Callable[[str], None],
) -> None:  # fmt: skip
    """--register, --run or --verdict."""
    parser = argparse.ArgumentParser()
    todo = parser.add_mutually_exclusive_group(required=True)
    for option in ("register", "run", "verdict"):
        todo.add_argument(f"--{option}", action="store_true")
    parser.add_argument("--seconds", type=float, default=560)
    options = parser.parse_args()
    if options.register:
        register(name, words, files)
    elif options.run:
        run(name, registered(name, words, files), seeds, one, options.seconds)
    else:
        verdict(known_as(name))


def register(name: str, words: dict[str, Any], files: Sequence[Path]) -> None:
    path = FOLDER / f"{name}.json"
    if path.exists():
        raise SystemExit(f"{path} is registered; a study is registered once")
    FOLDER.mkdir(exist_ok=True)
    path.write_text(json.dumps(_whole(words, files), indent=1) + "\n")
    print(f"registered {path}: {digest(_whole(words, files))}")


def registered(name: str, words: dict[str, Any], files: Sequence[Path]) -> str:
    """The digest of what was registered, which must be what would be run now."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"{name} is not registered: --register first")
    known, now = json.loads(path.read_text()), json.loads(json.dumps(_whole(words, files)))
    if known != now:
        changed = [key for key in {**known, **now} if known.get(key) != now.get(key)]
        raise SystemExit(f"{name} was registered with another {', '.join(sorted(changed))}")
    return digest(now)


def known_as(name: str) -> str:
    """The digest of what was registered, whatever the code is like by now."""
    return digest(json.loads((FOLDER / f"{name}.json").read_text()))


def _whole(words: dict[str, Any], files: Sequence[Path]) -> dict[str, Any]:
    held = {str(path.relative_to(ROOT)): sha256_hex(path.read_bytes()) for path in sorted(files)}
    return {**words, "files": held}


def rows_of(name: str, registration: str) -> list[dict[str, Any]]:
    path = FOLDER / f"{name}.rows.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return sorted((row for row in rows if row["registration"] == registration), key=lambda row: row["seed"])


def run(
    name: str, registration: str, seeds: Sequence[int], one: Callable[[int], dict[str, Any]], seconds: float
) -> None:
    """Every seed once; goes on where it was stopped, ends after so many seconds."""
    done, started = {row["seed"] for row in rows_of(name, registration)}, time.monotonic()
    for seed in (seed for seed in seeds if seed not in done):
        if seconds and time.monotonic() - started > seconds:
            print("the time is over; run it again to go on")
            return
        row = {"registration": registration, "seed": seed, **one(seed)}
        with (FOLDER / f"{name}.rows.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")


def interval(values: Sequence[float], level: float = 0.95, resamples: int = 20_000) -> tuple[float, float, float]:
    """The mean and its percentile bootstrap interval, always from the same generator."""
    data, dice = np.asarray(values, dtype=float), np.random.default_rng(0)
    means = dice.choice(data, (resamples, len(data))).mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(data.mean()), float(low), float(high)


def by_rule(low: float, high: float, side: Literal["at-least", "at-most"], bound: float) -> Verdict:
    if side == "at-most":
        low, high, bound = -high, -low, -bound
    if low >= bound and high > bound:
        return "confirmed"
    return "rejected" if high < bound else "inconclusive"


def together(parts: Sequence[Verdict]) -> Verdict:
    if "rejected" in parts:
        return "rejected"
    return "confirmed" if all(part == "confirmed" for part in parts) else "inconclusive"


def told(figure: tuple[float, float, float], sign: bool = False) -> str:
    mean, low, high = figure
    plus = "+" if sign else ""
    return f"{mean:{plus}.4f} [{low:{plus}.4f}, {high:{plus}.4f}]"


def power(values: Sequence[float], gain: float) -> int:
    """Seeds for a gain to be seen at 5 % in four cases of five, with the spread that was found."""
    spread = float(np.std(values, ddof=1))
    return math.ceil((2.8 * spread / gain) ** 2)
