"""Which replies of specialists are taught: real ones, judged; the best of each prompt, no task more often than another."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from tests.support.recorded import CUBES
from tests.support.resign import Bodies, resigned
from tests.support.rewards import REPLIES, JudgedRun, exam_of, judged_run, retold, trained_on, untrained

from kernellab.core.errors import LedgerFault
from kernellab.learn.lm.corpus import Lesson
from kernellab.learn.lm.rewarded import AuditedLedger, Harvest, Reply, balanced, choose, rewarded
from kernellab.learn.lm.specialists import Specialist, read_specialists
from kernellab.learn.lm.trained import parent_of
from kernellab.ledger.reward_records import REWARD
from kernellab.ledger.run import Run
from kernellab.report.learning.ledgers import audited

LEDGER = AuditedLedger(Path(), "run", "root", 1)


@pytest.fixture(scope="module")
def run(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> JudgedRun:
    return judged_run(tmp_path_factory)


@pytest.fixture
def specialist(run: JudgedRun, tmp_path: Path) -> Specialist:
    """Trained on every reply once, and on its first a second time."""
    source, ids = run.folder, run.ids
    ledger = retold(source, tmp_path / "rewards", {**{f"new-{name}": old for name, old in ids.items()},
                                                   "again": ids["honest"]})  # fmt: skip
    return read_specialists([trained_on(tmp_path / "one", untrained(tmp_path / "base"), ledger)])[0]


def _harvest(*specialists: Specialist) -> Harvest:
    return rewarded(specialists, {path: audited(path) for one in specialists for path in one.ledgers})


@pytest.mark.backend_c
def test_rewarded_replies_are_taken_and_the_rest_is_counted_by_its_reason(specialist: Specialist) -> None:
    found = _harvest(specialist)
    texts = Counter(reply.lesson.reply for reply in found.kept)
    paid = {name: REPLIES[name][2] for name in ("honest", "also", "renamed", "squared")}
    assert texts == Counter({text: 2 if name == "honest" else 1 for name, text in paid.items()})
    (left,) = found.left_out.values()
    assert left == {"not right, or not readable": 2, "refused by a look": 1, "names a held-out shape": 1}
    assert {reply.lesson.shape for reply in found.kept} == {"N=65536", "N=32768"}
    assert all("y" in reply.lesson.prompt[1]["content"] for reply in found.kept)


@pytest.mark.backend_c
def test_of_equal_machine_code_the_first_is_taught(specialist: Specialist) -> None:
    chosen = choose(_harvest(specialist), 4, lambda _: True, "too long")
    texts = {reply.lesson.reply for reply in chosen.kept}
    assert texts == {REPLIES[name][2] for name in ("honest", "also", "squared")}
    (left,) = chosen.left_out.values()
    assert left["the same machine code or text as a better one"] == 2


@pytest.mark.backend_c
def test_what_a_look_refused_after_it_was_paid_is_not_taught(specialist: Specialist, tmp_path: Path) -> None:
    def refuse(entries: Bodies) -> None:
        trial = next(body["trials"][-1] for kind, body in entries if kind == "reward" and body["sample"] == "new-also")
        look = next(body for kind, body in entries if kind == "reward-check" and body["trial"] == trial)
        verdict = {"status": "rejected", "cause": "wrong-output", "reason": "off", "case": ""}
        entries.append(("reward-check", {**look, "level": "further", "artifact": None, "verdict": verdict}))

    ledger = retold(resigned(specialist.ledgers[0], tmp_path / "changed", refuse), tmp_path / "later",
                    {r.sample: r.sample for r in Run(specialist.ledgers[0]).records(REWARD)})  # fmt: skip
    for file in specialist.ledgers[0].glob("task*.py"):
        (ledger / file.name).write_bytes(file.read_bytes())
    paid = next(r for r in Run(ledger).records(REWARD) if r.sample == "new-also")
    assert paid.reward
    later = read_specialists([trained_on(tmp_path / "two", untrained(tmp_path / "other"), ledger)])[0]
    found = rewarded([later], {ledger: AuditedLedger(ledger, Run(ledger).first.run, "root", 0)})
    assert REPLIES["also"][2] not in {reply.lesson.reply for reply in found.kept}
    assert found.left_out["root"]["refused by a look"] == 2


@pytest.mark.backend_c
def test_replies_of_an_exam_count_for_the_model_that_was_examined(
    run: JudgedRun, specialist: Specialist, tmp_path: Path
) -> None:
    source, ids = run.folder, run.ids
    mine = retold(source, tmp_path / "mine", {"exam-a": ids["honest"]}, exam_of(parent_of(specialist.folder)))
    both = read_specialists([specialist.folder], [mine])[0]
    assert sum(reply.ledger.folder == mine for reply in _harvest(both).kept) == 1
    theirs = retold(source, tmp_path / "theirs", {"exam-a": ids["honest"], "new": ids["also"]}, exam_of("somebody"))
    third = read_specialists([trained_on(tmp_path / "third", untrained(tmp_path / "b"), theirs)])[0]
    found = _harvest(third)
    assert [reply.lesson.reply for reply in found.kept] == [REPLIES["also"][2]]
    assert list(found.left_out.values()) == [{"of another model's exam": 1}]


@pytest.mark.backend_c
def test_a_prompt_of_the_test_part_is_never_taught(specialist: Specialist, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernellab.learn.dataset._PARTS", 1)  # everything is for the test
    found = _harvest(specialist)
    assert found.kept == []
    assert sum(left["of the test part"] for left in found.left_out.values()) == 8


def test_a_ledger_that_fails_its_audit_or_holds_no_rewards_is_refused(tmp_path: Path) -> None:
    def faster(entries: Bodies) -> None:
        next(body for kind, body in entries if kind == "result")["speedup"] = 9.0

    with pytest.raises(LedgerFault, match="does not pass the audit: ") as caught:
        audited(resigned(CUBES, tmp_path / "run", faster))
    assert "klab audit" in caught.value.fix
    with pytest.raises(LedgerFault, match="no rewards"):
        audited(CUBES)


def _reply(text: str, reward: float, owner: int = 0, task: str = "a", code: str = "") -> Reply:
    return Reply(Lesson([{"role": "user", "content": task}], text, task, "N=1"), reward, code or text, owner, LEDGER)


def test_the_best_of_a_prompt_are_chosen_whoever_wrote_them() -> None:
    given = [_reply("slow", 1.0), _reply("fast", 3.0, 1), _reply("middle", 2.0), _reply("equal", 2.0, 1), _reply("long", 9.0),
             _reply("copy", 3.0, 0, code="fast"), _reply("b", 0.1, task="b")]  # fmt: skip
    found = choose(Harvest(given, defaultdict(Counter)), 2, lambda lesson: lesson.reply != "long", "too long")
    assert [reply.lesson.reply for reply in found.kept] == ["fast", "middle", "b"]
    assert found.left_out["root"] == {
        "too long": 1, "the same machine code or text as a better one": 1, "not among the best of its prompt": 2
    }  # fmt: skip


def test_no_task_and_no_specialist_is_taught_more_often_than_another() -> None:
    given = [*(_reply(f"a{n}", 1.0) for n in range(3)), _reply("b", 1.0, task="b"), _reply("c", 1.0, 1, "c"),
             _reply("d", 1.0, 1, "d")]  # fmt: skip
    rows = balanced(given)
    assert Counter(reply.lesson.task for reply in rows) == {"a": 3, "b": 3, "c": 3, "d": 3}
    assert Counter(reply.owner for reply in rows) == {0: 6, 1: 6}
    assert {reply.lesson.reply for reply in rows} == {reply.lesson.reply for reply in given}
    assert balanced([]) == []
