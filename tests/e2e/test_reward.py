"""klab reward as a trainer meets it: served, killed, served again; and from a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernellab.learn.client import RewardClient
from kernellab.ledger.reward_records import REWARD
from kernellab.ledger.run import Run

from .command import Klab
from .conftest import CANDIDATES, Recorded

pytestmark = pytest.mark.backend_c
TOKEN = "a-token-of-some-length"


def reply(name: str) -> str:
    return f"<think>so</think><answer>\n```python\n{CANDIDATES[name]}\n```\n</answer>"


@contextmanager
def served(klab: Klab, files: Path, out: Path) -> Iterator[tuple[RewardClient, subprocess.Popen[str]]]:
    process = klab.start(
        "reward", "--task", files / "cube.py", "--http", "0", "--out", out, "--widest", "1000",
        env={"KLAB_REWARD_TOKEN": TOKEN},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        assert process.stderr.readline() == "token: the one in KLAB_REWARD_TOKEN\n"
        yield RewardClient(url, TOKEN), process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.heavy
def test_served_killed_and_served_again_without_a_lost_or_doubled_reward(
    klab: Klab, files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    samples = [{"id": f"{name}-{n}", "reply": reply(name)} for name in ("good", "broken") for n in range(2)]
    samples.append({"id": "unread", "reply": "no"})
    with served(klab, files, out) as (client, process):
        first = client.score_plain(samples[:3])
        os.kill(process.pid, signal.SIGKILL)
    with served(klab, files, out) as (client, _):
        again = client.score_plain(samples)
        assert again[:3] == first
        assert client.facts()["rewarded"] == len(samples)
    assert [scored["accuracy"] for scored in again] == [1, 1, 0, 0, None]
    assert set(Counter(r.sample for r in Run(out).records(REWARD)).values()) == {1}
    done = klab("audit", out)
    assert done.code == 0, done.out + done.err


@pytest.mark.heavy
def test_samples_of_a_file_are_scored(klab: Klab, files: Path, tmp_path: Path) -> None:
    given = tmp_path / "samples.jsonl"
    given.write_text("\n".join(json.dumps({"id": name, "reply": reply(name)}) for name in ("good", "broken")))
    done = klab("reward", "--task", files / "cube.py", "--samples", given, "--out", tmp_path / "run", "--json")
    assert done.code == 0, done.err
    assert [row["accuracy"] for row in done.json["rewards"]] == [1, 0]
    told = klab("reward", "--task", files / "cube.py", "--samples", given, "--out", tmp_path / "run")
    assert [line.split()[0] for line in told.out.splitlines()] == ["good", "broken"]
    klab("resume", tmp_path / "run").failed(2, "holds rewards", "klab reward")
    shown = klab("show", tmp_path / "run")
    assert shown.code == 0
    assert "2 samples: " in shown.out
    assert klab("show", tmp_path / "run", "--json").json["rewards"]["samples"] == 2
    assert klab("runs", tmp_path).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "cube"], "say where samples come from"),
        (["--task", "softmax", "--http", "0.0.0.0:80"], "is not loopback"),
        (["--task", "softmax", "--http", "0", "--form", "cube"], "there is no form 'cube'"),
        (["--task", "sphere", "--samples", "{samples}"], "there is no task 'sphere'"),
        (["--task", "softmax", "--samples", "{bad}"], "line 2 is not JSON"),
        (["--task", "softmax", "--samples", "nowhere.jsonl"], "cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_told(klab: Klab, tmp_path: Path, arguments: list[str], words: str) -> None:
    for name, text in (("samples", ""), ("bad", '{"id": "1", "reply": ""}\n{"id"')):
        (tmp_path / f"{name}.jsonl").write_text(text)
    filled = [a.format(samples=tmp_path / "samples.jsonl", bad=tmp_path / "bad.jsonl") for a in arguments]
    klab("reward", *filled, "--out", tmp_path / "run").failed(2, words)


def test_a_data_set_is_written_from_recorded_runs(klab: Klab, recorded: Recorded, tmp_path: Path) -> None:
    out = tmp_path / "data.jsonl"
    done = klab("dataset", recorded.folder, "--out", out, "--json")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == done.json["rows"] == len(recorded.trials)
    assert {row["reward"] == 0.0 for row in rows} >= {True}
    klab("dataset", recorded.folder, "--out", out).failed(2, "exists already")
    klab("dataset", tmp_path, "--out", tmp_path / "other.jsonl").failed(2, "klab")
