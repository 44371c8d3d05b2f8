"""The cycle as a whole, over real HTTP, a real compiler and the real judge; only the model is scripted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.model_server import ModelServer
from tests.support.scripted_scientist import BROKEN, WRONG, Scripted, answer, code

from kernellab import api
from kernellab.report.audit import audit

from .runs import HELD_OUT, bodies, questions, run, without_candidate

pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def eventful(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scripted]:
    """Texts that do not compile, are wrong, cannot be read or repeat themselves; each is met by a repair or an end."""
    folder = tmp_path_factory.mktemp("eventful")
    twice = code("the same text twice")
    replies = {
        0: code("one", BROKEN),
        1: "Here is my kernel: it is very fast.",
        2: code("two", WRONG),
        4: twice,
        5: twice,
    }
    script = Scripted({"write": lambda n, _: replies.get(n)})
    with ModelServer(script) as server:
        outcome = run(folder, server.url, trials=14, experiments=3)
    assert outcome.status != "nothing-verified"
    assert outcome.extras["model"]["calls"] == server.calls
    return folder, script


def test_what_does_not_build_or_is_wrong_is_repaired_with_its_error(eventful: tuple[Path, Scripted]) -> None:
    folder, script = eventful
    repairs = [prompt for kind, prompt in script.prompts if kind == "repair"]
    assert any("undeclared" in r and "does not compile" in r for r in repairs)
    assert any("wrong-output" in r for r in repairs)
    first = [e for e in bodies(folder, "experiment") if e["generation"] == 0]
    failed = [e["attempts"][0]["failed"] for e in first]
    assert sum(f.startswith("build: does not compile") for f in failed) == 1
    assert sum(f.startswith("verify: wrong-output") for f in failed) == 1
    assert all(len(e["attempts"]) == 2 and e["attempts"][1]["failed"] == "" for e in first)


def test_a_reply_that_cannot_be_read_is_a_record_and_is_asked_for_again(eventful: tuple[Path, Scripted]) -> None:
    folder, script = eventful
    (unread,) = bodies(folder, "unread")
    assert unread["failure"]["fault"] == "no-answer"
    assert "very fast" in unread["failure"]["excerpt"]
    again = [prompt for kind, prompt in script.prompts if kind == "write" and "could not be read" in prompt]
    assert len(again) == 1
    assert "there is no <answer>" in again[0]


def test_a_text_that_was_tried_is_not_tried_again(eventful: tuple[Path, Scripted]) -> None:
    folder, _ = eventful
    repeated = [a["failed"] for e in bodies(folder, "experiment") for a in e["attempts"] if "same text" in a["failed"]]
    assert repeated == ["the same text as another experiment of this generation"]
    sources = [(t["proposal"]["source"], str(t["proposal"]["params"])) for t in bodies(folder, "trial")]
    assert len(set(sources)) == len(sources)


def test_every_experiment_has_a_verdict_that_the_audit_derives_again(eventful: tuple[Path, Scripted]) -> None:
    folder, _ = eventful
    tested = bodies(folder, "experiment")
    assert {e["verdict"] for e in tested} <= {"held", "refuted", "undecided"}
    for entry in tested:
        assert entry["experiment"]["hypothesis"]
        assert (entry["effect"] is None) == (entry["best"] is None)
    assert {g["generation"] for g in bodies(folder, "generation")} == {
        g["generation"] for g in bodies(folder, "generation-end")
    }
    assert audit(folder / "run").problems == []


def test_findings_feed_later_questions(eventful: tuple[Path, Scripted]) -> None:
    folder, script = eventful
    claim = bodies(folder, "experiment")[0]["experiment"]["hypothesis"]
    designs = [prompt for kind, prompt in script.prompts if kind == "design"]
    assert len(designs) > 1
    assert claim not in designs[0]
    assert claim in designs[1]


def test_no_question_tells_of_the_shapes_kept_back(eventful: tuple[Path, Scripted]) -> None:
    folder, _ = eventful
    asked = questions(folder)
    assert len(asked) > 8
    assert not any(HELD_OUT in text for text in asked)


def test_trials_of_a_written_kernel_name_its_hypothesis(eventful: tuple[Path, Scripted]) -> None:
    folder, _ = eventful
    written = [t["proposal"] for t in bodies(folder, "trial") if t["proposal"]["origin"] == "llm"]
    assert written
    assert all("expected 1.05 to" in p["why"] for p in written)


@pytest.mark.heavy
def test_a_task_without_a_kernel_is_translated_and_what_was_wrong_is_fed_back(own_home: None, tmp_path: Path) -> None:
    script = Scripted({"translate": lambda n, _: code(f"first {n}", WRONG)})
    with ModelServer(script) as server:
        outcome = run(tmp_path, server.url, without_candidate(), trials=6)
    assert outcome.status != "nothing-verified"
    assert script.asked["translate"] == 2
    repair = next(prompt for kind, prompt in script.prompts if kind == "repair")
    assert "wrong-output" in repair
    first = [e for e in bodies(tmp_path, "experiment") if e["purpose"] == "translate"]
    assert {e["verdict"] for e in first} == {"held"}
    assert bodies(tmp_path, "generation")[0]["purpose"] == "translate"


@pytest.mark.heavy
def test_a_task_that_cannot_be_translated_ends_in_order(own_home: None, tmp_path: Path) -> None:
    script = Scripted({
        "translate": lambda n, _: code(f"wrong {n}", WRONG), "repair": lambda n, _: code(f"still wrong {n}", WRONG)
    })  # fmt: skip
    with ModelServer(script) as server:
        outcome = run(tmp_path, server.url, without_candidate(), trials=20)
    assert outcome.status == "nothing-verified"
    assert (script.asked["translate"], script.asked["repair"]) == (2, 4)
    assert audit(tmp_path / "run").problems == []


@pytest.mark.slow
def test_with_timings_alone_no_question_holds_an_error_or_a_resource(own_home: None, tmp_path: Path) -> None:
    script = Scripted({"write": lambda n, _: code("broken", BROKEN) if n == 0 else None})
    with ModelServer(script) as server:
        run(tmp_path, server.url, trials=8, feedback="timing")
    repair = next(prompt for kind, prompt in script.prompts if kind == "repair")
    assert "failed" in repair
    for _, prompt in script.prompts:
        assert "does not compile" not in prompt
        assert "% of the floor" not in prompt
        assert "wrong-output" not in prompt


@pytest.mark.heavy
def test_a_budget_ends_the_questions_and_not_the_run(own_home: None, tmp_path: Path) -> None:
    script = Scripted()
    with ModelServer(script) as server:
        outcome = run(tmp_path, server.url, trials=40, budget_calls=5)
    assert outcome.status != "nothing-verified"
    assert server.calls == 5
    assert len(bodies(tmp_path, "trial")) < 40
    assert {e["verdict"] for e in bodies(tmp_path, "experiment")} <= {"held", "refuted", "undecided"}


@pytest.mark.slow
def test_trials_of_all_shapes_together_are_limited(own_home: None, tmp_path: Path) -> None:
    with ModelServer(Scripted()) as server:
        run(tmp_path, server.url, trials=40, budget_trials=7)
    assert len(bodies(tmp_path, "trial")) == 7


@pytest.mark.slow
def test_a_recorded_run_is_replayed_without_a_network(own_home: None, tmp_path: Path) -> None:
    """Four trials end in the midst of the first generation, whose two questions depend on nothing that was measured."""
    script = Scripted({"translate": lambda n, _: code(f"first {n}")})
    with ModelServer(script) as server:
        run(tmp_path / "then", server.url, without_candidate(), trials=4, tune=3)
    assert server.calls == 2
    model = f"replay:{tmp_path / 'then' / 'run'}"
    run(tmp_path / "now", "", without_candidate(), trials=4, tune=3, model=model)
    assert replies(tmp_path / "now") == replies(tmp_path / "then")
    tried = [
        [(t["proposal"]["source"], t["proposal"]["params"]) for t in bodies(tmp_path / name, "trial")]
        for name in ("then", "now")
    ]
    assert tried[0] == tried[1]


@pytest.mark.slow
def test_a_replay_that_measures_otherwise_still_hears_recorded_replies_only(own_home: None, tmp_path: Path) -> None:
    """Which questions come in later generations depends on figures; a question that was never asked ends them."""
    with ModelServer(Scripted()) as server:
        run(tmp_path / "then", server.url, trials=10)
    outcome = run(tmp_path / "now", "", trials=10, model=f"replay:{tmp_path / 'then' / 'run'}")
    assert outcome.status != "nothing-verified"
    heard = replies(tmp_path / "now")
    assert heard
    assert heard.items() <= replies(tmp_path / "then").items()
    assert audit(tmp_path / "now" / "run").problems == []


def replies(folder: Path) -> dict[int, str]:
    return {b["call"]: b["reply"] for b in bodies(folder, "model-call") if b.get("reply")}


@pytest.mark.heavy
def test_soft_verifiers_skip_and_order_but_accept_nothing(own_home: None, tmp_path: Path) -> None:
    """What they call wrong is not tried but mended; what they call right and is wrong is rejected all the same."""
    feared, trusted = code("feared"), code("trusted", WRONG)
    sure = {"verdict": "fail", "confidence": 0.97, "problem": "line 4 reads past the end", "line": 4}
    script = Scripted({
        "write": lambda n, _: (feared, trusted)[n] if n < 2 else None,
        "soft_memory": lambda n, prompt: answer(sure) if "/* feared */" in prompt else None,
    })  # fmt: skip
    with ModelServer(script) as server:
        run(tmp_path, server.url, trials=6, soft=True)
    looks = bodies(tmp_path, "soft")
    assert sum(b["look"]["skip"] for b in looks) == 1
    first = [e for e in bodies(tmp_path, "experiment") if e["generation"] == 0]
    failed = sorted(e["attempts"][0]["failed"] for e in first)
    assert failed[0].startswith("skipped, soft_memory: line 4 reads past the end")
    assert failed[1].startswith("verify: wrong-output")
    tried = {t["proposal"]["source"] for t in bodies(tmp_path, "trial")}
    skipped = next(b["source"] for b in looks if b["look"]["skip"])
    assert skipped not in tried
    assert any("line 4 reads past the end" in prompt for kind, prompt in script.prompts if kind == "repair")
    assert audit(tmp_path / "run").problems == []


@pytest.mark.slow
def test_kernels_that_were_written_elsewhere_start_another_run(own_home: None, tmp_path: Path) -> None:
    fast = code("carried over", steps="1")
    with ModelServer(Scripted({"translate": lambda n, _: fast})) as server:
        run(tmp_path / "then", server.url, without_candidate(), trials=1, samples=1)
    (tmp_path / "now").mkdir()
    (tmp_path / "now" / "cube.py").write_text(without_candidate())
    api.optimize(
        str(tmp_path / "now" / "cube.py"), out=tmp_path / "now" / "run", warm_start=tmp_path / "then" / "run",
        effort="quick", trials=2, sample_s=0.0001,
    )  # fmt: skip
    (then,) = bodies(tmp_path / "then", "trial")
    now = bodies(tmp_path / "now", "trial")
    assert now[0]["proposal"]["source"] == then["proposal"]["source"]
    assert now[0]["proposal"]["origin"] == "warm-start"
    assert bodies(tmp_path / "now", "run")[0]["candidates"][0]["source"] == then["proposal"]["source"]
