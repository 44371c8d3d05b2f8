"""A/A comparisons declared a win while the other cores are busy: must be none of 200.

    python benchmarks/aa_false_wins.py [--n 200] [--effort standard] [--busy 1]

Each comparison runs one kernel against itself, each in as many fresh processes as a confirmation has, and applies the win
rule: lower bound above 1.01, and not disturbed. One that breaks off is told with its reason: a rejection of an honest kernel.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time

from duel import SPIN, build, duel, open_stage
from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import Timing
from kernellab.core.settings import Settings


def burn() -> None:
    while True:
        sum(range(10_000))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--effort", default="standard")
    parser.add_argument("--busy", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    options = parser.parse_args()
    settings = Settings(effort=options.effort)
    others = [multiprocessing.Process(target=burn, daemon=True) for _ in range(options.busy)]
    for other in others:
        other.start()
    started = time.monotonic()
    wins, busy, ratios, dropped, pairs, broken = 0, 0, [], 0, 0, []
    with open_stage(str(SPIN), {"N": 4096}, settings) as (opened, stage):
        built = build(opened, stage, SPIN, {"ROUNDS": 400_000})
        for number in range(options.n):
            try:
                timing = duel(stage, built, built, settings.profile, settings.sample_s)
            except EnvironmentFault as fault:
                timing = fault
            if not isinstance(timing, Timing):
                broken.append(str(timing))
                print(f"{number + 1}: {timing}", flush=True)
                continue
            ratios.append(timing.speedup)
            dropped += len(timing.dropped)
            pairs += len(timing.candidate_s)
            busy += timing.disturbed
            wins += timing.speedup_low > settings.win_floor and not timing.disturbed
            if number % 20 == 19:
                print(
                    f"{number + 1}: wins {wins}, busy {busy}, ratios {min(ratios):.4f} .. {max(ratios):.4f}", flush=True
                )
    for other in others:
        other.kill()
    ratios.sort()
    print(
        f"A/A at {options.effort} effort, {options.busy} busy process(es) beside it: {wins} of {options.n} declared a win, "
        f"{busy} said to be busy, {len(broken)} broke off; "
        f"median ratios {ratios[0]:.4f} .. {ratios[-1]:.4f}; {dropped} of {dropped + pairs} pairs set aside; {time.monotonic() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
