"""Labelled trials for soft verifiers: recipes, honest kernels and cheats as they are, and mutants of the right ones.

    python benchmarks/soft/make_labelled.py [--out runs/labelled] [--seed 0] [--per-recipe 12] [--per-honest 3]

Each file is built and judged for real, twice, on fresh inputs; what the two judgements do not agree on (races, clocks) is
left out and counted. Files go without docstrings, comments and constants that say what they are.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kernellab.core.ids import sha256_hex
from kernellab.core.settings import Settings
from kernellab.core.targets import home_of
from kernellab.propose.mutants import Original, Sample, labelled_set
from kernellab.propose.recipe import builtin_candidates
from kernellab.search.gauntlet import Entry, collect
from kernellab.search.soft.bare import bare
from kernellab.search.soft.hard import Threaded, label
from kernellab.search.soft.labelled import Labelled, LabelledSet, write_labelled
from kernellab.tasks.builtin import TASKS

ROOT = Path(__file__).resolve().parents[2]


def recipes(device: str) -> list[Original]:
    found = [
        Original(c.name, bare(c.text), task)
        for task in TASKS
        if not task.endswith(("_bf16", "_f16"))
        for c in builtin_candidates(task, device)
    ]
    return list({o.source: o for o in found}.values())


def originals(entries: list[Entry]) -> list[Original]:
    return [Original(e.path.stem, bare(e.path.read_text(errors="replace")), e.task) for e in entries]


def samples(seed: int, per_recipe: int, per_honest: int, per_gpu: int) -> Iterator[Threaded]:
    entries = [e for e in collect((), ()) if e.kind != "task"]
    threads = {e.path.stem: e.threads for e in entries}
    cpu = [e for e in entries if e.device == "cpu"]
    honest = originals([e for e in cpu if e.kind == "honest"])
    cheats = originals([e for e in cpu if e.kind == "cheat"])
    refused = originals([e for e in entries if e.device == "cuda" and e.stage == "build"])
    groups = (
        labelled_set(recipes("cpu"), (), random.Random(f"{seed} recipes"), per_recipe),
        labelled_set(honest, cheats, random.Random(f"{seed} honest"), per_honest),
        labelled_set(recipes("cuda"), refused, random.Random(f"{seed} gpu"), per_gpu),
    )
    seen = set()
    for group in groups:
        for sample in group:
            if (sample.task, sample.source) not in seen and _is_text(sample):
                seen.add((sample.task, sample.source))
                yield Threaded(sample, threads.get(sample.origin, 1))


def _is_text(sample: Sample) -> bool:
    return sample.source.isprintable() or sample.source.replace("\n", "").replace("\t", "").isprintable()


def agreeing(first: list[Labelled], second: list[Labelled]) -> list[Labelled]:
    """Trials with the same answer to all questions both times; the faster time, which the machine disturbed less."""
    again = {(t.task, t.source): t for t in second}
    kept = []
    for trial in first:
        other = again[trial.task, trial.source]
        if (trial.fate.failed, trial.fate.domain) == (other.fate.failed, other.fate.domain):
            kept.append(trial.model_copy(update={"wall_s": min(trial.wall_s, other.wall_s)}))
    return kept


def judged(given: list[Threaded], name: str) -> list[Labelled]:
    rows, started = [], time.monotonic()
    for row in label(given, Settings()):
        rows.append(row)
        if len(rows) % 50 == 0:
            print(
                f"{name}: {len(rows)} of {len(given)}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "labelled")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-recipe", type=int, default=12)
    parser.add_argument("--per-honest", type=int, default=3)
    parser.add_argument("--per-gpu", type=int, default=2)
    parser.add_argument("--most", type=int, default=0, help="only so many samples, for a try")
    options = parser.parse_args()
    given = list(samples(options.seed, options.per_recipe, options.per_honest, options.per_gpu))
    given = given[: options.most] if options.most else given
    first, second = judged(given, "first"), judged(given, "second")
    kept = agreeing(first, second)
    texts = {sha256_hex(g.sample.source.encode()): g.sample.source for g in given}
    write_labelled(LabelledSet(tuple(kept), texts), options.out)
    print(f"{len(kept)} labelled trials in {options.out}; {len(first) - len(kept)} left out for want of agreement")
    for (device, what), count in sorted(Counter(map(_summary, kept)).items()):
        print(f"{device:5} {what:28} {count}")


def _summary(trial: Labelled) -> tuple[str, str]:
    return home_of(trial.backend), trial.fate.cause or trial.fate.outcome


if __name__ == "__main__":
    main()
