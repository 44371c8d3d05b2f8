"""The session of a run: the model with its journal, its budget and the prompts, opened after the sandbox has forked.

Keys stay in this process: the sandbox was started before and gets an environment of its own.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kernellab.core.errors import UsageError
from kernellab.core.settings import Science
from kernellab.ledger.run import Run
from kernellab.propose.author import Author
from kernellab.propose.models import (
    Account,
    Budget,
    Journal,
    Model,
    Policy,
    Recorded,
    ReplayModel,
    load_prices,
    open_model,
)
from kernellab.propose.models.base import Usage
from kernellab.propose.models.client import SdkClient
from kernellab.propose.models.journal import exchanges
from kernellab.propose.prompts import PromptBook
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.scientist.notebook import Notebook, notes_of

TEMPLATES = "prompts"


@dataclass
class ModelSession:
    """`author` asks; `account` knows what was spent; `notebook` what was decided; `pytorch` is code to translate."""

    science: Science
    author: Author
    account: Account
    notebook: Notebook
    pytorch: str = ""
    _client: Any = field(default=None, repr=False)

    def spent(self) -> dict[str, Any]:
        return self.account.spent.model_dump(mode="json")

    def close(self) -> None:
        if isinstance(self._client, SdkClient):
            self._client.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_session(run: ExperimentRun, science: Science, pytorch: str = "", policy: Policy | None = None) -> ModelSession:
    """Makes no call. What the run holds of calls and notes is taken up."""
    recorded = Run(run.folder)
    journal = Journal(run.store, run.append, exchanges(recorded))
    model: Model = open_model(science.model)
    replayed = isinstance(model, ReplayModel)
    budget = Budget() if replayed else budget_of(science)
    account = Account(budget, load_prices(), spent=journal.spent)
    answering = Recorded(model, journal, account, random.Random(run.settings.seed), policy)
    client = model.__enter__() if isinstance(model, SdkClient) else None
    folder = run.folder / TEMPLATES
    author = Author(
        answering, model_name(model, science), PromptBook(folder if folder.is_dir() else None), science.max_tokens,
        science.temperature, science.prompt_tokens,
    )  # fmt: skip
    notebook = Notebook(run.append, notes_of(recorded))
    return ModelSession(science, author, account, notebook, pytorch, client)


def refuse_impossible(science: Science) -> None:
    """UsageError for a budget that not even one call fits into, or that nobody could keep, before anything is opened."""
    kind, _, rest = science.model.partition(":")
    if kind == "replay":
        return
    name, prices, budget = rest.partition("@")[0], load_prices(), budget_of(science)
    if budget.calls == 0 or budget.seconds == 0:
        raise UsageError("a budget of nothing allows no call", "give more than 0, or leave --model out")
    if budget.usd is not None and prices.of(name) is None:
        raise UsageError(
            f"a budget in dollars cannot be kept: {prices.note(name)}", "give its price, or use --budget-tokens"
        )
    if budget.tokens is not None and budget.tokens < science.max_tokens:
        raise UsageError(f"a budget of {budget.tokens} tokens is less than one reply may take: {science.max_tokens}",
                         "give more, or set a smaller max_tokens")  # fmt: skip
    least = prices.cost(name, Usage(tokens_in=0, tokens_out=science.max_tokens, tokens_cached=0))
    if budget.usd is not None and least is not None and budget.usd < least:
        raise UsageError(f"a budget of ${budget.usd:g} is less than one reply may cost: ${least:.4f}",
                         "give more, or set a smaller max_tokens")  # fmt: skip


def budget_of(science: Science) -> Budget:
    return Budget(science.budget_usd, science.budget_tokens, science.budget_calls, science.budget_seconds)


def model_name(model: Model, science: Science) -> str:
    """As the server knows it; a replay asks under the name of the model that answered then."""
    if isinstance(model, ReplayModel):
        return model.name or "replayed"
    return str(getattr(model, "name", "")) or science.model.partition(":")[2]


def keep_templates(folder: Path, templates: Path | None) -> None:
    """A user's own templates go into the run folder, so that a resumed run asks with the same words."""
    if templates is None:
        return
    PromptBook(templates)
    if not list(templates.glob("*.j2")):
        raise UsageError(f"{templates} holds no templates", "give a folder with files such as write.j2")
    (folder / TEMPLATES).mkdir(exist_ok=True)
    for path in sorted(templates.glob("*.j2")):
        shutil.copyfile(path, folder / TEMPLATES / path.name)
