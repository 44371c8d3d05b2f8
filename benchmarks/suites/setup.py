"""How long a problem of a suite takes until its first trial could begin, and whether torch's own results pass the judge.

    python benchmarks/suites/setup.py --path DIR/kernelbench/level1 [--only 12_ 40_] [--device cuda] [--compile] [--json out.json]

For each problem: seconds to import it (captured, shapes and inputs derived), to open its task, and to set its first tuned shape up
(ceilings, known answers by the oracle, every baseline started, proved and timed), and which baselines were left out or are rough,
with the reason. Without --compile torch's compiled baselines are left out. One process for all of them, as a suite run has.
After --seconds no further problem is begun.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from kernellab.core.errors import KlabError
from kernellab.core.events import Event
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.tasks.load import load_task
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.locate import write_record
from kernellab.tasks.modules.wishes import Wishes
from kernellab.tasks.spec import dims_label
from kernellab.tasks.suites import all_problems
from kernellab.tasks.suites.base import Problem


@dataclass
class Outcome:
    problem: str
    refused: str = ""
    import_s: float = 0.0
    open_s: float = 0.0
    setup_s: float = 0.0
    shape: str = ""
    fastest: str = ""
    latency_us: float = 0.0
    floor_us: float = 0.0
    notes: list[str] = field(default_factory=list)


def try_problem(importer: Importer, problem: Problem, device: str, compiled: bool) -> Outcome:
    found = Outcome(problem.name)
    began = time.monotonic()

    def listen(event: Event) -> None:
        if event.kind == "note":
            found.notes.append(event.text)

    try:
        locator = write_record(importer.import_problem(problem, Wishes(eval_mode=True)))
        found.import_s = time.monotonic() - began
        began = time.monotonic()
        task = load_task(locator)
        settings = Settings(device=device, effort="quick")
        with OpenTask(settings, task, locator, listen, torch=compiled) as opened:
            dims = opened.task.tune[0]
            found.open_s = time.monotonic() - began
            began = time.monotonic()
            stage = opened.stage(dims)
            found.setup_s = time.monotonic() - began
            found.shape, found.fastest = dims_label(dims), stage.baseline
            samples = sorted(stage.calibration.baselines[stage.baseline][0])
            found.latency_us, found.floor_us = 1e6 * samples[len(samples) // 2], 1e6 * stage.floor.seconds
            stage.close()
    except KlabError as err:
        found.refused = str(err)
    except Exception as err:  # noqa: BLE001  a fault of ours is a line of the table, and the rest goes on
        found.refused = f"FAULT {type(err).__name__}: {str(err)[:200]}"
    return found


def line(o: Outcome) -> str:
    if o.refused:
        return f"{o.problem:46.46} REFUSED after {o.import_s:.1f} s: {o.refused[:200]}"
    best = f"{o.fastest} {o.latency_us:.1f} us, floor {o.floor_us:.1f} us"
    return f"{o.problem:46.46} import {o.import_s:.1f} s, opening {o.open_s:.1f} s, set-up {o.setup_s:.1f} s, {best} {'; '.join(o.notes)[:300]}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--path", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found, left = [], []
    end = time.monotonic() + options.seconds
    with Importer([str(options.path)]) as importer:
        for problem in all_problems(str(options.path)):
            if not options.only or problem.name.startswith(tuple(options.only)):
                if time.monotonic() > end:
                    left.append(problem.name)
                    continue
                found.append(try_problem(importer, problem, options.device, options.compile))
                print(line(found[-1]), flush=True)
                if options.json:
                    options.json.write_text(json.dumps([asdict(o) for o in found], indent=1))
    print(totals(found, left))


def totals(found: list[Outcome], left: list[str]) -> str:
    ready = [o for o in found if not o.refused]

    def middle(name: str, seconds: list[float]) -> str:
        return f"{name} median {median(seconds or [0.0]):.1f} s, most {max(seconds or [0.0]):.1f} s"

    parts = [middle("import", [o.import_s for o in ready]), middle("opening", [o.open_s for o in ready]),
             middle("set-up", [o.setup_s for o in ready]),
             middle("all three", [o.import_s + o.open_s + o.setup_s for o in ready])]  # fmt: skip
    return f"{len(ready)} of {len(found)} ready; not begun {left}; {'; '.join(parts)}"


if __name__ == "__main__":
    main()
