"""What a run with a model will cost at most, from its own prompts; nothing is asked and nothing is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernellab.core.settings import Science, Settings
from kernellab.core.targets import default_language
from kernellab.propose.author import Author
from kernellab.propose.models import NEVER, Account, Cancel, ModelFault, Reply, Request, load_prices
from kernellab.propose.prompts import Brief, DeviceFacts, Experiment, Failure, KernelFacts, Kind, PromptBook, TaskFacts
from kernellab.search.scientist.model_session import budget_of
from kernellab.targets.choose import platform_of
from kernellab.tasks.spec import Task


@dataclass(frozen=True)
class Forecast:
    """`calls` if every kernel works at the first attempt, `most_calls` if every one is repaired to the last."""

    model: str
    generations: int
    calls: int
    most_calls: int
    tokens: int
    most_tokens: int
    usd: float | None
    most_usd: float | None
    note: str
    limits: dict[str, float]

    def data(self) -> dict[str, Any]:
        return {"status": "estimate", **self.__dict__}


def estimate(
    task: Task, settings: Settings, science: Science, shapes: int, known: list[str], book: PromptBook
) -> Forecast:
    """`known`: sources of the kernels that a run starts from. Every reply is taken to be as long as it may be."""
    name = science.model.partition(":")[2].partition("@")[0] or science.model
    account = Account(budget_of(science), load_prices())
    author = Author(_Nobody(), name, book, science.max_tokens, science.temperature, science.prompt_tokens)
    per, most_per = _calls(science, bool(known))
    trials = settings.max_trials if science.budget_trials is None else min(settings.max_trials, science.budget_trials)
    each = science.experiments * science.tune
    generations = shapes * max(1, -(-max(0, trials - len(known)) // each))
    costs = {kind: account.estimate(author.request(kind, _brief(kind, task, settings, science, known), 0))
             for kind in {*per, *most_per}}  # fmt: skip

    def total(counts: Counts) -> tuple[int, int, float | None]:
        calls = sum(counts.values())
        tokens = sum(n * costs[k].tokens for k, n in counts.items())
        usd = [n * (costs[k].usd or 0.0) for k, n in counts.items()]
        priced = all(costs[k].usd is not None for k in counts)
        return calls, tokens, sum(usd) if priced else None

    least, most = total(per), total(most_per)
    limits = {k: v for k, v in budget_of(science).__dict__.items() if v is not None}
    note = account.prices.note(name)
    return Forecast(
        science.model, generations, generations * least[0], generations * most[0], generations * least[1],
        generations * most[1], _times(least[2], generations), _times(most[2], generations), note, limits,
    )  # fmt: skip


_SOFT: tuple[Kind, ...] = ("soft_compile", "soft_memory", "soft_numerics")
Counts = dict[Kind, int]


def _calls(science: Science, known: bool) -> tuple[Counts, Counts]:
    """Of one generation, by kind: at least and at most."""
    if not known:
        first: Counts = {"translate": science.samples}
        return first, {**first, "repair": science.samples * science.repairs}
    soft = dict.fromkeys(_SOFT, science.experiments) if science.soft else {}
    least: Counts = {"select": 1, "design": 1, "write": science.experiments, **soft}
    more = {k: n * (1 + science.repairs) for k, n in soft.items()}
    return least, {**least, **more, "select": 2, "design": 2, "repair": science.experiments * science.repairs}


def _brief(kind: str, task: Task, settings: Settings, science: Science, known: list[str]) -> Brief:
    """As full as a prompt gets: exemplars, base and reference are the kernels that are known."""
    place = platform_of(settings)
    backend = science.backend or default_language(place.kind)
    device = DeviceFacts("this device", place.architecture, settings.threads, 1.0, 1.0, 1.0)
    facts = [KernelFacts(f"trial {i}", text, {}, "untried") for i, text in enumerate(known[: science.exemplars])]
    base = facts[0] if facts else KernelFacts("trial 0", "x" * 4000, {}, "untried")
    words = "about thirty words of reasoning " * 6
    return Brief(
        TaskFacts.of(task, settings.device), device, backend, tuple(facts), base, facts[1] if len(facts) > 1 else None,
        failures=(Failure("build", "does not compile", words),), experiment=Experiment(words, words, 1.0, 1.2, words, words),
    )  # fmt: skip


def _times(usd: float | None, count: int) -> float | None:
    return None if usd is None else usd * count


class _Nobody:
    """A model that is never asked: an estimate makes no calls."""

    def complete(self, request: Request, cancel: Cancel = NEVER) -> Reply:
        raise ModelFault("cancelled", "an estimate makes no calls")
