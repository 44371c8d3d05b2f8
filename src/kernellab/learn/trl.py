"""A reward function for TRL's trainers. It needs neither TRL nor torch: a trainer calls it with texts and gets numbers.

trainer = GRPOTrainer(..., reward_funcs=trl_reward(service))
with a dataset that has columns `task` and `shape` where the service has several. None is a sample to leave out.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kernellab.core.errors import EnvironmentFault, UsageError

MOST_MASKED = 0.3
RewardFunction = Callable[..., list[float | None]]


class Scorer(Protocol):
    """A RewardService, or a RewardClient of one."""

    def score_plain(self, samples: list[dict[str, str]]) -> list[dict[str, Any]]: ...


def trl_reward(scorer: Scorer, most_masked: float = MOST_MASKED) -> RewardFunction:
    """`most_masked`: the share of a batch that may be masked; beyond it training stops, since it would learn from the rest
    of a busy machine."""

    def kernel_reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        texts = [_text(completion) for completion in completions]
        tasks, shapes = (_column(columns, name, len(texts)) for name in ("task", "shape"))
        scored = scorer.score_plain(
            [
                {"id": uuid.uuid4().hex, "reply": text, "task": task, "shape": shape}
                for text, task, shape in zip(texts, tasks, shapes, strict=True)
            ]
        )
        rewards = [one["reward"] for one in scored]
        _log(columns, scored)
        _refuse_masked(scored, most_masked)
        return rewards

    return kernel_reward


def _text(completion: Any) -> str:
    """A completion is a text, or the messages of a conversation, of which the last is the reply."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and completion and isinstance(completion[-1], Mapping):
        content = completion[-1].get("content")
        if isinstance(content, str):
            return content
    raise UsageError("a completion is neither a text nor a list of messages", "give TRL's own completions")


def _column(columns: Mapping[str, Any], name: str, count: int) -> list[str]:
    found = columns.get(name)
    if found is None:
        return [""] * count
    if len(found) != count:
        raise UsageError(f"the column '{name}' has {len(found)} values for {count} completions", "one for each")
    return [str(value or "") for value in found]


def _log(columns: Mapping[str, Any], scored: Sequence[Mapping[str, Any]]) -> None:
    """TRL's own logging, where it is offered."""
    if callable(log_extra := columns.get("log_extra")):
        log_extra("why", [one["why"] for one in scored])
    if callable(log_metric := columns.get("log_metric")) and scored:
        log_metric("masked", sum(one["reward"] is None for one in scored) / len(scored))
        log_metric("right", sum(one["accuracy"] == 1 for one in scored) / len(scored))


def _refuse_masked(scored: Sequence[Mapping[str, Any]], most: float) -> None:
    masked = [one["why"] for one in scored if one["reward"] is None]
    if scored and len(masked) > most * len(scored):
        raise EnvironmentFault(
            f"{len(masked)} of {len(scored)} samples could not be rewarded, more than {most:.0%}: {masked[0]}",
            "wait until the machine is quiet; the samples are on record",
        )
