"""A true 2 % speed-up, looked for 40 times: found when the lower bound of its interval clears 1.01.

python benchmarks/two_percent.py [--n 40] [--effort standard]
"""

from __future__ import annotations

import argparse

from duel import SPIN, build, duel, open_stage
from kernellab.core.settings import Settings


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--effort", default="standard")
    options = parser.parse_args()
    settings = Settings(effort=options.effort)
    found, ratios, widths = 0, [], []
    with open_stage(str(SPIN), {"N": 4096}, settings) as (opened, stage):
        fast = build(opened, stage, SPIN, {"ROUNDS": 400_000})
        slow = build(opened, stage, SPIN, {"ROUNDS": 408_000})
        for _ in range(options.n):
            timing = duel(stage, fast, slow, settings.profile, settings.sample_s)
            ratios.append(timing.speedup)
            widths.append(timing.speedup_high - timing.speedup_low)
            found += timing.speedup_low > settings.win_floor
    ratios.sort()
    print(
        f"a true 2.0 % speed-up at {options.effort} effort: found {found} of {options.n} ({100 * found / options.n:.0f} %); "
        f"estimates {ratios[0]:.4f} .. {ratios[-1]:.4f}, median interval width {sorted(widths)[len(widths) // 2]:.4f}"
    )


if __name__ == "__main__":
    main()
