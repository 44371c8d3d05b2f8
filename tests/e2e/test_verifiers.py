"""The taskset for the verifiers library, in an environment of its own, on a reward service with real kernels."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernellab.ledger.reward_records import REWARD
from kernellab.ledger.run import Run

from .command import Klab
from .test_distribution import ROOT, fresh, pip, run
from .test_reward import TOKEN, reply, served

pytestmark = [pytest.mark.backend_c, pytest.mark.slow]
SCORES = """
import asyncio, json, sys
import verifiers.v1 as vf
from klab_kernels import KernelTaskset
from klab_kernels.taskset import KernelsConfig, Service
from verifiers.v1.trace import AgentInfo, Trace, TraceTask

(url, *replies) = json.load(sys.stdin)
config = KernelsConfig(id="klab-kernels", task=Service(url=url))
tasks = list(KernelTaskset(config))
rows = [{"name": t.data.name, "system": t.data.system_prompt, "prompt": t.data.prompt_text} for t in tasks]
found = []
for text in replies:
    task = tasks[0]
    about = TraceTask(type=type(task).__name__, data=task.data)
    trace = Trace(task=about, agent=AgentInfo(config=vf.AgentConfig()), root_reply=text)
    try:
        asyncio.run(task.score(trace))
        found.append({"reward": trace.reward, "metrics": trace.metrics})
    except vf.TaskError as error:
        found.append({"error": str(error), "metrics": trace.metrics})
print(json.dumps({"rows": rows, "found": found}))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = fresh(tmp_path_factory.mktemp("verifiers") / "venv")
    pip(made, "install", ROOT, ROOT / "integrations" / "verifiers")
    return made


def test_rollouts_are_rewarded_by_the_judge(python: Path, klab: Klab, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    texts = [reply("good"), reply("broken"), "no answer"]
    with served(klab, files, out) as (client, _):
        env = {**os.environ, "KLAB_REWARD_TOKEN": TOKEN}
        told = json.loads(run(python, "-c", SCORES, cwd=tmp_path, env=env, given=json.dumps([client.url, *texts])))
        assert [row["name"] for row in told["rows"]] == [f"cube {shape}" for shape in client.facts()["tasks"]["cube"]]
    assert "launch" in told["rows"][0]["system"] + told["rows"][0]["prompt"]
    good, broken, silent = told["found"]
    kept = [record.reward for record in Run(out).records(REWARD)]
    assert good.get("reward") == kept[0], good  # None where the machine was too busy: then it is an error
    assert ("error" in good) == (kept[0] is None)
    assert good["metrics"]["right"] == 1.0
    assert (broken["reward"], silent["reward"]) == (0.0, 0.0)
    assert (broken["metrics"]["right"], silent["metrics"]["readable"]) == (0.0, 0.0)
    assert klab("audit", out).code == 0
