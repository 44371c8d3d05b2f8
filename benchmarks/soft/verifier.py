"""Soft verifiers against the hard verdicts of labelled trials, with a scripted oracle as the model, over real HTTP.

    python benchmarks/soft/verifier.py [--miss 0.2] [--alarm 0.1] [--tunings 5]

The oracle finds the candidate in the text of the prompt and answers from its label, with the error rates given. Printed: the
precision and recall of each verifier and of all together, what skipping would have saved, what a run that really skips (and
audits one skip in ten) would report; then tunings with rewrites of random quality, which never lower the test half.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402
from tests.support.model_server import ModelServer  # noqa: E402
from tests.support.oracle import Errors, Oracle, rewrite  # noqa: E402

from kernellab.cli.tune_verifier import score_lines, score_table  # noqa: E402
from kernellab.propose.author import Author  # noqa: E402
from kernellab.propose.models import load_prices, open_model  # noqa: E402
from kernellab.propose.models.client import SdkClient  # noqa: E402
from kernellab.propose.prompts import PromptBook  # noqa: E402
from kernellab.search.soft import Judged, Look, SoftVerifier, score  # noqa: E402
from kernellab.search.soft.evaluate import Catalogue  # noqa: E402
from kernellab.search.soft.labelled import Labelled, LabelledSet, read_labelled  # noqa: E402
from kernellab.search.soft.tuning import TuneOrder  # noqa: E402
from kernellab.search.soft.tuning_run import Access, start_tuning  # noqa: E402

console = Console(highlight=False, width=150)


def connect(server: ModelServer) -> SdkClient:
    opened = open_model(f"openai:oracle@{server.url}", environ={})
    assert isinstance(opened, SdkClient)
    return opened


def look_at_all(labelled: LabelledSet, errors: Errors, jobs: int) -> list[Look]:
    catalogue = Catalogue.of(labelled.trials)
    with ModelServer(Oracle(labelled, errors), lifetime_s=1800) as server, connect(server) as model:
        verifier = SoftVerifier(Author(model, "oracle", PromptBook()))

        def look(number: int) -> Look:
            trial = labelled.trials[number]
            facts, device = catalogue.facts(trial), catalogue.device(trial)
            text, first = labelled.text(trial), number * verifier.calls
            return verifier.look(text, trial.params, facts, device, trial.backend, first)

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(look, range(len(labelled.trials))))


def show(title: str, judged: list[Judged], hindsight: bool) -> None:
    data = score(judged, hindsight).model_dump(mode="json")
    console.print(f"\n{title}", style="bold")
    console.print(score_table(data))
    console.print(score_lines(data), markup=False)


def tune(
    labelled: LabelledSet, seed: int, folder: Path, rounds: int, most: int
) -> tuple[float, float, float, float, int]:
    """Rewrites of random quality; balanced accuracy before and after on both halves, and how many were kept."""

    def skill(prompt: str, trial: Labelled) -> Errors:
        phrase = next((line for line in prompt.splitlines() if line.startswith("phrase")), "")
        bytes_ = hashlib.sha256(f"{seed} {phrase}".encode()).digest()
        return Errors(0.6 * bytes_[0] / 256, 0.6 * bytes_[1] / 256, 0.1 * bytes_[2] / 256)

    script = Oracle(labelled, skill, [rewrite(f"phrase {i}") for i in range(rounds)], seed)
    with ModelServer(script, lifetime_s=1800) as server, connect(server) as model:
        order = TuneOrder(kind="soft_numerics", model="oracle", name="oracle", rounds=rounds, most=most, seed=seed)
        tuned = start_tuning(folder, labelled, order, Access(model, "oracle", load_prices())).tuned
    before, after = ({h: float(e.balanced) for h, e in found.items()} for found in (tuned.first, tuned.last))
    return before["train"], after["train"], before["test"], after["test"], sum(r.kept for r in tuned.rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelled", type=Path, default=ROOT / "runs" / "labelled")
    parser.add_argument("--miss", type=float, default=0.2)
    parser.add_argument("--alarm", type=float, default=0.1)
    parser.add_argument("--garbled", type=float, default=0.02)
    parser.add_argument("--tunings", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args()
    whole = read_labelled(options.labelled)
    judged_here = whole.only([t for t in whole.trials if t.backend == "c"])
    started = time.perf_counter()
    looks = look_at_all(judged_here, Errors(options.miss, options.alarm, options.garbled), options.jobs)
    took = time.perf_counter() - started
    console.print(
        f"{len(looks)} candidates, {3 * len(looks)} opinions, {1e3 * took / len(looks) / 3:.1f} ms an opinion"
    )
    pairs = list(zip(judged_here.trials, looks, strict=True))
    show("In hindsight: every candidate was tried", [Judged(look, t.fate, t.wall_s) for t, look in pairs], True)
    run = [Judged(look, None if look.skip else t.fate, 0.0 if look.skip else t.wall_s) for t, look in pairs]
    show("As a run reports it that skips, and tries one skip in ten", run, False)
    console.print(f"\n{options.tunings} tunings, {options.rounds} rewrites of random quality each", style="bold")
    lowered = 0
    with tempfile.TemporaryDirectory() as base:
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = os.environ["XDG_DATA_HOME"] = base
        for seed in range(options.tunings):
            row = tune(whole, seed, Path(base) / str(seed), options.rounds, options.most)
            lowered += row[3] < row[2]
            console.print("seed {}: train {:.3f} -> {:.3f}, test {:.3f} -> {:.3f}, {} kept".format(seed, *row))
    console.print(f"test half lowered in {lowered} of {options.tunings} tunings")
    sys.exit(1 if lowered else 0)


if __name__ == "__main__":
    main()
