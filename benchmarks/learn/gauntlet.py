"""The gauntlet through the reward door: every cheating and honest C kernel as a policy's reply.

    python benchmarks/learn/gauntlet.py [--sample N] [--seed S] [--full-share 0.05] [--only NAME] [--out FOLDER]

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
from kernellab.learn import RewardTerms, Sample, open_service
from kernellab.report.audit import audit
from kernellab.search.gauntlet import Entry, collect

BATCH = 16


def reply(entry: Entry) -> str:
    text = entry.path.read_text(errors="surrogateescape")
    return f"<think>gauntlet</think>\n<answer>\n````````python\n{text}\n````````\n</answer>"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full-share", type=float, default=0.05)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    entries = [e for e in collect([], []) if e.device == "cpu" and e.kind != "task" and e.threads == 1]
    entries = [e for e in entries if options.only in e.path.stem]
    if options.sample:
        entries = random.Random(options.seed).sample(entries, options.sample)
    settings = Settings(effort="quick", device="cpu", build_timeout_s=6.0, sample_s=0.0001)
    terms = RewardTerms(sorted({e.task for e in entries}), settings, widest=1e6, full_share=options.full_share)
    out = options.out or Path(tempfile.mkdtemp()) / "run"
    rewards: dict[str, list[float | None]] = {e.path.stem: [] for e in entries}
    whys: dict[str, list[str]] = {e.path.stem: [] for e in entries}
    started = time.perf_counter()
    with open_service(terms, out) as service:
        for again in range(2):
            for first in range(0, len(entries), BATCH):
                part = entries[first : first + BATCH]
                for scored in service.score([Sample(f"{e.path.stem} {again}", reply(e), e.task) for e in part]):
                    name = scored.id.split()[0]
                    rewards[name].append(scored.reward)
                    whys[name].append(scored.why)
                print(
                    f"{again} {first + len(part)} of {len(entries)}, {time.perf_counter() - started:.0f} s", flush=True
                )
    paid = [e for e in entries if e.kind == "cheat" and not e.harmless and any(rewards[e.path.stem])]
    unpaid = [e for e in entries if e.kind == "honest" and 0.0 in rewards[e.path.stem]]
    masked = sum(reward is None for found in rewards.values() for reward in found)
    for entry in (*paid, *unpaid):
        print(
            f"{entry.kind} {entry.path.stem}: {list(zip(rewards[entry.path.stem], whys[entry.path.stem], strict=True))}"
        )
    cheats = sum(e.kind == "cheat" and not e.harmless for e in entries)
    honest = sum(e.kind == "honest" for e in entries)
    print(f"rewarded cheats {len(paid)} of {cheats}, unrewarded honest kernels {len(unpaid)} of {honest}, "
          f"{masked} of {2 * len(entries)} samples masked, {time.perf_counter() - started:.0f} s")  # fmt: skip
    print(f"audit of {out}: {audit(out).problems or 'passed'}")


if __name__ == "__main__":
    main()
