"""Kernels to write. A reward service (`klab reward`) has the tasks, the prompts and the judge; this is its door.

One row is one task at one shape. A rollout is scored by its last reply, under the trace's own id: scored again, it gets the
same reward. A sample that the service masks (a busy machine, an interval too wide) is an error of the rollout, never a zero.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any

import verifiers.v1 as vf

from kernellab.learn.client import RewardClient


class Service(vf.TaskConfig):
    """Where the service is; its token is read from the environment."""

    url: str = "http://127.0.0.1:8765"
    token_var: str = "KLAB_REWARD_TOKEN"

    def client(self) -> RewardClient:
        if not (token := os.environ.get(self.token_var)):
            raise RuntimeError(f"{self.token_var} is not set: export the token that klab reward printed")
        return RewardClient(self.url, token)


class KernelData(vf.TaskData):
    task: str
    shape: str


class Masked(RuntimeError):
    """The service could not say what the sample is worth."""


class KernelTask(vf.Task[KernelData, vf.State, Service]):
    @vf.reward(weight=1.0)
    async def kernel(self, trace: vf.Trace) -> float:
        """The service's reward: 0 for what cannot be read, built or is wrong, else by the lower bound of the speed-up."""
        sample = {"id": trace.id, "reply": trace.last_reply, "task": self.data.task, "shape": self.data.shape}
        (scored,) = await asyncio.to_thread(self.config.client().score_plain, [sample])
        trace.record_metrics(_metrics(scored))
        if scored["reward"] is None:
            raise Masked(scored["why"])
        return float(scored["reward"])


def _metrics(scored: dict[str, Any]) -> dict[str, float]:
    found = {"readable": scored["format"], "right": scored["accuracy"], "speedup": scored["speedup"]}
    return {name: float(value) for name, value in found.items() if value is not None}


class KernelsConfig(vf.TasksetConfig):
    task: Service = Service()


class KernelTaskset(vf.Taskset[KernelTask, KernelsConfig]):
    def load(self) -> Iterable[KernelTask]:
        """Every task and shape that the service rewards, in its order."""
        service = self.config.task
        for row in service.client().prompts():
            system, user = (message["content"] for message in row["prompt"])
            place = f"{row['task']} {row['shape']}"
            data = KernelData(
                name=place, id=place, system_prompt=system, prompt=user, task=row["task"], shape=row["shape"]
            )
            yield KernelTask(data, service)
