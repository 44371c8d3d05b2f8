"""The scientist's notebook, generation by generation, and every question with its answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernellab.core.errors import KlabError
from kernellab.propose.models.journal import Answered, Calls, exchanges
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.search.scientist.notebook import Designed, Generation, Selected, Tested, Unread, notes_of
from kernellab.search.soft.look import Looked

_MOST = 40_000
_MOST_QUESTIONS = 400


@dataclass
class Chapter:
    """One generation. `begun` is None where its first note is missing."""

    number: int
    begun: Generation | None = None
    selected: list[Selected] = field(default_factory=list)
    designed: list[Designed] = field(default_factory=list)
    tested: list[Tested] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """`answer` and `asked` are cut where they are very long; `fault`: what came in place of an answer."""

    call: int
    model: str
    asked: list[tuple[str, str]]
    answer: str
    fault: str
    tokens: str
    seconds: float | None
    cost_usd: float | None


@dataclass(frozen=True)
class NotebookFacts:
    chapters: list[Chapter]
    looks: int
    questions: list[Question]
    left_out: int


def notebook_facts(run: LedgerPrefix) -> NotebookFacts:
    chapters: dict[int, Chapter] = {}
    looks = 0
    for note in notes_of(run):
        if isinstance(note, Looked):
            looks += 1
            continue
        chapter = chapters.setdefault(note.generation, Chapter(note.generation))
        match note:
            case Generation():
                chapter.begun = note
            case Selected():
                chapter.selected.append(note)
            case Designed():
                chapter.designed.append(note)
            case Tested():
                chapter.tested.append(note)
            case Unread():
                chapter.unread.append(note)
    calls = Calls(run.store, exchanges(run))
    names = list(calls.intents)
    questions = [_question(calls, name) for name in names[:_MOST_QUESTIONS]]
    return NotebookFacts(list(chapters.values()), looks, questions, max(0, len(names) - _MOST_QUESTIONS))


def _question(calls: Calls, name: tuple[int, str]) -> Question:
    outcome = calls.outcomes.get(name)
    asked: list[tuple[str, str]] = []
    answer, fault, tokens = "", "", ""
    seconds, cost = None, None
    try:
        request = calls.request_of(name)
        asked = [("system", _cut(request.system))] if request.system else []
        asked += [(m.role, _cut(m.content)) for m in request.messages]
        if isinstance(outcome, Answered):
            answer = _cut(calls.reply_of(outcome).text)
    except (KlabError, ValueError) as error:
        fault = error.what if isinstance(error, KlabError) else "the question's record is not well-formed"
    if isinstance(outcome, Answered):
        tokens = f"{outcome.usage.tokens_in or '?'} in, {outcome.usage.tokens_out or '?'} out"
        seconds, cost = outcome.seconds, outcome.cost_usd
    elif outcome is not None:
        fault = f"{outcome.fault.kind}: {outcome.fault.reason}"
    else:
        fault = "no outcome is on record: it was being asked, or the run was cut"
    return Question(name[0], calls.intents[name].model, asked, answer, fault, tokens, seconds, cost)


def _cut(text: str) -> str:
    return (
        text if len(text) <= _MOST else f"{text[:_MOST]}\n[{len(text) - _MOST} characters more are in the run's store]"
    )
