"""The scientist joins a search: one session with the model for the whole run, one proposer a shape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernellab.propose.base import Proposer
from kernellab.search.proposers.base import ProposerKind, ProposerSession, SearchContext, ShapeContext
from kernellab.search.proposers.tuner import tuner_of
from kernellab.search.scientist.model_session import open_session
from kernellab.search.scientist.prompt_context import PromptContext
from kernellab.search.scientist.proposer import Scientist


class ScientistSession(ProposerSession):
    def __init__(self, search: SearchContext) -> None:
        question = search.question
        self._session = open_session(search.run, question.science, question.pytorch, question.policy)

    @contextmanager
    def proposer(self, shape: ShapeContext) -> Iterator[Proposer]:
        """Half of the trials at most go to what is known already."""
        search = shape.search
        context = PromptContext(search.run, self._session, shape.dims, search.shapes)
        self._session.author.book.check(context.task, context.device, context.backend)
        known = min(len(search.recipes) + len(shape.warm), max(1, search.run.settings.max_trials // 2))
        scientist = Scientist(context, tuner_of(shape) if search.recipes else None, known)
        try:
            yield scientist
            scientist.finish()
        finally:
            scientist.close()

    def extras(self) -> dict[str, Any]:
        return {"model": {"name": self._session.author.name, **self._session.spent()}}

    def close(self) -> None:
        self._session.close()


PROPOSER = ProposerKind(
    "scientist", "kernels written by a model", ScientistSession, needs="model", in_order=True
)  # fmt: skip
