from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from kernellab.tasks.crew import _LEADS, _NICE, Crew


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew()
    yield made
    made.close()


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_more_leads_than_there_are_may_all_wait_for_hands(crew: Crew) -> None:
    """One pool would fill up with leads that wait for hands that never get a thread."""

    def lead(number: int) -> int:
        return sum(crew.hands.map(lambda k: k * number, range(20)))

    found = list(crew.leads.map(lead, range(8 * _LEADS)))
    assert found == [190 * n for n in range(8 * _LEADS)]


def test_leads_and_hands_are_different_threads_and_several_leads_run_at_once(crew: Crew) -> None:
    together = threading.Barrier(_LEADS)

    def lead() -> tuple[str, str]:
        together.wait(600)
        return threading.current_thread().name, crew.hands.submit(lambda: threading.current_thread().name).result()

    names = [f.result() for f in [crew.leads.submit(lead) for _ in range(_LEADS)]]
    assert {a.split("_")[0] for a, _ in names} == {"lead"}
    assert {b.split("_")[0] for _, b in names} == {"hand"}
    assert len({a for a, _ in names}) == _LEADS


def test_they_give_way_and_nobody_else_does(crew: Crew) -> None:
    before = niceness()
    wanted = max(before, _NICE)
    assert crew.leads.submit(niceness).result() == wanted
    assert crew.hands.submit(niceness).result() == wanted
    assert niceness() == before


def test_closing_cancels_what_has_not_begun_and_waits_for_what_has() -> None:
    crew, go, begun = Crew(), threading.Event(), threading.Semaphore(0)

    def waits() -> bool:
        begun.release()
        return go.wait(600)

    first = [crew.leads.submit(waits) for _ in range(_LEADS)]
    for _ in first:
        assert begun.acquire(timeout=600)
    later = crew.leads.submit(go.wait, 600)
    threading.Timer(0.1, go.set).start()
    crew.close()
    assert all(f.result() for f in first)
    assert later.cancelled()
    with pytest.raises(RuntimeError):
        crew.leads.submit(niceness)
