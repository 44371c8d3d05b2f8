"""The scientist as a proposer: first what is known, then generation after generation of experiments.

The order of trials depends on replies and verdicts alone, never on which reply came first: the writers of a generation are
asked side by side, but their kernels are tried in the order of the experiments. While the hardware is busy with one, the
replies for the next ones come in.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal

from kernellab.core.events import Event
from kernellab.core.targets import backend_of
from kernellab.propose.author import Answer
from kernellab.propose.base import Idea, Proposer, TrialOutcome, up_to
from kernellab.propose.models import ModelFault
from kernellab.propose.prompts import Brief, Design, FormatFailure, Kind, Parsed, Selection
from kernellab.search.scientist.experiment import Experiment
from kernellab.search.scientist.notebook import Closed, Designed, Generation, Selected, Unread
from kernellab.search.scientist.pick import pick
from kernellab.search.scientist.prompt_context import PromptContext
from kernellab.search.soft.look import Look, Looked, SoftVerifier, order

CALLS = 1000
"""Numbers of calls for each generation: 0 the selector, 2 the designer (each may be asked twice), from 10 on
the writers, from 300 on the soft verifiers."""
_SELECT, _DESIGN, _WRITE, _SOFT = 0, 2, 10, 300
_ATTEMPTS = 12
_BARREN = 3
"""Generations without a trial until it is given up: a model that repeats itself would be paid for ever."""


class Scientist:
    """`seeds` proposes what is known (recipes, a warm start), `known` times; None: there is nothing to start from."""

    def __init__(self, context: PromptContext, seeds: Proposer | None, known: int) -> None:
        self._context = context
        self._session = context.session
        self._seeds = seeds
        self._known = known if seeds is not None else 0
        self._lines: list[Experiment] = []
        self._open: Generation | None = None
        self._parts: dict[str, Any] = {}
        self._waiting_seeds = 0
        self._heard_seeds = 0
        self._stopped = ""
        self._cancel = threading.Event()
        science = context.session.science
        self._pool = ThreadPoolExecutor(max(science.experiments, science.samples), "ask")
        self._work = self._everything()

    def ask(self, n: int) -> list[Idea]:
        """One at a time: it is built while the replies for the next ones come in."""
        return up_to(min(n, 1), lambda: next(self._work, None))

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        for outcome in outcomes:
            self._hear(outcome)

    def _hear(self, outcome: TrialOutcome) -> None:
        if outcome.idea.origin != "llm":
            self._heard_seeds += 1
            self._waiting_seeds = max(0, self._waiting_seeds - 1)
            if self._seeds is not None:
                self._seeds.tell([outcome])
            return
        source = self._context.run.archive.trials[outcome.trial].proposal.source
        for line in self._lines:
            if line.recipe is not None and line.source == source:
                line.hear(outcome)

    def finish(self) -> None:
        """The search is over: every experiment of an open generation gets the verdict it has earned so far."""
        if self._open is not None and self._lines:
            self._conclude(self._open, self._lines, "the budget ended before it was tried")
        self.close()

    def close(self) -> None:
        self._cancel.set()
        self._pool.shutdown(cancel_futures=True)

    @property
    def stopped(self) -> str:
        """Why no further question is asked, or ''."""
        return self._stopped

    def _everything(self) -> Iterator[Idea | None]:
        yield from self._start_from_what_is_known()
        context, notebook = self._context, self._session.notebook
        while not self._stopped and context.best(len(context.run.archive.trials)) is None:
            if notebook.translated(context.run.task.name, context.dims):
                return
            yield from self._translate()
        barren = 0
        while not self._stopped:
            before = len(context.run.archive.trials)
            yield from self._improve()
            barren = 0 if len(context.run.archive.trials) > before else barren + 1
            if barren == _BARREN and not self._stopped:
                self._stop(f"{barren} generations in a row brought nothing new to try")

    def _start_from_what_is_known(self) -> Iterator[Idea | None]:
        while self._seeds is not None and self._heard_seeds + self._waiting_seeds < self._known:
            ideas = self._seeds.ask(1)
            if not ideas:
                break
            self._waiting_seeds += 1
            yield ideas[0]
        while self._waiting_seeds:
            yield None

    def _translate(self) -> Iterator[Idea | None]:
        """Several first kernels side by side; what was wrong with them goes into the next round."""
        generation = self._begin("translate")
        lines = [Experiment(self._context, generation, k) for k in range(self._session.science.samples)]
        yield from self._carry_out(generation, lines)

    def _improve(self) -> Iterator[Idea | None]:
        generation = self._begin("improve")
        context, first = self._context, generation.first_trial
        chosen = context.exemplars(generation.generation, first)
        shown: dict[str, Any] = {
            "kernels": context.kernels(chosen), "contrasts": context.contrasts(chosen),
            "findings": context.findings(generation.generation),
        }  # fmt: skip
        self._session.notebook.write(generation.model_copy(update={"shown": tuple(e.specimen.number for e in chosen)}))
        backend = self._backend(generation)
        selected = self._select(generation, context.brief(backend, **shown))
        backend = self._backend_of(selected.base)
        parts = {"base": context.kernel(selected.base), **shown}
        if selected.reference is not None:
            parts["reference"] = context.kernel(selected.reference)
        self._parts = parts
        designed = self._design(generation, context.brief(backend, wanted=self._session.science.designs, **parts))
        experiments = [designed.experiments[i] for i in designed.chosen] if designed else [None]
        if self._stopped:
            self._conclude(generation, [], "")
            return
        lines = [Experiment(context, generation, k, e, selected.base) for k, e in enumerate(experiments)]
        yield from self._carry_out(generation, lines)

    def _begin(self, purpose: Literal["improve", "translate"]) -> Generation:
        run = self._context.run
        generation = self._session.notebook.begin(run.task.name, self._context.dims, purpose, len(run.archive.trials))
        if purpose == "translate":
            self._session.notebook.write(generation)
        self._open, self._lines = generation, []
        self._say(f"generation {generation.generation}: {purpose}")
        return generation

    def _carry_out(self, generation: Generation, lines: list[Experiment]) -> Iterator[Idea | None]:
        """Ask, try, repair, tune; then the verdicts. Lines that were concluded in an earlier life stay as they are."""
        done = {t.number for t in self._session.notebook.tested if t.generation == generation.generation}
        self._lines = [line for line in lines if line.number not in done]
        active, coming = self._lines, self._ask_all(generation, self._lines, 0)
        sources: set[str] = set()
        for attempt in range(1 + self._session.science.repairs):
            for line in self._arriving(generation, active, coming, sources, attempt):
                yield from line.first()
            while any(line.waiting for line in active):
                yield None
            failed = [line for line in active if line.failed] if attempt < self._session.science.repairs else []
            coming = self._ask_all(generation, failed, attempt + 1)
            for line in active:
                yield from line.tune()
            while any(line.waiting for line in active):
                yield None
            active = failed
        self._conclude(generation, self._lines, "")

    def _arriving(
        self, generation: Generation, active: Sequence[Experiment], coming: dict[int, Future[Answer]], sources: set[str],
        attempt: int,
    ) -> Iterator[Experiment]:  # fmt: skip
        """Lines with their new texts, in order: each as soon as its reply is there, or, where the model looks at the
        texts first, all of them, the most promising first."""
        for line in active:
            line.take(self._reply(generation, coming[line.number]), sources)
            if not self._session.science.soft:
                yield line
        if self._session.science.soft:
            yield from self._looked_at(generation, active, attempt)

    def _looked_at(self, generation: Generation, active: Sequence[Experiment], attempt: int) -> list[Experiment]:
        """Ordered by what the soft verifiers fear; what they are sure of is skipped, and its objection may be mended."""
        verifier = SoftVerifier(self._session.author, seed=self._context.run.settings.seed)
        asked = []
        for line in active:
            if line.untried:
                call = generation.generation * CALLS + _SOFT + verifier.calls * (_ATTEMPTS * line.number + attempt)
                asked.append((line, self._pool.submit(self._look, verifier, line, call)))
        looks: list[tuple[Experiment, Look]] = []
        for line, coming in asked:
            try:
                looks.append((line, coming.result()))
            except ModelFault as fault:
                self._fault(fault)
        for line, look in looks:
            self._session.notebook.look(Looked(source=line.source, params=line.first_params, look=look))
            if look.skip:
                line.skip(look)
                self._say(f"skipped unseen by hardware: {line.attempts[-1].failed}")
        ranked = [looks[i][0] for i in order([look for _, look in looks])]
        return [*ranked, *(line for line in active if line not in ranked)]

    def _look(self, verifier: SoftVerifier, line: Experiment, call: int) -> Look:
        """In a thread of its own."""
        context = self._context
        backend = backend_of(line.text)
        return verifier.look(line.text, line.first_params, context.task, context.device, backend, call, self._cancel)

    def _ask_all(self, generation: Generation, lines: Sequence[Experiment], attempt: int) -> dict[int, Future[Answer]]:
        return {line.number: self._pool.submit(self._write, generation, line, attempt) for line in lines}

    def _write(self, generation: Generation, line: Experiment, attempt: int) -> Answer:
        """In a thread of its own."""
        call = generation.generation * CALLS + _WRITE + _ATTEMPTS * line.number + attempt
        kind, brief = self._question(generation, line)
        return self._session.author.ask(kind, brief, call, unread=line.unread, cancel=self._cancel)

    def _question(self, generation: Generation, line: Experiment) -> tuple[Kind, Brief]:
        context = self._context
        if generation.purpose == "translate":
            base = {"base": line.candidate_facts()} if line.recipe is not None else {}
            if base:
                return "repair", context.brief(context.backend, failures=tuple(line.failures), **base)
            return "translate", context.brief(context.backend, pytorch=self._session.pytorch)
        assert line.base is not None
        backend = self._backend_of(line.base)
        if line.recipe is not None:
            parts = {k: v for k, v in self._parts.items() if k in ("findings",)}
            return "repair", context.brief(backend, base=line.candidate_facts(), failures=tuple(line.failures), **parts)
        return "write", context.brief(backend, experiment=context.experiment(line.experiment), **self._parts)

    def _reply(self, generation: Generation, coming: Future[Answer]) -> Answer | None:
        """None: no reply came of it. A fault that a person must mend ends the run, whose state is safe."""
        try:
            answer = coming.result()
        except ModelFault as fault:
            self._fault(fault)
            return None
        if isinstance(answer.value, FormatFailure):
            self._unread(generation, answer)
        return answer

    def _fault(self, fault: ModelFault) -> None:
        if fault.kind in ("budget", "not-recorded"):
            self._stop(fault.reason)
        elif fault.stops:
            raise fault
        else:
            self._say(f"no reply: {fault.reason}")

    def _stop(self, why: str) -> None:
        self._stopped = why
        self._say(f"no further questions: {why}")

    def _unread(self, generation: Generation, answer: Answer) -> None:
        assert isinstance(answer.value, FormatFailure)
        self._session.notebook.write(Unread(generation=generation.generation, call=answer.call, failure=answer.value))
        self._say(f"a reply could not be read ({answer.kind}): {answer.value.what}")

    def _ask_twice(
        self, generation: Generation, kind: Kind, brief: Brief, slot: int, known: Sequence[str] = ()
    ) -> Parsed | None:
        """A reply that can be read, at the second attempt if need be; None: the system decides."""
        unread: list[Answer] = []
        for attempt in range(2):
            call = generation.generation * CALLS + slot + attempt
            try:
                answer = self._session.author.ask(kind, brief, call, known, unread, self._cancel)
            except ModelFault as fault:
                self._fault(fault)
                return None
            if isinstance(answer.value, Parsed):
                return answer.value
            self._unread(generation, answer)
            unread.append(answer)
        return None

    def _select(self, generation: Generation, brief: Brief) -> Selected:
        context, first = self._context, generation.first_trial
        shown = [k.id for k in brief.kernels]
        measured = [k.id for k in brief.kernels if k.status == "measured"]
        reply = self._ask_twice(generation, "select", brief, _SELECT, shown) if len(measured) > 1 else None
        if reply is not None and isinstance(reply.value, Selection):
            choice = reply.value
            reference = None if choice.reference is None else _trial(choice.reference)
            note = Selected(generation=generation.generation, base=_trial(choice.base), reference=reference,
                            why=choice.why, by="model")  # fmt: skip
        else:
            best = context.best(first)
            assert best is not None
            why = "the fastest so far, and the best of another kind" if len(measured) > 1 else "the only one that works"
            other = context.divergent(best.trial, first)
            note = Selected(generation=generation.generation, base=best.trial, reference=other, why=why, by="system")
        self._session.notebook.write(note)
        self._say(
            f"base trial {note.base}" + (f", beside trial {note.reference}" if note.reference is not None else "")
        )
        return note

    def _design(self, generation: Generation, brief: Brief) -> Designed | None:
        if self._stopped:
            return None
        reply = self._ask_twice(generation, "design", brief, _DESIGN)
        if reply is None or not isinstance(reply.value, Design):
            return None
        earlier = [f"{t.experiment.hypothesis} {t.experiment.change}" for t in self._session.notebook.tested
                   if t.experiment is not None and t.generation < generation.generation]  # fmt: skip
        experiments = list(reply.value.experiments)
        chosen, reasons = pick(experiments, self._session.science.experiments, earlier)
        note = Designed(generation=generation.generation, experiments=experiments, chosen=chosen, reasons=reasons)
        self._session.notebook.write(note)
        for place in chosen:
            self._say(f"experiment: {experiments[place].hypothesis}")
        return note

    def _conclude(self, generation: Generation, lines: Sequence[Experiment], cut: str) -> None:
        for line in lines:
            if self._session.notebook.verdict_on(generation.generation, line.number) is None:
                tested = line.conclude(cut)
                self._session.notebook.write(tested)
                what = tested.experiment.hypothesis if tested.experiment else line.why
                self._say(f"{tested.verdict}: {what} ({tested.reason})")
        self._session.notebook.write(Closed(generation=generation.generation))
        self._open, self._lines = None, []

    def _backend(self, generation: Generation) -> str:
        best = self._context.best(generation.first_trial)
        return self._context.backend if best is None else self._backend_of(best.trial)

    def _backend_of(self, trial: int) -> str:
        """A kernel is changed in its own language, unless the user wants another."""
        source = self._context.read(self._context.run.archive.trials[trial].proposal.source)
        return self._session.science.backend or backend_of(source)

    def _say(self, text: str) -> None:
        self._context.run.emit(Event("science", text))


def _trial(name: str) -> int:
    return int(name.removeprefix("trial "))
