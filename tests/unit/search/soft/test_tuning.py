"""Tuning over real HTTP, in real run folders: what is better on both halves is kept, and nothing else is."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import UsageError
from kernellab.ledger.journal import Ledger, check, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.propose.models import Budget, Model, Policy, ReplayModel
from kernellab.propose.models.journal import CALL, INTENT
from kernellab.propose.prompts import PromptBook
from kernellab.search.soft.evaluate import Evaluation
from kernellab.search.soft.labelled import Labelled, LabelledSet, split
from kernellab.search.soft.tuning import TuneOrder
from kernellab.search.soft.tuning_run import Access, Finished, figures_of, read_tuning, resume_tuning, start_tuning
from support.model_server import Cut, Error, ModelServer
from support.oracle import Errors, Oracle, rewrite

from .conftest import PRICES, Connect, Serve

KIND = "soft_numerics"
POOR, SHARP = Errors(miss=0.5, alarm=0.4), Errors(miss=0.1, alarm=0.1)
HALF = 8
ANSWER = '<answer>\n{"verdict": "pass", "confidence": 0.7, "problem": "", "line": null}\n</answer>\n'


@pytest.fixture(autouse=True)
def _home(own_home: None) -> None:
    """Keys and prices of the tests' own."""


def order(**changes: Any) -> TuneOrder:
    return TuneOrder(
        **{"kind": KIND, "model": "openai:m", "name": "m", "rounds": 1, "most": HALF, "jobs": 3, **changes}
    )


def access(model: Model, **changes: Any) -> Access:
    return Access(**{"model": model, "name": "m", "prices": PRICES, "policy": Policy(attempts=1), **changes})


def by_phrase(prompt: str, trial: Labelled) -> Errors:
    return SHARP if "follow every sum" in prompt else POOR


GOOD, NO_BETTER = rewrite("Please follow every sum."), rewrite("Please look hard.")
LOOP = rewrite("{% for i in range(9) %}follow every sum{% endfor %}")


def tune(folder: Path, labelled: LabelledSet, server: ModelServer, connect: Connect, **changes: Any) -> Finished:
    return start_tuning(folder, labelled, order(**changes), access(connect(server)))


def entries(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [dict(e.body) for e in read_entries(folder) if e.kind == kind]


def test_a_template_that_is_better_on_both_halves_is_kept(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    server = serve(Oracle(labelled, by_phrase, [GOOD]))
    finished = tune(tmp_path / "run", labelled, server, connect)
    tuned = finished.tuned
    assert tuned.status == "better"
    for half in ("train", "test"):
        assert tuned.last[half].balanced > tuned.first[half].balanced
    assert server.calls == finished.spent.calls == 4 * HALF + 1
    assert "follow every sum" in PromptBook(finished.templates).source(KIND)
    figures = figures_of(finished.folder)
    assert figures["after"]["test"]["balanced_accuracy"] == float(tuned.last["test"].balanced)
    assert figures["rounds"][0]["kept"]
    assert not check(finished.folder).problems
    assert len(entries(finished.folder, INTENT.name)) == len(entries(finished.folder, CALL.name)) == server.calls
    assert [e["name"] for e in entries(finished.folder, "tune-evaluation")] == [
        "0 train",
        "0 test",
        "1 train",
        "1 test",
    ]


def test_the_prompt_for_a_rewrite_shows_mistakes_of_the_training_half_alone(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    server = serve(Oracle(labelled, POOR, [NO_BETTER]))
    tune(tmp_path / "run", labelled, server, connect)
    halves = split(labelled, KIND, 0, HALF)
    prompt = next(str(s.body["messages"][-1]["content"]) for s in server.seen if "to be improved" in str(s.body))
    lines = {half: {line.strip() for t in s.trials for line in s.text(t).splitlines()} for half, s in halves.halves()}
    telling = [line for line in lines["test"] - lines["train"] if len(line) > 40]
    assert telling
    assert not [line for line in telling if line in prompt]
    assert prompt.count("The truth: ") >= 2


def test_what_is_no_better_on_the_training_half_is_not_asked_of_the_test_half(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    server = serve(Oracle(labelled, by_phrase, [NO_BETTER]))
    finished = tune(tmp_path / "run", labelled, server, connect)
    assert finished.tuned.status == "nothing-better"
    assert finished.tuned.rounds[0].why == "no-better-on-train"  # as good is not better
    assert server.calls == 3 * HALF + 1
    assert PromptBook(finished.templates).source(KIND) == PromptBook().source(KIND)


@pytest.mark.heavy
def test_what_is_better_on_the_training_half_alone_is_not_kept(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    shown = {t.source for t in split(labelled, KIND, 0, HALF).train.trials}

    def learnt_by_heart(prompt: str, trial: Labelled) -> Errors:
        return (Errors() if trial.source in shown else Errors(0.8, 0.8)) if "by heart" in prompt else POOR

    server = serve(Oracle(labelled, learnt_by_heart, [rewrite("I know them by heart.")]))
    finished = tune(tmp_path / "run", labelled, server, connect)
    assert finished.tuned.rounds[0].why == "no-better-on-test"
    assert finished.tuned.last == finished.tuned.first
    assert "by heart" not in PromptBook(finished.templates).source(KIND)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_tuning_never_lowers_the_test_half_whatever_the_templates(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect, seed: int
) -> None:
    def at_random(prompt: str, trial: Labelled) -> Errors:
        phrase = next((line for line in prompt.splitlines() if line.startswith("phrase")), "")
        digest = hashlib.sha256(f"{seed} {phrase}".encode()).digest()
        return Errors(digest[0] / 256, digest[1] / 256, digest[2] / 1024)

    server = serve(Oracle(labelled, at_random, [rewrite(f"phrase {i}") for i in range(9)], seed))
    tuned = tune(tmp_path / "run", labelled, server, connect, rounds=3, most=6, seed=seed).tuned
    best = tuned.first["test"].balanced
    for done in tuned.rounds:
        assert not done.kept or (done.test is not None and done.test > float(best))
        best = max(best, tuned.last["test"].balanced) if done.kept else best
    assert tuned.last["test"].balanced >= tuned.first["test"].balanced
    assert tuned.last["train"].balanced >= tuned.first["train"].balanced


def test_an_unusable_template_is_recorded_and_asked_for_once_more(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    server = serve(Oracle(labelled, by_phrase, [LOOP, GOOD]))
    finished = tune(tmp_path / "run", labelled, server, connect)
    assert finished.tuned.status == "better"
    (failure,) = entries(finished.folder, "tune-format")
    assert failure["fault"] == "bad-template"
    assert "For is not allowed" in failure["what"]
    second = [s.body["messages"] for s in server.seen if "to be improved" in str(s.body)][1]
    assert "For is not allowed" in second[-1]["content"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("reply", ["no marker", "<answer>no block</answer>", LOOP])
def test_two_unusable_templates_end_a_round_and_not_the_run(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect, reply: str
) -> None:
    server = serve(Oracle(labelled, by_phrase, [reply, reply, GOOD]))
    finished = tune(tmp_path / "run", labelled, server, connect, rounds=2)
    assert [r.why for r in finished.tuned.rounds] == ["format", "better"]
    assert len(entries(finished.folder, "tune-format")) == 2


def test_a_template_that_was_tried_is_not_paid_for_again(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    server = serve(Oracle(labelled, by_phrase, [NO_BETTER, NO_BETTER]))
    finished = tune(tmp_path / "run", labelled, server, connect, rounds=2)
    assert [r.why for r in finished.tuned.rounds] == ["no-better-on-train", "tried-before"]
    assert server.calls == 3 * HALF + 2


def test_a_fault_costs_a_round_and_opinions_that_do_not_come_flag_nothing(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    oracle = Oracle(labelled, Errors(garbled=0.6), [Cut()], seed=3)
    finished = tune(tmp_path / "run", labelled, serve(oracle), connect)
    assert [r.why for r in finished.tuned.rounds] == ["no-reply"]
    first = finished.tuned.first["train"]
    assert sum(a.status == "unreadable" for a in first.answers) > 0
    assert first.spared == first.passing
    assert first.caught < first.failing


def test_without_mistakes_there_is_nothing_to_learn(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    server = serve(Oracle(labelled, Errors(), [GOOD]))
    finished = tune(tmp_path / "run", labelled, server, connect, rounds=5)
    assert finished.tuned.rounds == []
    assert float(finished.tuned.last["test"].balanced) == 1.0
    assert server.calls == 2 * HALF


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("calls", [0, HALF + 2, 3 * HALF])
def test_a_spent_budget_stops_safely_and_a_resumed_tuning_pays_nothing_twice(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect, calls: int
) -> None:
    server = serve(Oracle(labelled, by_phrase, [GOOD]))
    model = connect(server)
    stopped = start_tuning(tmp_path / "run", labelled, order(), access(model, budget=Budget(calls=calls)))
    assert stopped.tuned.status == "stopped"
    assert f"budget of {calls} calls" in stopped.tuned.stopped
    assert server.calls == calls
    assert PromptBook(stopped.templates).source(KIND) == PromptBook().source(KIND)
    finished = resume_tuning(tmp_path / "run", access(model))
    assert finished.tuned.status == "better"
    assert server.calls == finished.spent.calls == 4 * HALF + 1
    assert not check(finished.folder).problems


@pytest.mark.heavy
def test_a_finished_tuning_resumed_or_replayed_asks_nobody_and_says_the_same(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    server = serve(Oracle(labelled, by_phrase, [LOOP, GOOD, NO_BETTER]))
    first = tune(tmp_path / "run", labelled, server, connect, rounds=2)
    calls, size = server.calls, len(list(read_entries(first.folder)))
    again = resume_tuning(first.folder, access(connect(server)))
    replayed = start_tuning(tmp_path / "again", labelled, order(rounds=2), access(ReplayModel(first.folder)))
    assert server.calls == calls
    assert len(list(read_entries(first.folder))) == size
    for other in (again, replayed):
        assert other.tuned.data() == first.tuned.data()


def test_a_wrong_key_stops_with_its_remedy(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    finished = tune(tmp_path / "run", labelled, serve([Error(401, "who are you?")]), connect)
    assert finished.tuned.status == "stopped"
    assert "KLAB_MODEL_KEY" in finished.tuned.fix
    assert figures_of(finished.folder)["status"] == "stopped"


@pytest.mark.heavy
def test_a_users_own_templates_are_the_start_and_come_along(
    tmp_path: Path, labelled: LabelledSet, serve: Serve, connect: Connect
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "_soft_answer.j2").write_text(f"MINE\n{ANSWER}")
    server = serve(Oracle(labelled, by_phrase, [GOOD]))
    finished = start_tuning(tmp_path / "run", labelled, order(), access(connect(server)), own)
    assert all("MINE" in str(s.body) for s in server.seen if "to be judged" in str(s.body))
    assert {p.name for p in finished.templates.glob("*.j2")} == {"_soft_answer.j2", "soft_numerics.j2"}
    assert "follow every sum" in resume_tuning(finished.folder, access(connect(server))).tuned.template


def test_other_folders_are_not_taken_for_a_tuning(tmp_path: Path, labelled: LabelledSet) -> None:
    with Ledger.create(tmp_path / "run", {"purpose": "search"}, load_or_create_key()):
        pass
    with pytest.raises(UsageError, match="does not hold a tuning"):
        read_tuning(tmp_path / "run")
    with pytest.raises(UsageError):
        figures_of(tmp_path / "run")


def test_equal_counts_are_a_tie_exactly() -> None:
    one = Evaluation(kind=KIND, answers=(), failing=3, caught=1, passing=6, spared=4)
    other = Evaluation(kind=KIND, answers=(), failing=3, caught=2, passing=6, spared=2)
    assert one.balanced == other.balanced
