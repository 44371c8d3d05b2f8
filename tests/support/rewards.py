"""Ledgers of rewards for two small tasks, made by the real judge once, and told again as other trainings and exams."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TASK_FILE
from tests.support.once import once
from tests.support.resign import Bodies, resigned
from tests.unit.learn.kernels import ALSO_HONEST, HONEST, LOOP, SCREENED_ONLY, UNBUILT, WRONG, code, reply

from kernellab.core.settings import Settings
from kernellab.learn import RewardTerms, Sample, open_service
from kernellab.learn.lm.model import weights_of
from kernellab.ledger.run import Run

CUBE, SQUARE = ("cube", "N=65536"), ("square", "N=32768")
SQUARED = reply(code(body=LOOP.replace("2 * (x[i] * x[i] * x[i])", "x[i] * x[i]")))
REPLIES = {
    "honest": (*CUBE, HONEST), "also": (*CUBE, ALSO_HONEST), "renamed": (*CUBE, HONEST.replace("FLAGS", "# by me\nFLAGS")),
    "wrong": (*CUBE, WRONG), "cheat": (*CUBE, SCREENED_ONLY), "named": (*CUBE, HONEST.replace("FLAGS", "# not at 5003\nFLAGS")),
    "squared": (*SQUARE, SQUARED), "unbuilt": (*SQUARE, UNBUILT),
}  # fmt: skip
_PATIENCE = 40


@dataclass(frozen=True)
class JudgedRun:
    """`ids`: by the names of REPLIES, the sample that has a reward."""

    folder: Path
    ids: dict[str, str]


def judged_run(factory: pytest.TempPathFactory) -> JudgedRun:
    """Made once a session."""
    place = once(factory, "judged-replies", _judge)
    return JudgedRun(place / "run", json.loads((place / "ids.json").read_text()))


def two_tasks(folder: Path) -> list[str]:
    folder.mkdir(parents=True)
    (folder / "cube.py").write_text(TASK_FILE)
    squared = TASK_FILE.replace('name="cube"', 'name="square"').replace("2 * x ** 3", "x ** 2")
    (folder / "square.py").write_text(squared.replace("np.float32(2) * (x * x * x)", "x * x"))
    return [str(folder / name) for name in ("cube.py", "square.py")]


def _judge(place: Path) -> None:
    """What a busy machine masked is sent again, under another id."""
    settings = Settings(effort="quick", sample_s=0.0001, device="cpu")
    terms = RewardTerms(two_tasks(place / "tasks"), settings, widest=1e6, full_share=1.0)
    ids: dict[str, str] = {}
    with open_service(terms, place / "run") as service:
        for number in range(_PATIENCE):
            sent = {f"{name}-{number}": name for name in REPLIES if name not in ids}
            samples = [Sample(one, REPLIES[name][2], *REPLIES[name][:2]) for one, name in sent.items()]
            if not sent:
                break
            ids.update((sent[one.id], one.id) for one in service.score(samples) if one.reward is not None)
    assert ids.keys() == REPLIES.keys(), "the machine was busy all the time"
    (place / "ids.json").write_text(json.dumps(ids))


def retold(run: Path, target: Path, names: Mapping[str, str], exam: Mapping[str, Any] | None = None) -> Path:
    """The same ledger with these samples alone, under other names, signed again. `names`: from new to old."""

    def change(entries: Bodies) -> None:
        rewards = {body["sample"]: body for kind, body in entries if kind == "reward"}
        entries[:] = [entry for entry in entries if entry[0] != "reward"]
        if exam is not None:
            entries.append(("reward-exam", dict(exam)))
        entries += [("reward", {**rewards[old], "sample": new}) for new, old in names.items()]

    made = resigned(run, target, change)
    for file in run.glob("task*.py"):
        shutil.copy(file, made)
    return made


def exam_of(record: str, weights: str = "w", **other: Any) -> dict[str, Any]:
    return {"model": "some", "weights": weights, "record": record, "count": 2, "longest": 8, "temperature": 1.0, "seed": 0,
            **other}  # fmt: skip


def untrained(folder: Path, weights: bytes = b"one") -> Path:
    """A folder that looks like a model from outside."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def trained(folder: Path, base: Path, kind: str = "grpo", parent: str = "", **settings: Any) -> Path:
    """A model with a record of its training, as klab learn writes it."""
    untrained(folder, f"trained as {folder.name}".encode())
    facts = {
        "kind": kind, "from": str(base), "base": weights_of(base), "parent": parent, "steps": 4, "parameters": 7,
        "settings": {"called": folder.name, **settings}, "curve": [{"step": n + 1, "loss": 4.0 - n} for n in range(4)],
    }  # fmt: skip
    (folder / "training.json").write_text(json.dumps(facts))
    return folder


def trained_on(folder: Path, base: Path, ledger: Path) -> Path:
    return trained(folder, base, rewards=str(ledger), rewards_run=Run(ledger).first.run)
