"""A line of work: one experiment from the first text over its repairs to the tuned kernel and its verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kernellab.build.base import Candidate
from kernellab.core.ids import digest, sha256_hex
from kernellab.core.records import AnyTrial, DuplicateTrial, FailedTrial, MeasuredTrial, Param, RejectedTrial
from kernellab.measurement.stats import Estimate
from kernellab.propose.author import Answer
from kernellab.propose.base import Idea, Proposer, TrialOutcome
from kernellab.propose.prompts import CodeReply, Failure, FormatFailure, KernelFacts, shown, summarise
from kernellab.propose.prompts.replies import ExperimentReply
from kernellab.propose.recipe import Recipe
from kernellab.search.memory.contrast import ratio
from kernellab.search.memory.specimen import recall
from kernellab.search.scientist.notebook import Attempt, Effect, Generation, Tested
from kernellab.search.scientist.prompt_context import PromptContext
from kernellab.search.scientist.verdict import judge
from kernellab.search.soft.look import Look, Said
from kernellab.search.tune import Sampler, make_tuner

MOST_NAME = 40


@dataclass
class Experiment:
    context: PromptContext
    generation: Generation
    number: int
    experiment: ExperimentReply | None = None
    base: int | None = None
    attempts: list[Attempt] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unread: list[Answer] = field(default_factory=list)
    trials: list[AnyTrial] = field(default_factory=list)
    recipe: Recipe | None = None
    waiting: int = 0
    over: bool = False
    """No further attempt makes sense: no reply came, or it was a text tried before."""

    def __post_init__(self) -> None:
        self._tuner: Proposer | None = None
        self.source = ""
        """The hash of the text that is being tried; stays while a reply to its repair cannot be read."""

    @property
    def text(self) -> str:
        return self.recipe.candidate.text if self.recipe else ""

    @property
    def works(self) -> bool:
        return any(self._measured(t) for t in self.trials)

    @property
    def failed(self) -> bool:
        """Its last text came to nothing, and another attempt may help."""
        return not self.over and not self.works and not self.waiting

    def take(self, answer: Answer | None, sources: set[str]) -> None:
        """A reply has come, or none did. `sources`: the texts that this generation tried already."""
        if answer is None:
            self.over = True
            return
        if isinstance(answer.value, FormatFailure):
            self.unread.append(answer)
            self.attempts.append(Attempt(call=answer.call, failed=f"format: {answer.value.fault}"))
            self.failures.append(summarise(answer.value, "", self.context.secret))
            return
        assert isinstance(answer.value, CodeReply)
        source = sha256_hex(answer.value.source.encode())
        self.unread.clear()
        twin = self.context.seen_before(self.generation.first_trial, source)
        if twin is not None or source in sources:
            where = "trial " + str(twin) if twin is not None else "another experiment of this generation"
            self.attempts.append(Attempt(call=answer.call, source=source, failed=f"the same text as {where}"))
            self.over = True
            return
        sources.add(source)
        self.attempts.append(Attempt(call=answer.call, source=source))
        self.source = source
        self._open(answer.value)

    def _open(self, reply: CodeReply) -> None:
        name = f"{self.context.run.task.name}_g{self.generation.generation}e{self.number}"[:MOST_NAME]
        self.recipe = Recipe(Candidate(reply.source, name), {k: v for k, v in reply.space.items() if v}, self.why)
        seed = int(digest([self.context.run.settings.seed, self.generation.generation, self.number])[:8], 16)
        self._tuner = make_tuner([self.recipe], self._sampler(), seed)
        for trial in self.context.since(self.generation.first_trial, self.source):
            idea = Idea(self.recipe.candidate, dict(trial.proposal.params), self.why, "llm")
            self.hear(self.context.run.outcome(trial, idea), asked=False)

    def _sampler(self) -> Sampler:
        """Every combination of a space that a model made up would be too many."""
        wanted: Sampler = self.context.run.settings.sampler
        return "random" if wanted == "exhaustive" else wanted

    @property
    def why(self) -> str:
        if self.experiment is None:
            return "a first translation of the reference" if self.base is None else "one idea that others do not have"
        return f"{self.experiment.hypothesis} (expected {self.experiment.gain_low:g} to {self.experiment.gain_high:g})"

    @property
    def untried(self) -> bool:
        """A text that hardware has not seen, nor a soft verifier kept from it."""
        return self.recipe is not None and not self.trials_of_text() and not self.attempts[-1].failed

    @property
    def first_params(self) -> dict[str, Param]:
        return self.recipe.first if self.recipe else {}

    def first(self) -> Iterator[Idea]:
        """The text at its own first choices, unless that is on record."""
        if self.untried:
            yield from self._ideas(1)

    def skip(self, look: Look) -> None:
        """A soft verifier is sure that it fails: no trial, and its objection is what a repair starts from."""
        said = max((a for a in look.answers if isinstance(a, Said)), key=lambda a: a.p_fail)
        problem = shown(said.opinion.problem or "no reason given", self.context.secret)
        self.failures.append(Failure("verify", f"a reviewer's objection ({said.kind})", problem[:2000]))
        last = self.attempts[-1]
        self.attempts[-1] = Attempt(call=last.call, source=last.source, failed=f"skipped, {said.kind}: {problem[:200]}")

    def tune(self) -> Iterator[Idea]:
        """The rest of its trials: a good idea is not judged at bad numbers."""
        if self.recipe is not None and self.works:
            yield from self._ideas(self.context.session.science.tune - len(self.trials_of_text()) - self.waiting)

    def _ideas(self, most: int) -> Iterator[Idea]:
        assert self._tuner is not None
        for _ in range(most):
            ideas = self._tuner.ask(1)
            if not ideas:
                return
            self.waiting += 1
            yield Idea(ideas[0].candidate, ideas[0].params, self.why, "llm")

    def trials_of_text(self) -> list[AnyTrial]:
        return [t for t in self.trials if t.proposal.source == self.source]

    def hear(self, outcome: TrialOutcome, asked: bool = True) -> None:
        self.waiting -= int(asked)
        self.trials.append(self.context.run.archive.trials[outcome.trial])
        if self._tuner is not None:
            self._tuner.tell([outcome])
        settled = self.context.run.archive.settled(self.trials[-1])
        if len(self.trials_of_text()) == 1 and isinstance(settled, (FailedTrial, RejectedTrial)):
            failure = summarise(settled, self.text, self.context.secret)
            self.failures.append(failure)
            last = self.attempts[-1]
            self.attempts[-1] = Attempt(call=last.call, source=last.source, failed=f"{failure.stage}: {failure.cause}")

    def candidate_facts(self) -> KernelFacts:
        """What a repair starts from."""
        if not self.trials_of_text():
            return KernelFacts("candidate", self.text, self.first_params, "untried")
        trial = self.context.run.archive.settled(self.trials_of_text()[0])
        assert not isinstance(trial, DuplicateTrial)
        return KernelFacts.of(trial, self.text, self.context.task, self.context.secret)

    def conclude(self, cut: str = "") -> Tested:
        """The verdict, from the numbers alone. `cut`: why it ended before its time."""
        timed = [t for t in self.trials if self._measured(t)]
        best = max(timed, key=self._low, default=None)
        effect = self._effect(best)
        verdict, reason = judge(effect, self.experiment)
        if best is None:
            reason = cut or self._why_nothing()
        elif self.base is None:
            verdict, reason = "held", "a first kernel that is right"
        return Tested(
            generation=self.generation.generation,
            number=self.number,
            purpose=self.generation.purpose,
            experiment=self.experiment,
            base=self.base,
            attempts=self.attempts,
            trials=[t.trial for t in self.trials],
            best=None if best is None else best.trial,
            effect=None if effect is None else Effect(value=effect.value, low=effect.low, high=effect.high),
            verdict=verdict,
            reason=reason,
            device=self.context.run.device_name,
            task=self.context.run.task.name,
            dims=self.context.dims,
        )

    def _why_nothing(self) -> str:
        if not self.attempts:
            return "no reply came"
        tries = len(self.attempts)
        return f"never ran: {self.attempts[-1].failed or 'not tried'}" + (
            f" after {tries} attempts" if tries > 1 else ""
        )

    def _effect(self, best: AnyTrial | None) -> Estimate | None:
        if best is None or self.base is None:
            return None
        pair = {s.number: s for s in recall(self.context.run.archive.trials) if s.number in (best.trial, self.base)}
        return ratio(pair[best.trial], pair[self.base])

    def _low(self, trial: AnyTrial) -> float:
        measured = self._measured(trial)
        return measured.timing.speedup_low if measured else 0.0

    def _measured(self, trial: AnyTrial) -> MeasuredTrial | None:
        settled = self.context.run.archive.settled(trial)
        return settled if isinstance(settled, MeasuredTrial) else None
