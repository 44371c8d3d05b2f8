"""Looks over real HTTP: three questions, what they add up to, and that nothing but a stopping fault gets out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernellab.core.ids import canonical_json
from kernellab.core.records import dump
from kernellab.propose.author import Author
from kernellab.propose.models import ModelFault
from kernellab.search.soft import SOFT_KINDS, Look, Looked, SoftVerifier, order
from kernellab.search.soft.look import Said, Silent, Unreadable
from support.model_server import Cut, Error, ModelServer, Say
from support.oracle import opinion

from .conftest import DEVICE, TASK, Serve

SOURCE = 'SOURCE = "void k() {}"\ndef launch(x, y):\n    kernel("k")()\n'
Ask = Callable[[ModelServer], Author]


def look(author: Author, source: str = SOURCE, first: int = 0, **options: Any) -> Look:
    return SoftVerifier(author, **options).look(source, {"B": 4}, TASK, DEVICE, "c", first)


def said(*replies: str) -> list[Say]:
    return [Say(reply) for reply in replies]


def test_three_kinds_ask_one_question_each_under_numbers_in_a_row(serve: Serve, author: Ask) -> None:
    server = serve(said(opinion("pass", 0.9), opinion("fail", 0.7, "line 3"), opinion("pass", 0.6)))
    found = look(author(server), first=40)
    assert server.calls == 3
    assert [a.kind for a in found.answers] == list(SOFT_KINDS)
    assert [a.call for a in found.answers] == [40, 41, 42]
    assert [a.p_fail for a in found.answers] == pytest.approx([0.1, 0.7, 0.4])
    assert found.p_fail == 0.7
    assert not found.skip
    asked = [str(s.body["messages"][-1]["content"]) for s in server.seen]
    assert ["will it build?" in a for a in asked] == [True, False, False]
    assert all("L2    def launch(x, y):" in a and "B=4" in a for a in asked)


def test_what_is_above_the_threshold_is_skipped_and_never_more_than_that(serve: Serve, author: Ask) -> None:
    sure = author(serve(said(opinion("fail", 0.95))))
    assert look(sure, skip_above=0.9, audit_share=0.0).skip
    assert not look(sure, skip_above=0.95, audit_share=0.0).skip
    assert not look(sure, skip_above=1.0, audit_share=0.0).skip


def test_format_failures_and_faults_that_do_not_stop_are_no_opinions(serve: Serve, author: Ask) -> None:
    found = look(author(serve([Say("no marker"), Cut(), Say(opinion("pass", 0.8))])), skip_above=0.0)
    unreadable, silent, good = found.answers
    assert isinstance(unreadable, Unreadable)
    assert unreadable.failure.fault == "no-answer"
    assert isinstance(silent, Silent)
    assert silent.cause == "cut-stream"
    assert isinstance(good, Said)
    assert found.p_fail == pytest.approx(0.2)


def test_without_any_opinion_nothing_is_skipped_at_any_threshold(serve: Serve, author: Ask) -> None:
    found = look(author(serve([Error(500, html=True)])), skip_above=0.0, audit_share=0.0)
    assert found.p_fail is None
    assert not found.skip


def test_a_candidate_too_long_for_a_prompt_costs_nothing_and_has_no_opinion(serve: Serve, author: Ask) -> None:
    server = serve(said(opinion("fail", 1.0)))
    found = look(author(server), source=SOURCE + "#" * 100_000)
    assert [a.status for a in found.answers] == ["silent"] * 3
    assert server.calls == 0


@pytest.mark.parametrize("step", [Error(401, "who are you?"), Error(429, "slow down")])
def test_a_fault_that_stops_a_run_is_raised(serve: Serve, author: Ask, step: Error) -> None:
    with pytest.raises(ModelFault) as caught:
        look(author(serve([step])))
    assert caught.value.stops


def test_a_seeded_share_of_skips_is_tried_whatever_the_order(serve: Serve, author: Ask) -> None:
    asks = author(serve(said(opinion("fail", 0.99))))
    sources = [f"{SOURCE}A = {i}\n" for i in range(16)]

    def audited(seed: int, share: float = 0.5) -> list[bool]:
        return [look(asks, s, kinds=("soft_compile",), audit_share=share, seed=seed).audited for s in sources]

    first = audited(1)
    assert 3 <= sum(first) <= 13
    assert audited(1) == first
    assert audited(2) != first
    assert not any(audited(1, 0.0))
    assert all(audited(1, 1.0))


def test_looks_are_fit_for_the_ledger_and_come_back_as_they_were(serve: Serve, author: Ask) -> None:
    found = look(author(serve([Say(opinion("fail", 0.99)), Say("?"), Cut()])), audit_share=0.0)
    looked = Looked(source="ab" * 32, params={"B": 4}, look=found)
    assert canonical_json(dump(looked))
    assert Looked.model_validate(dump(looked)) == looked
    assert found.skip


def made(p_fail: float | None) -> Look:
    return Look(answers=(), p_fail=p_fail, skip_above=1.0, audit_share=0.1, audited=False, skip=False)


def test_the_most_promising_come_first_and_equals_keep_their_order() -> None:
    looks = [made(p) for p in (0.9, None, 0.1, 0.5, 0.1)]
    assert order(looks) == [2, 4, 1, 3, 0]
    assert order([]) == []


def test_a_look_that_contradicts_itself_cannot_be_made() -> None:
    for wrong in ({"skip": True}, {"audited": True}):
        with pytest.raises(ValueError):
            Look(
                **{
                    "answers": (),
                    "p_fail": 0.2,
                    "skip_above": 0.8,
                    "audit_share": 0.1,
                    "audited": False,
                    "skip": False,
                    **wrong,
                }
            )


def test_verifiers_with_no_kind_or_a_threshold_out_of_range_are_refused(serve: Serve, author: Ask) -> None:
    asks = author(serve(said(opinion("pass"))))
    for wrong in ({"kinds": ()}, {"kinds": ("soft_memory", "soft_memory")}, {"skip_above": 1.5}, {"audit_share": -0.1}):
        with pytest.raises(ValueError):
            SoftVerifier(asks, **wrong)  # type: ignore[arg-type]
