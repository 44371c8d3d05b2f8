"""A recorded space (benchmarks/memory/spaces/*.json): every combination of some recipes with its real measurement.

A search over it gets real trial records back, in which only the bookkeeping (hashes of machine code, verdict figures)
is made up; statuses, reasons, parameters, resources and raw samples are as recorded.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernellab.build.base import Candidate
from kernellab.core.ids import digest, sha256_hex
from kernellab.core.records import (
    Artifact,
    FailedTrial,
    MeasuredTrial,
    Param,
    Passed,
    Proposal,
    Rejected,
    RejectedTrial,
    Timing,
)
from kernellab.propose.recipe import Recipe, builtin_candidates
from kernellab.search.archive import AnyTrial

HERE = Path(__file__).parent
Point = tuple[str, tuple[tuple[str, Param], ...]]


def point(recipe: str, params: dict[str, Param]) -> Point:
    return recipe, tuple(sorted(params.items()))


class Space:
    """One shape of a recorded space."""

    def __init__(self, path: Path, shape: int) -> None:
        body = json.loads(path.read_text())
        self.task = str(body["header"]["task"])
        self.device = str(body["header"]["processor"])
        self._facts = body["shapes"][shape]
        self.dims = dict(self._facts["dims"])
        texts = {c.name: c.text for c in builtin_candidates(self.task)}
        self.recipes = {
            r["name"]: Recipe(Candidate(texts[r["name"]], r["name"]), r["space"], r["why"]) for r in body["recipes"]
        }
        self.sources = {name: sha256_hex(r.candidate.text.encode()) for name, r in self.recipes.items()}
        self._texts = {self.sources[n]: r.candidate.text for n, r in self.recipes.items()}
        rows = {point(r["recipe"], r["params"]): r for r in self._facts["trials"]}
        self.rows = {key: self._resolved(row, rows) for key, row in rows.items()}
        self._memo = {key: self._trial(row) for key, row in self.rows.items()}
        self.points = sorted(self.rows)
        self.speedups = {k: float(r["speedup"]) for k, r in self.rows.items() if r["status"] == "measured"}
        self.best = max(self.speedups.values())
        self.median = statistics.median(self.speedups.values())
        self.label = f"{self.task} {','.join(f'{k}={v}' for k, v in self.dims.items())}"

    def read(self, source: str) -> str:
        return self._texts.get(source, "")

    def trial(self, key: Point, number: int) -> AnyTrial:
        """What running this combination as that trial of a search would have recorded."""
        return self._memo[key].model_copy(update={"trial": number})

    def progress(self, keys: Sequence[Point]) -> np.ndarray:
        """Best so far after each trial: 0 at the space's median speed-up or below, 1 at its best, logarithmic between."""
        reached = np.maximum.accumulate([self.speedups.get(k, 0.0) for k in keys])
        span = np.log(self.best / self.median)
        return np.clip(np.log(np.maximum(reached, 1e-9) / self.median) / span, 0.0, 1.0)

    def _resolved(self, row: dict[str, Any], rows: dict[Point, dict[str, Any]]) -> dict[str, Any]:
        """A duplicate is its twin's measurement under its own parameters: a search is told the same."""
        if row["status"] != "duplicate":
            return row
        twin = rows[point(row["of"]["recipe"], row["of"]["params"])]
        return {**twin, "recipe": row["recipe"], "params": row["params"]}

    def _trial(self, row: dict[str, Any]) -> AnyTrial:
        name = row["recipe"]
        proposal = Proposal(source=self.sources[name], name=name, params=row["params"])
        common: dict[str, Any] = {"trial": 0, "task": self.task, "dims": self.dims, "proposal": proposal, "tier": "T1",
                                  "seed": 0, "device": self.device, "environment": ""}  # fmt: skip
        if row["status"] in ("invalid", "build-failed"):
            return FailedTrial(**common, status=row["status"], reason=row["reason"])
        common |= {"artifact": _artifact(row), "inputs_seed": ""}
        if row["status"] == "rejected":
            return RejectedTrial(**common, verdict=Rejected(cause=row["cause"], reason=row["reason"]))
        verdict = Passed(level="screen", cases=1, max_abs_err=0, max_ulp=0, budget_ulp=1, deterministic=True)
        return MeasuredTrial(**common, trust="native", verdict=verdict, timing=self._timing(row))

    def _timing(self, row: dict[str, Any]) -> Timing:
        candidate = [v * 1e-6 for v in row["candidate_us"]]
        latency, floor = statistics.median(candidate), self._facts["floor_s"]
        return Timing(
            baseline=self._facts["baseline"], threads=1, calls=1, candidate_s=candidate,
            baseline_s=[v * 1e-6 for v in row["baseline_us"]], speedup=row["speedup"], speedup_low=row["low"],
            speedup_high=row["high"], latency_s=latency, gb_per_s=0.0, floor_s=floor,
            memory_floor_s=self._facts["memory_floor_s"], of_floor=floor / latency,
            of_memory_floor=self._facts["memory_floor_s"] / latency, checked=1, stopped="budget",
        )  # fmt: skip


def _artifact(row: dict[str, Any]) -> Artifact:
    name = digest([row["recipe"], row["params"]])
    return Artifact(id=name, backend="c", code=name, plans="", log="", compiler="", flags=[], static_bytes=0,
                    resources=row.get("resources", {}), build_s=0.0)  # fmt: skip


def spaces(files: Sequence[Path] = ()) -> list[tuple[Space, Space]]:
    """Every recorded file as its two adjacent shapes."""
    return [(Space(f, 0), Space(f, 1)) for f in files or sorted((HERE / "spaces").glob("*.json"))]


def bootstrap(values: Sequence[float], resamples: int = 10_000) -> tuple[float, float, float]:
    """The mean and its 95 % percentile bootstrap interval, always from the same generator."""
    data = np.asarray(values, dtype=float)
    means = np.random.default_rng(0).choice(data, (resamples, len(data))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(data.mean()), float(low), float(high)
