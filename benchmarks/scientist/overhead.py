"""What the scientist's own work costs a proposal: selecting exemplars, prompts, parsing, journal, notebook; the model's time
and the hardware's aside.

    python benchmarks/scientist/overhead.py [--trials 120] [--task softmax]

A scripted model (real HTTP on loopback) writes one kernel at a time, so that the model's time is the sum of its replies. The
kernels are those of the built-in recipes with a mark in them, so prompts have their real length.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.model_server import ModelServer  # noqa: E402
from tests.support.scripted_scientist import Scripted  # noqa: E402

from kernellab.core.settings import Science, Settings  # noqa: E402
from kernellab.evaluate.open_task import OpenTask  # noqa: E402
from kernellab.ledger.journal import read_entries  # noqa: E402
from kernellab.propose.base import Idea, TrialOutcome  # noqa: E402
from kernellab.propose.recipe import builtin_candidates, load_recipes  # noqa: E402
from kernellab.search.experiment_run import ExperimentRun  # noqa: E402
from kernellab.search.loop import Budget, search_shape  # noqa: E402
from kernellab.search.scientist.model_session import open_session  # noqa: E402
from kernellab.search.scientist.prompt_context import PromptContext  # noqa: E402
from kernellab.search.scientist.proposer import Scientist  # noqa: E402
from kernellab.search.tune import make_tuner  # noqa: E402
from kernellab.tasks.load import load_task  # noqa: E402


class Timed:
    """A proposer with a watch around it."""

    def __init__(self, inner: Scientist) -> None:
        self._inner = inner
        self.seconds = 0.0

    def ask(self, n: int) -> list[Idea]:
        started = time.perf_counter()
        try:
            return self._inner.ask(n)
        finally:
            self.seconds += time.perf_counter() - started

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        started = time.perf_counter()
        self._inner.tell(outcomes)
        self.seconds += time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=120)
    parser.add_argument("--task", default="softmax")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ |= {"KLAB_HOME": name, "XDG_CONFIG_HOME": name}
        print(json.dumps(measure(Path(name) / "run", options.task, options.trials, options.device), indent=1))


def measure(folder: Path, name: str, trials: int, device: str = "cpu") -> dict[str, Any]:
    task = load_task(name).on(device)
    candidates = builtin_candidates(name, device)
    if device == "cuda":  # the scripted writer answers in the language of the base kernel: one language
        candidates = [c for c in candidates if c.name.endswith("_triton")]
    texts = [c.text for c in candidates]

    def rewritten(number: int, prompt: str) -> str:
        text = texts[number % len(texts)].replace('SOURCE = r"""', f'SOURCE = r"""/* variant {number} */\n', 1)
        text = text if "variant" in text else f"{text}\n# variant {number}\n"
        return f"<answer>\n```python\n{text}\n```\n</answer>"

    settings = Settings(
        effort="quick", trials=trials, sample_s=0.0005 if device == "cpu" else 0.0, sampler="random", device=device
    )
    dims = min(task.tune, key=task.least_bytes)
    with (
        ModelServer(Scripted({"write": rewritten}), lifetime_s=1200) as server,
        OpenTask(settings, task, name) as opened,
        ExperimentRun.start(opened, folder, [dims], candidates, "search") as run,
    ):
        science = Science.model_validate({"model": f"openai:m@{server.url}", "experiments": 1, "tune": 2, "repairs": 0})
        stage = run.stage(dims)
        with open_session(run, science) as session:
            recipes, _ = load_recipes(opened.builder, candidates)
            context = PromptContext(run, session, dims, [dims])
            session.author.book.check(context.task, context.device, context.backend)
            scientist = Scientist(context, make_tuner(recipes, "random", 0), len(recipes))
            timed = Timed(scientist)
            started = time.perf_counter()
            search_shape(run, stage, timed, Budget(trials, 0.0), in_order=True)
            whole = time.perf_counter() - started
            scientist.finish()
        stage.close()
    entries = list(read_entries(folder))
    model_s = sum(e.body["seconds"] for e in entries if e.kind == "model-call" and e.body["status"] == "answered")
    written = sum(1 for e in entries if e.kind == "experiment")
    own = timed.seconds - model_s
    return {
        "written kernels": written, "trials": trials, "model calls": server.calls, "whole_s": round(whole, 1),
        "model_s": round(model_s, 2), "own_s": round(own, 2),
        "own_ms_a_written_kernel": round(1e3 * own / written, 1), "own_ms_a_trial": round(1e3 * own / trials, 1),
        "own_ms_a_call": round(1e3 * own / server.calls, 1),
    }  # fmt: skip


if __name__ == "__main__":
    main()
