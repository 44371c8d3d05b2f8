"""generate_kernel(): a source for a task, from the built-in recipes, its graph or a model; kept under an id, not yet built.

A model's calls are recorded in a run folder like any others: question, reply and cost, hashed in its ledger.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.records import Param
from kernellab.core.settings import Science, load_science
from kernellab.core.targets import backend_of, default_language, devices, home_of
from kernellab.ledger import kinds
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.records import End, Environment, Genesis, RunSettings, TaskFacts
from kernellab.ledger.store import Store
from kernellab.propose.author import Answer, Author
from kernellab.propose.generated import generated_candidates
from kernellab.propose.models import Account, Budget, Journal, ModelFault, Recorded, load_prices, open_model
from kernellab.propose.models.client import SdkClient
from kernellab.propose.prompts import Brief, CodeReply, FormatFailure, KernelFacts, Kind, PromptBook
from kernellab.propose.recipe import Recipe, builtin_candidates
from kernellab.search.construct import read_recipes
from kernellab.targets.base import platform
from kernellab.targets.choose import processor
from kernellab.tasks.load import is_task_file, kept_as
from kernellab.tasks.spec import Task
from kernellab.tools.context import ToolContext, as_spec
from kernellab.tools.records import Backend, Generated, NotGenerated, Space, Spec, Strategy
from kernellab.tools.tasks import brief_of
from kernellab.tools.workspace import Kernel

_ATTEMPTS = 3


def generate_kernel(
    spec: Spec | str,
    meta_space: Mapping[str, Sequence[Param]] | None = None,
    strategy: Strategy = "recipe",
    *,
    backend: Backend = "auto",
    base: str = "",
    context: ToolContext | None = None,
) -> Generated | NotGenerated:
    """`strategy`: a built-in "recipe", one written from the graph of a captured module ("lower"), or a model that "write"s a
    kernel or "translate"s the reference into a first one.

    `meta_space` takes the place of the source's own choices, name by name; the first choice is the one that is tried.
    `base`: the recipe or form to take, or the id of a kernel that a model is to better. The model is the context's, or
    KLAB_MODEL.
    """
    context, wanted = context or ToolContext(), as_spec(spec)
    task, locator = context.locate(wanted)
    space = {str(name): list(choices) for name, choices in (meta_space or {}).items()}
    empty = [name for name, choices in space.items() if not choices or not name.isidentifier()]
    if empty:
        raise UsageError(f"meta_space has no choices for '{empty[0]}'", 'write {"NAME": [choice, ...]}')
    language = _language(task, backend)
    if strategy == "recipe":
        return _from_recipe(context, wanted, task, language, space, base)
    if strategy == "lower":
        return _from_graph(context, wanted, task, language, space, base)
    return _Asked(context, wanted, task, locator, language, space).ask(strategy, base)


def _language(task: Task, backend: Backend) -> str:
    """Asked for, or what this machine can run and there are recipes for."""
    if backend != "auto":
        return backend
    for kind in devices():
        found = platform(kind)
        if found.accelerator and found.present() and builtin_candidates(task.name, kind):
            return default_language(kind)
    return default_language(processor().kind)


def _from_recipe(context: ToolContext, spec: Spec, task: Task, language: str, space: Space, base: str) -> Generated:
    made = [c for c in builtin_candidates(task.name, home_of(language)) if backend_of(c.text) == language]
    named = [c for c in made if base in ("", c.name, c.name.removesuffix(f"_{language}"))]
    names = tuple(c.name for c in made)
    if not named:
        what = (
            f"'{base[:60]}' is no {language} recipe of {task.name}"
            if base
            else f"{task.name} has no {language} recipes"
        )
        raise UsageError(
            what,
            f"there are: {', '.join(names)}"
            if names
            else "strategy 'lower' writes one from a module's graph, 'translate' asks a model for a first one",
        )
    return _first_that_fits(context, spec, task, space, named, names, "recipe")


def _from_graph(context: ToolContext, spec: Spec, task: Task, language: str, space: Space, base: str) -> Generated:
    found = generated_candidates(task, home_of(language))
    made = [c for c in found.candidates if backend_of(c.text) == language]
    named = [c for c in made if not base or base == c.name or c.name.startswith(f"{base}_")]
    names = tuple(c.name for c in made)
    if named:
        return _first_that_fits(context, spec, task, space, named, names, "lower")
    if names:
        raise UsageError(
            f"'{base[:60]}' is no form of a {language} kernel of {task.name}", f"there are: {', '.join(names)}"
        )
    why = found.why_not or ("it is no captured module" if task.captured is None else f"there is no {language} for it")
    raise UsageError(
        f"no kernel of {task.name} can be written from a graph: {why}", "strategy 'translate' asks a model"
    )


def _first_that_fits(
    context: ToolContext, spec: Spec, task: Task, space: Space, named: list[Candidate], names: tuple[str, ...], origin: str
) -> Generated:  # fmt: skip
    """The first of these that has all the parameters of the space."""
    with context.workspace.lab:
        recipes, _ = read_recipes(named, context.choose())
    fitting = [r for r in recipes if set(space) <= set(r.space)]
    if not fitting:
        known = "; ".join(f"{r.name}: {', '.join(r.space) or 'none'}" for r in recipes)
        raise UsageError(f"no recipe has all of the parameters {', '.join(space)}", f"their names: {known}")
    return _generated(
        context, spec, task, fitting[0], space, origin, others=tuple(n for n in names if n != fitting[0].name)
    )


def _generated(
    context: ToolContext, spec: Spec, task: Task, recipe: Recipe, space: Space, origin: str, others: tuple[str, ...] = (),
    tokens: int = 0, folder: str = "", ledger_root: str = "",
) -> Generated:  # fmt: skip
    """The source with its choices written out at its end, so that it means the same wherever it goes."""
    merged = {**recipe.space, **{k: v for k, v in space.items() if k in recipe.space}}
    text = recipe.candidate.text
    if merged != recipe.space:
        text = f"{text.rstrip()}\n\nSPACE = {merged!r}  # the choices that were asked for\n"
    backend = backend_of(text)
    kernel = context.workspace.keep_kernel(text, recipe.name, spec, backend, merged, recipe.why, origin)
    return Generated(
        kernel=kernel.id, name=kernel.name, backend=backend, task=task.name, space=merged,
        params={k: v[0] for k, v in merged.items()}, why=recipe.why, others=others, tokens=tokens, folder=folder,
        ledger_root=ledger_root,
    )  # fmt: skip


class _Asked:
    """One question to a model, asked again where its reply cannot be read."""

    def __init__(
        self, context: ToolContext, spec: Spec, task: Task, locator: str, language: str, space: Space
    ) -> None:  # fmt: skip
        self._context = context
        self._spec = spec
        self._task = task
        self._locator = locator
        self._language: str = language
        self._space = space

    def ask(self, strategy: Strategy, base: str) -> Generated | NotGenerated:
        science = load_science({"model": self._context.model or None})
        if not science.model:
            raise UsageError(f"strategy '{strategy}' needs a model, and none is named",
                             "set KLAB_MODEL or give --model, as openai:NAME@URL; strategy 'recipe' needs none")  # fmt: skip
        brief = self._brief(base)
        model = open_model(science.model)
        folder = self._context.workspace.new_run(f"generate-{self._task.name}")
        with ExitStack() as stack:
            ledger = Ledger.create(folder, kinds.GENESIS.plain(self._genesis(science, strategy)), load_or_create_key())
            stack.callback(ledger.close)
            if isinstance(model, SdkClient):
                stack.enter_context(model)
            if is_task_file(self._locator):
                shutil.copyfile(self._locator, folder / kept_as(self._locator))
            account = Account(Budget(calls=3 * _ATTEMPTS, seconds=self._context.deadline.limit), load_prices())
            recorded = Recorded(model, Journal(Store(folder), ledger.write), account, random.Random(0))
            author = Author(recorded, model.name, PromptBook(), science.max_tokens, science.temperature,
                            science.prompt_tokens)  # fmt: skip
            answers, fault = self._replies(author, strategy, brief)
            ledger.write(kinds.END, End(results=[]))
            root = ledger.root
        return self._outcome(answers, fault, account.spent.tokens, folder, root)

    def _replies(self, author: Author, strategy: Strategy, brief: Brief) -> tuple[list[Answer], ModelFault | None]:
        kind: Kind = "translate" if strategy == "translate" else "write"
        answers: list[Answer] = []
        try:
            while len(answers) < _ATTEMPTS and not (answers and isinstance(answers[-1].value, CodeReply)):
                self._context.deadline.check()
                answers.append(
                    author.ask(kind, brief, len(answers), unread=answers, cancel=self._context.deadline.cancel)
                )
        except ModelFault as fault:
            if fault.stops:
                raise
            return answers, fault
        return answers, None

    def _outcome(
        self, answers: Sequence[Answer], fault: ModelFault | None, tokens: int, folder: Path, root: str
    ) -> Generated | NotGenerated:
        where = {"tokens": tokens, "folder": str(folder), "ledger_root": root}
        value = answers[-1].value if answers else None
        if fault is not None or not isinstance(value, CodeReply):
            why = fault.reason if fault is not None else value.what if isinstance(value, FormatFailure) else "no reply"
            status = "no-reply" if fault is not None else "format-failure"
            return NotGenerated.model_validate(
                {"status": status, "task": self._task.name, "reason": why, "attempts": len(answers), **where}
            )
        why = " ".join(value.think.split())[:400]
        recipe = Recipe(Candidate(value.source, f"{self._task.name}_{answers[-1].kind}"), value.space, why)
        return _generated(
            self._context, self._spec, self._task, recipe, self._space, "llm",
            tokens=tokens, folder=str(folder), ledger_root=root,
        )  # fmt: skip

    def _brief(self, base: str) -> Brief:
        brief = brief_of(self._task, self._language)
        if not base:
            return brief
        kernel: Kernel = self._context.workspace.kernel(base)
        text = self._context.workspace.candidate(kernel).text
        facts = KernelFacts(kernel.id, text, {k: v[0] for k, v in kernel.space.items()}, "untried", why=kernel.why)
        return Brief(brief.task, brief.device, brief.backend, base=facts)

    def _genesis(self, science: Science, strategy: str) -> Genesis:
        task, builtin = self._task, not is_task_file(self._locator)
        return Genesis(
            purpose="generate", params={"strategy": strategy, "backend": self._language},
            settings=RunSettings.model_validate(self._context.choose().model_dump()),
            science=science.model_dump(mode="json"),
            task=TaskFacts(name=task.name, fingerprint=task.fingerprint(), builtin=builtin),
            environment=Environment(), shapes=[], candidates=[], missing_baselines={},
        )  # fmt: skip
