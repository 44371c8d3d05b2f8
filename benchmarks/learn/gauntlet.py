"""The gauntlet through the reward door: every cheating and honest kernel of a device as a policy's reply.

    python benchmarks/learn/gauntlet.py [--device cpu] [--sample N] [--seed S] [--full-share 0.05] [--only NAME] [--out FOLDER]
        [--batch 16] [--seconds S]

A service takes replies in one language. A device with several (a GPU: Triton, CUDA C++) has a service and a ledger for each.
The tasks have their smaller shapes on every device, as in `klab doctor --gauntlet`: they judge as sharply, and sooner.
Every kernel is sent twice, in two batches. Intervals of any width are rewarded, so that a busy machine hides nothing: a
cheat counts as rewarded if either of its samples was, an honest kernel as unrewarded if either got 0. None is masked.

What is found so far is printed after every batch. `--seconds`: no batch is begun that would not end in time, by the longest so far. The
kernels are then in a random order, those of the task that most are for first, so that what was reached is a sample; a kernel
whose samples were all masked, or that was never reached, was told nothing of, and is not counted.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernellab.core.settings import Settings
from kernellab.core.targets import backend_of
from kernellab.learn import RewardTerms, Sample, open_service
from kernellab.learn.terms import MEMORY
from kernellab.report.audit import audit
from kernellab.search.gauntlet import Entry, collect
from kernellab.tasks.load import load_task

MEMORY_ON_GPU = 48 << 30
Outcome = dict[str, list[tuple[float | None, str]]]
"""By kernel, the reward and the reason of each of its samples."""
SMALL = '''"""The shipped task {name} at its smaller shapes."""

from dataclasses import replace

from kernellab.tasks.builtin import TASKS

BASE = TASKS["{name}"]
TASK = replace(BASE, name="{name}_small", tune=BASE.tune[:1], sizes={{}}, gpu_baselines={{"eager": BASE.gpu_baselines["torch"]}})
'''


def reply(entry: Entry) -> str:
    text = entry.path.read_text(errors="surrogateescape")
    return f"<think>gauntlet</think>\n<answer>\n````````python\n{text}\n````````\n</answer>"


def small_task(name: str, folder: Path) -> Path:
    """A file with the shipped task at its smaller shapes, against what starts at once."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}_small.py"
    path.write_text(SMALL.format(name=name))
    return path


def in_order(entries: list[Entry], options: argparse.Namespace) -> list[Entry]:
    """As they are; where time may end before they do, at random, with few changes of the task."""
    if options.seconds == float("inf"):
        return entries
    often = Counter(e.task for e in entries)
    shuffled = random.Random(options.seed).sample(entries, len(entries))
    return sorted(shuffled, key=lambda e: (-often[e.task], e.task))


def score_all(
    entries: list[Entry], options: argparse.Namespace, backend: str, out: Path, until: float, outcome: Outcome
) -> None:
    """Every entry twice, in two rounds of batches, as far as time goes."""
    settings = Settings(effort="quick", device=options.device, build_timeout_s=6.0,
                        sample_s=0.0001 if options.device == "cpu" else 0.0)  # fmt: skip
    tasks = {name: name if options.device == "cpu" else str(small_task(name, out.parent / "tasks"))
             for name in sorted({e.task for e in entries})}  # fmt: skip
    names = {name: load_task(locator).name for name, locator in tasks.items()}
    memory = MEMORY_ON_GPU if options.device == "cuda" else MEMORY
    terms = RewardTerms(list(tasks.values()), settings, widest=1e6, full_share=options.full_share, backend=backend,
                        memory=memory)  # fmt: skip
    started = time.perf_counter()
    longest = 0.0
    with open_service(terms, out) as service:
        for number, part in _batches(entries, options.batch):
            began = time.perf_counter()
            if began + longest > until:
                print(f"{backend}: time is up before batch {number}", flush=True)
                break
            samples = [Sample(f"{e.path.stem} {number}", reply(e), names[e.task]) for e in part]
            for scored in service.score(samples):
                outcome.setdefault(scored.id.split()[0], []).append((scored.reward, scored.why))
            now = time.perf_counter()
            longest = max(longest, now - began)
            print(f"{backend}, batch {number}, {now - started:.0f} s", flush=True)
            print(told(entries, outcome), flush=True)


def _batches(entries: Sequence[Entry], size: int) -> Iterator[tuple[int, Sequence[Entry]]]:
    """Of two rounds."""
    rounds = [entries[first : first + size] for first in range(0, len(entries), size)]
    return enumerate([*rounds, *rounds])


def told(entries: list[Entry], outcome: Outcome) -> str:
    """Of the kernels that were told something of: whose samples were not all masked."""
    rewards = {name: [reward for reward, _ in found] for name, found in outcome.items()}
    known = [e for e in entries if any(r is not None for r in rewards.get(e.path.stem, ()))]
    cheats = [e for e in known if e.kind == "cheat" and not e.harmless]
    honest = [e for e in known if e.kind == "honest"]
    paid = [e for e in cheats if any(rewards[e.path.stem])]
    unpaid = [e for e in honest if 0.0 in rewards[e.path.stem]]
    for entry in (*paid, *unpaid):
        print(f"{entry.kind} {entry.path.stem}: {outcome[entry.path.stem]}")
    every = [reward for e in entries for reward in rewards.get(e.path.stem, ())]
    return (
        f"rewarded cheats {len(paid)} of {len(cheats)}, unrewarded honest kernels {len(unpaid)} of {len(honest)}, "
        f"{sum(r is None for r in every)} of {len(every)} samples masked, "
        f"{len(entries) - len(known)} of {len(entries)} kernels never told of"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full-share", type=float, default=0.05)
    parser.add_argument("--only", default="")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    entries = [e for e in collect([], []) if e.device == options.device and e.kind != "task" and e.threads == 1]
    entries = [e for e in entries if options.only in e.path.stem]
    if options.sample:
        entries = random.Random(options.seed).sample(entries, options.sample)
    out, started = options.out or Path(tempfile.mkdtemp()) / "run", time.perf_counter()
    backends = {e.path.stem: backend_of(e.path.read_text(errors="replace")) for e in entries}
    outcome: Outcome = {}
    folders = []
    groups = [[e for e in entries if backends[e.path.stem] == backend] for backend in sorted(set(backends.values()))]
    groups.sort(key=len)
    for number, group in enumerate(groups):
        backend = backends[group[0].path.stem]
        folders.append(out if options.device == "cpu" else out / backend)
        now = time.perf_counter()
        until = now + (started + options.seconds - now) / (len(groups) - number)
        score_all(in_order(group, options), options, backend, folders[-1], until, outcome)
    print(f"all: {told(entries, outcome)}, {time.perf_counter() - started:.0f} s", flush=True)
    for folder in folders:
        print(f"audit of {folder}: {audit(folder).problems or 'passed'}")


if __name__ == "__main__":
    main()
