"""The reward service itself: how many samples it judges a second, and whether it says the same twice. A JSON line a figure.

    python benchmarks/learn/service.py --out FOLDER --device cuda [--only throughput,verify,replicates] [--seconds 230]
    python benchmarks/learn/service.py --out FOLDER --device cpu --batch 24 --batches 2 --kernels 12 --verify-texts 4

throughput  samples a second that were built and judged, in whole batches, four tasks open at once, sandbox and ledger on, every
            look and full verdict on the service's own terms (asked on one H200: 30). Set-up and the first sample of each task
            are told beside it. What was not built, and kernels with the machine code of an earlier one, do not count.
verify      seconds of the tool `verify`, which a coding agent calls, over the service's seconds a sample, on the same texts
            (asked: 50): with the task kept open from call to call, and with a laboratory for each call. verify judges in
            full and times nothing; the service screens, looks further and times. The first call pays for the opening.
replicates  the same kernels scored by fresh services: the standard deviation of the logarithm of a kernel's reward over services,
            its median over kernels (asked: 1 %), the intraclass correlation (asked: 0.999), the share that is masked (asked: 5 %).

Ledgers lie in FOLDER/throughput, FOLDER/replicate-0 and so on: `klab audit` checks them. Machine code is cached in FOLDER alone,
so nothing comes from an earlier run. `--seconds`: nothing is begun that would not end in time, by what the last one took. A
line a batch, a call and a service is written as it ends, so that who is cut off has what was measured till then.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from service_texts import ELEMENTS, TASKS, Text, take, task_file, texts

from kernellab.core.events import Event
from kernellab.core.settings import Settings
from kernellab.learn import RewardService, RewardTerms, Sample, Scored, open_service
from kernellab.learn.terms import FULL_SHARE
from kernellab.ledger.reward_records import REWARD_BATCH, REWARD_CHECK
from kernellab.ledger.run import Run
from kernellab.tools import Spec, ToolContext, Workspace, compile, verify

FIGURES = ("throughput", "verify", "replicates")
NOT_BUILT = ("invalid", "build-failed")
LANGUAGES = {"cpu": "c", "cuda": "triton"}


class Benchmark:
    """`statuses`, `trial_s`: of all trials of the services so far, and their seconds without builds."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.out = options, options.out
        self.names = tuple(options.tasks.split(",")) if options.tasks else TASKS[options.device]
        elements = options.elements or ELEMENTS[options.device]
        self.files = {f"{n}_bench": task_file(n, elements, self.out / "tasks") for n in self.names}
        self.settings = Settings(effort="quick", device=options.device)
        self.source = texts(self.names, options.device, options.seed)
        self.began = time.monotonic()
        self.statuses: Counter[str] = Counter()
        self.trial_s = 0.0

    def left(self, needed: float = 0.0) -> bool:
        return time.monotonic() - self.began + needed < self.options.seconds

    @property
    def kept_back(self) -> float:
        """Seconds that throughput leaves to the figure after it."""
        return self.options.verify_seconds if "verify" in self.options.only.split(",") else 0.0

    def open(self, folder: str) -> RewardService:
        memory = (48 if self.options.device == "cuda" else 4) << 30
        terms = RewardTerms(
            [str(path) for path in self.files.values()],
            self.settings,
            memory=memory,
            full_share=self.options.full_share,
            backend=LANGUAGES[self.options.device],
        )
        return open_service(terms, self.out / folder, self._listen)

    def _listen(self, event: Event) -> None:
        if event.kind == "trial":
            self.statuses[event.data["trial"].status] += 1
            self.trial_s += event.data["trial"].wall_s


def main() -> None:
    options = _options()
    os.environ["XDG_CACHE_HOME"] = str(options.out.resolve() / "cache")
    benchmark, wanted = Benchmark(options), options.only.split(",")
    if {"throughput", "verify"} & set(wanted):
        known, each = list[Text](), 0.0
        with benchmark.open("throughput") as service:
            setup_s = _set_up(benchmark, service)
            if "throughput" in wanted:
                _say(_throughput(benchmark, service, setup_s))
            if "verify" in wanted and benchmark.left():
                known, each = _scored_first(service, take(benchmark.source, options.same_texts))
        _say(_ledger(benchmark.out / "throughput"))
        if known:
            _say(_verify(benchmark, known, each))
    if "replicates" in wanted and benchmark.left():
        _say(_replicates(benchmark))
    _say({"figure": "end", "seconds": time.monotonic() - benchmark.began})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    parser.add_argument("--device", default="cuda", choices=sorted(TASKS))
    parser.add_argument("--only", default=",".join(FIGURES))
    parser.add_argument("--tasks", default="", help="names of shipped tasks (service_texts.py), between commas")
    parser.add_argument("--elements", type=int, default=0, help="of a tensor at the timed shape")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--same-texts", type=int, default=64, help="that the service scores for the figure verify")
    parser.add_argument("--verify-texts", type=int, default=8, help="of these that verify judges, the task kept open")
    parser.add_argument("--fresh-texts", type=int, default=2, help="of these that verify judges in a laboratory each")
    parser.add_argument("--kernels", type=int, default=96)
    parser.add_argument("--services", type=int, default=3)
    parser.add_argument("--full-share", type=float, default=FULL_SHARE)
    parser.add_argument("--seconds", type=float, default=230.0)
    parser.add_argument(
        "--verify-seconds", type=float, default=60.0, help="of these, that are kept for the figure verify"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.only.split(",")) - set(FIGURES):
        parser.error(f"there is no figure {', '.join(unknown)}")
    return options


def _say(figure: dict[str, Any]) -> None:
    print(json.dumps(figure), flush=True)


def _samples(label: str, known: Sequence[Text]) -> list[Sample]:
    return [Sample(f"{label}-{number}", text.reply, text.task) for number, text in enumerate(known)]


def _scored_first(service: RewardService, known: Sequence[Text]) -> tuple[list[Text], float]:
    """Those of the texts that can be built, and the service's seconds for each of them."""
    began = time.monotonic()
    scored = service.score(_samples("verify", known))
    built = [text for text, one in zip(known, scored, strict=True) if _judged([one])]
    return built, (time.monotonic() - began) / max(1, len(built))


def _set_up(benchmark: Benchmark, service: RewardService) -> float:
    """Every shape is open afterwards, and has its first best."""
    service.score(_samples("set-up", take(benchmark.source, len(benchmark.names))))
    benchmark.statuses.clear()
    benchmark.trial_s = 0.0
    setup_s = time.monotonic() - benchmark.began
    _say({"figure": "set-up", "seconds": setup_s, "tasks": benchmark.names})
    return setup_s


def _cpu_s() -> float:
    """Of all processes of this machine, builds in their sandboxes among them."""
    user, nice, system = Path("/proc/stat").read_text().split()[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def _throughput(benchmark: Benchmark, service: RewardService, setup_s: float) -> dict[str, Any]:
    options, scored, seconds = benchmark.options, list[Scored](), list[float]()
    rates, cpu_s = list[float](), _cpu_s()
    for number in range(options.batches):
        known = take(benchmark.source, options.batch)
        if len(known) < options.batch or not benchmark.left(max(seconds, default=0.0) + benchmark.kept_back):
            break
        before, began = benchmark.statuses["duplicate"], time.monotonic()
        found = service.score(_samples(f"batch-{number}", known))
        seconds.append(time.monotonic() - began)
        rates.append((_judged(found) - benchmark.statuses["duplicate"] + before) / seconds[-1])
        scored += found
        _say({"figure": "batch", "samples": len(found), "seconds": seconds[-1], "judged_a_second": rates[-1]})
    judged = _judged(scored) - benchmark.statuses["duplicate"]
    return {
        "figure": "throughput", "asked": 30, "judged_a_second": judged / sum(seconds) if seconds else None,
        "judged": judged, "samples": len(scored), "seconds": sum(seconds), "batch": options.batch, "rates": rates,
        "not_built": Counter(s.why for s in scored if s.why in NOT_BUILT), "trials": benchmark.statuses,
        "wrong": Counter(s.why for s in scored if s.accuracy == 0 and s.why not in NOT_BUILT),
        "masked": Counter(s.why for s in scored if s.reward is None), "tasks": benchmark.names, "setup_s": setup_s,
        "trial_s": benchmark.trial_s, "cpu_s": _cpu_s() - cpu_s, "cores": os.cpu_count(),
        "full_share": options.full_share, "device": service.facts()["device"],
    }  # fmt: skip


def _judged(scored: Sequence[Scored]) -> int:
    return sum(s.accuracy is not None and s.why not in NOT_BUILT for s in scored)


def _ledger(folder: Path) -> dict[str, Any]:
    run = Run(folder)
    checks = Counter(f"{check.level} {check.verdict.status}" for check in run.records(REWARD_CHECK))
    masked = [batch.masked for batch in run.records(REWARD_BATCH) if batch.masked]
    return {"figure": "ledger", "folder": str(folder), "entries": len(run.entries), "looks": checks,
            "masked_batches": masked}  # fmt: skip


def _verify(benchmark: Benchmark, known: Sequence[Text], each: float) -> dict[str, Any]:
    """Texts of a task after one another, as an agent asks; one context for all of them, then one for each."""
    options = benchmark.options
    count = min(options.verify_texts, len(known))
    ordered = sorted(known, key=lambda text: text.task)[:: max(1, len(known) // max(count, 1))][:count]
    kept = _calls(benchmark, ordered, "verify")
    alone = [
        call
        for n, text in enumerate(ordered[: options.fresh_texts])
        for call in _calls(benchmark, [text], f"verify-{n}")
    ]
    mean, mean_alone = (statistics.fmean(s for s, _ in calls) if calls else None for calls in (kept, alone))
    return {
        "figure": "verify", "asked": 50, "ratio": mean / each if mean else None,
        "ratio_laboratory_a_call": mean_alone / each if mean_alone else None, "service_s_a_sample": each,
        "service_texts": len(known), "verify_s": [s for s, _ in kept], "verify_alone_s": [s for s, _ in alone],
        "verdicts": Counter(status for _, status in (*kept, *alone)),
    }  # fmt: skip


def _calls(benchmark: Benchmark, known: Sequence[Text], folder: str) -> list[tuple[float, str]]:
    """The seconds of each call of verify in one context, compiling left out, and its verdict."""
    context = ToolContext(Workspace(benchmark.out / folder), settings={"device": benchmark.options.device})
    found = list[tuple[float, str]]()
    try:
        for text in known:
            if not benchmark.left(max((s for s, _ in found), default=0.0)):
                break
            spec = Spec(task=str(benchmark.files[text.task]))
            made = compile(text.source, spec=spec, params=text.params, context=context)
            if made.status == "built":
                began = time.monotonic()
                verdict = verify(made.artifact, context=context)
                found.append((time.monotonic() - began, verdict.status))
                _say({"figure": "verify-call", "folder": folder, "seconds": found[-1][0], "verdict": verdict.status})
    finally:
        context.workspace.close()
    return found


def _replicates(benchmark: Benchmark) -> dict[str, Any]:
    options, rounds, longest = benchmark.options, list[list[Scored]](), 0.0
    known = take(benchmark.source, options.kernels)
    for number in range(options.services):
        if not benchmark.left(longest):
            break
        began = time.monotonic()
        with benchmark.open(f"replicate-{number}") as service:
            rounds.append(
                [s for n in range(0, len(known), options.batch)
                 for s in service.score(_samples(f"part-{n}", known[n : n + options.batch]))]
            )  # fmt: skip
        longest = max(longest, time.monotonic() - began)
        _say(_ledger(benchmark.out / f"replicate-{number}"))
        if number < options.services - 1:
            _say({"figure": "replicates so far", "seconds_a_service": longest, **_agreement(rounds)})
    return {"figure": "replicates", "seconds_a_service": longest, **_agreement(rounds)}


def _agreement(rounds: Sequence[Sequence[Scored]]) -> dict[str, Any]:
    """Of services that scored the same kernels, over those that at least one of them called right."""
    kernels = [tuple(one) for one in zip(*rounds, strict=True)]
    right = [one for one in kernels if any(s.accuracy == 1 for s in one)]
    rows = [(one[0].task, [math.log(s.reward) for s in one if s.reward]) for one in right]
    spread = [statistics.stdev(row) for _, row in rows if len(row) > 1]
    whole = [(task, row) for task, row in rows if len(row) == len(rounds) > 1]
    masked = [s for one in right for s in one if s.reward is None]
    return {
        "asked": {"sd": 0.01, "icc": 0.999, "masked": 0.05}, "services": len(rounds),
        "sd": statistics.median(spread) if spread else None, "sd_largest": max(spread, default=None),
        "icc": _icc([row for _, row in whole]), "icc_within_tasks": _icc(_centred(whole)), "kernels": len(kernels),
        "right": len(right), "rewarded_by_all": len(whole), "refused_by_some": sum(s.reward == 0 for r in right for s in r),
        "masked": len(masked) / max(1, len(right) * len(rounds)), "masked_why": Counter(s.why for s in masked),
    }  # fmt: skip


def _centred(rows: Sequence[tuple[str, list[float]]]) -> list[list[float]]:
    """Without what tells the tasks apart."""
    means = {task: statistics.fmean(v for t, row in rows if t == task for v in row) for task, _ in rows}
    return [[value - means[task] for value in row] for task, row in rows]


def _icc(rows: Sequence[Sequence[float]]) -> float | None:
    """One-way: the share of the variance of a single score that kernels explain."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    count = len(rows[0])
    within = statistics.fmean(statistics.variance(row) for row in rows)
    between = count * statistics.variance(statistics.fmean(row) for row in rows)
    total = between + (count - 1) * within
    return (between - within) / total if total else None


if __name__ == "__main__":
    main()
