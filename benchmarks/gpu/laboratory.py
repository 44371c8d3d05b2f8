"""What the laboratory itself does on a GPU: throughput, A/A, recovery. One process, one calibrated stage.

    python benchmarks/gpu/laboratory.py [--trials 1000] [--aa 200] [--faults 5]

throughput  verified trials a second over Triton variants of row-softmax 16384x4096 bf16, sandbox and ledger on (asked: 30).
            A trial counts when its machine code was built in the sandbox and judged; combinations that launch() refuses
            do not count. The clock runs from the first proposal to the last record.
aa          comparisons of a kernel with itself, loaded anew each time, that the win rule calls a win (asked: none of 200)
recovery    seconds from the detection of a fault until the next, honest kernel has been judged (asked: at most 3)
"""

from __future__ import annotations

import argparse
import collections
import json
import tempfile
import time
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.core.events import Event
from kernellab.core.records import Rejected, Timing
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.stage import Stage
from kernellab.measurement.bench import Arm, Bench
from kernellab.propose.base import Proposer
from kernellab.propose.recipe import builtin_candidates, load_recipes, read_candidate
from kernellab.search.ahead import Ahead
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import build, step
from kernellab.search.tune import make_tuner
from kernellab.tasks.load import load_task

HERE = Path(__file__).parent
CHEATS = HERE.parents[1] / "tests" / "cheats" / "gpu"
FAULTS = ("cheat_crash_illegal_address", "cheat_crash_trap", "cheat_hang_endless")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--aa", type=int, default=200)
    parser.add_argument("--faults", type=int, default=5)
    options = parser.parse_args()
    settings = Settings(effort="quick", device="cuda", sampler="exhaustive", cache=False, trials=options.trials)
    task = load_task("softmax", "bf16")
    moments: list[tuple[float, str]] = []

    def listen(event: Event) -> None:
        if event.kind == "trial":
            moments.append((time.monotonic(), event.data["trial"].status))

    dims = {"M": 16384, "N": 4096}
    candidate = read_candidate(HERE / "softmax_wide.py")
    with (
        tempfile.TemporaryDirectory() as folder,
        OpenTask(settings, task, task.name, listen, torch=False) as opened,
        ExperimentRun.start(opened, Path(folder) / "run", [dims], [candidate], "search") as run,
    ):
        recipes, unusable = load_recipes(opened.builder, [candidate])
        assert recipes, unusable
        stage = run.stage(dims)
        try:
            honest = _honest(run, stage)
            print(json.dumps({"recovery": recovery(run, stage, honest, options.faults)}), flush=True)
            print(json.dumps({"aa": aa(run, stage, honest, options.aa)}), flush=True)
            started = time.monotonic()
            search(run, stage, make_tuner(recipes, "exhaustive", 0), options.trials)
            print(json.dumps({"throughput": throughput(started, moments)}), flush=True)
        finally:
            stage.close()


def search(run: ExperimentRun, stage: Stage, proposer: Proposer, trials: int) -> None:
    """The laboratory's own loop, without the confirmation at its end."""

    jobs = run.opened.device.build_jobs
    with Ahead(proposer, partial(build, run, stage), jobs, spare=stage.expect_confirmation) as ahead:
        for done in range(trials):
            found = ahead.next(trials - done)
            if found is None:
                return
            idea, _ = found
            proposer.tell([run.outcome(step(run, stage, idea), idea)])


def throughput(started: float, moments: list[tuple[float, str]]) -> dict[str, Any]:
    counts = collections.Counter(status for _, status in moments)
    judged = [t for t, status in moments if status in ("measured", "rejected", "duplicate")]
    seconds = judged[-1] - started
    quarters = [sum(1 for t in judged if k <= 4 * (t - started) / seconds < k + 1) for k in range(4)]
    return {
        "trials": dict(counts), "judged": len(judged), "seconds": seconds, "judged_a_second": len(judged) / seconds,
        "measured_a_second": counts["measured"] / seconds, "quarters_a_second": [4 * q / seconds for q in quarters],
    }  # fmt: skip


def aa(run: ExperimentRun, stage: Stage, built: Built, count: int) -> dict[str, Any]:
    ratios, wins, started, settings = [], 0, time.monotonic(), run.settings
    for _ in range(count):
        arms = [Arm(f"arm-{side}", stage.start_worker(built, stage.ring, side), side) for side in (0, 1)]
        bench = Bench(stage.ring, stage.floor, run.opened.device.rig.sample_s)
        timing = bench.confirm(repeat((arms[0], arms[1])), settings.profile)
        for arm in arms:
            arm.worker.close()
        assert isinstance(timing, Timing), timing
        ratios.append(timing.speedup)
        wins += timing.speedup_low > settings.win_floor
    return {"n": count, "wins": wins, "lowest": min(ratios), "highest": max(ratios),
            "seconds": time.monotonic() - started, "pairs": settings.profile.confirm_pairs}  # fmt: skip


def recovery(run: ExperimentRun, stage: Stage, honest: Built, count: int) -> dict[str, Any]:
    figures = {}
    for name in FAULTS:
        built = _built(run, stage, Candidate((CHEATS / f"{name}.py").read_text(), name), {})
        seconds, verdict = [], None
        for _ in range(count):
            verdict = stage.verify(built)
            detected = time.monotonic()
            assert isinstance(verdict, Rejected), verdict
            assert stage.verify(honest).status == "passed"
            seconds.append(time.monotonic() - detected)
        figures[name] = {"cause": verdict.cause if isinstance(verdict, Rejected) else "", "seconds": sorted(seconds)}
    return figures


def _honest(run: ExperimentRun, stage: Stage) -> Built:
    found = [c for c in builtin_candidates(stage.task.name, "cuda") if c.name == "softmax_row_triton"]
    recipe = load_recipes(run.opened.builder, found)[0][0]
    return _built(run, stage, recipe.candidate, {k: v[0] for k, v in recipe.space.items()})


def _built(run: ExperimentRun, stage: Stage, candidate: Candidate, params: dict[str, Any]) -> Built:
    built = run.opened.builder.build(stage.task, candidate, params, stage.shapes)
    assert not isinstance(built, NotBuilt), built
    return built


if __name__ == "__main__":
    main()
