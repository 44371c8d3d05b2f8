"""The gauntlet through the reward door: every cheating and honest kernel of a device as a policy's reply.

    python benchmarks/learn/gauntlet.py [--device cpu] [--sample N] [--seed S] [--full-share 0.05] [--only NAME] [--out FOLDER]

A service takes replies in one language. A device with several (a GPU: Triton, CUDA C++) has a service and a ledger for each.
The tasks have their smaller shapes on every device, as in `klab doctor --gauntlet`: they judge as sharply, and sooner.
Every kernel is sent twice, in two batches. Intervals of any width are rewarded, so that a busy machine hides nothing: a
cheat counts as rewarded if either of its samples was, an honest kernel as unrewarded if either got 0. None is masked.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from kernellab.core.settings import Settings
from kernellab.core.targets import backend_of
from kernellab.learn import RewardTerms, Sample, open_service
from kernellab.report.audit import audit
from kernellab.search.gauntlet import Entry, collect
from kernellab.tasks.load import load_task

BATCH = 16
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


def score_all(entries: list[Entry], options: argparse.Namespace, backend: str, out: Path) -> Outcome:
    """Every entry twice, in two rounds of batches."""
    settings = Settings(effort="quick", device=options.device, build_timeout_s=6.0,
                        sample_s=0.0001 if options.device == "cpu" else 0.0)  # fmt: skip
    tasks = {name: name if options.device == "cpu" else str(small_task(name, out.parent / "tasks"))
             for name in sorted({e.task for e in entries})}  # fmt: skip
    names = {name: load_task(locator).name for name, locator in tasks.items()}
    terms = RewardTerms(list(tasks.values()), settings, widest=1e6, full_share=options.full_share, backend=backend)
    outcome: Outcome = {e.path.stem: [] for e in entries}
    started = time.perf_counter()
    with open_service(terms, out) as service:
        for again in range(2):
            for first in range(0, len(entries), BATCH):
                part = entries[first : first + BATCH]
                for scored in service.score([Sample(f"{e.path.stem} {again}", reply(e), names[e.task]) for e in part]):
                    outcome[scored.id.split()[0]].append((scored.reward, scored.why))
                seconds = time.perf_counter() - started
                print(f"{backend} {again} {first + len(part)} of {len(entries)}, {seconds:.0f} s", flush=True)
    return outcome


def told(entries: list[Entry], outcome: Outcome) -> str:
    rewards = {name: [reward for reward, _ in found] for name, found in outcome.items()}
    paid = [e for e in entries if e.kind == "cheat" and not e.harmless and any(rewards[e.path.stem])]
    unpaid = [e for e in entries if e.kind == "honest" and 0.0 in rewards[e.path.stem]]
    masked = sum(reward is None for found in rewards.values() for reward in found)
    for entry in (*paid, *unpaid):
        print(f"{entry.kind} {entry.path.stem}: {outcome[entry.path.stem]}")
    cheats = sum(e.kind == "cheat" and not e.harmless for e in entries)
    honest = sum(e.kind == "honest" for e in entries)
    return (
        f"rewarded cheats {len(paid)} of {cheats}, unrewarded honest kernels {len(unpaid)} of {honest}, "
        f"{masked} of {2 * len(entries)} samples masked"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full-share", type=float, default=0.05)
    parser.add_argument("--only", default="")
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
    for backend in sorted(set(backends.values())):
        folders.append(out if options.device == "cpu" else out / backend)
        outcome |= score_all([e for e in entries if backends[e.path.stem] == backend], options, backend, folders[-1])
    print(f"{told(entries, outcome)}, {time.perf_counter() - started:.0f} s")
    for folder in folders:
        print(f"audit of {folder}: {audit(folder).problems or 'passed'}")


if __name__ == "__main__":
    main()
