from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.core.ids import sha256_hex
from kernellab.core.records import TRIAL, Record, dump
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.store import Store
from kernellab.search.archive import AnyTrial
from kernellab.search.memory.islands import Islands
from kernellab.search.memory.specimen import reader_of, recall

from .specimens import CUDA, ROWS, ROWS_CHILD, failed, measured, read

FAMILIES = st.lists(st.tuples(st.integers(0, 9), st.floats(0.2, 9)), max_size=60)


def history(steps: list[tuple[int, float]]) -> list[AnyTrial]:
    """Trials of up to ten sources without a known text; every seventh fails."""
    return [failed(i, text=f"s{s}") if i % 7 == 6 else measured(i, v, text=f"s{s}") for i, (s, v) in enumerate(steps)]


def state(islands: Islands) -> list[tuple[list[int], list[int]]]:
    return [
        ([s.number for s in islands.residents(i)], [s.number for s in islands.guests(i)]) for i in range(islands.count)
    ]


@given(FAMILIES, st.integers(1, 5), st.integers(1, 9))
def test_migration_conserves_trials(steps: list[tuple[int, float]], count: int, every: int) -> None:
    islands = Islands.rebuild(recall(history(steps)), count, every)
    homes = [s.number for i in range(count) for s in islands.residents(i)]
    assert sorted(homes) == list(range(len(steps)))
    for i in range(count):
        guests = [s.number for s in islands.guests(i)]
        assert len(set(guests)) == len(guests)
        assert not set(guests) & {s.number for s in islands.residents(i)}


@given(FAMILIES, st.integers(1, 5), st.integers(1, 9))
def test_adding_one_by_one_and_rebuilding_give_the_same(steps: list[tuple[int, float]], count: int, every: int) -> None:
    known = recall(history(steps))
    grown = Islands(count, every)
    for specimen in known:
        grown.add(specimen)
    assert state(grown) == state(Islands.rebuild(known, count, every))


@given(FAMILIES)
def test_variants_of_one_source_stay_together(steps: list[tuple[int, float]]) -> None:
    islands = Islands(4, 5)
    homes: dict[str, int] = {}
    for specimen in recall(history(steps)):
        home = islands.add(specimen)
        assert homes.setdefault(specimen.trial.proposal.source, home) == home == islands.home(specimen)


def test_a_child_joins_its_parent_and_a_stranger_founds_elsewhere() -> None:
    known = recall([measured(0, 1.0, text=ROWS), measured(1, 1.0, text=CUDA), measured(2, 1.0, text=ROWS_CHILD)], read)
    islands = Islands(3)
    assert [islands.add(s) for s in known] == [0, 1, 0]


def test_the_best_of_an_island_visits_the_next_one_and_keeps_its_home() -> None:
    known = recall(
        [measured(0, 1.0, text="a"), measured(1, 3.0, text="b"), measured(2, 2.0, text="a"), measured(3, 1.0, text="b")]
    )
    islands = Islands.rebuild(known, 2, every=4)
    assert state(islands) == [([0, 2], [1]), ([1, 3], [2])]
    assert [best.number for i in (0, 1) if (best := islands.best(i))] == [2, 1]


def test_an_island_of_failures_has_no_best_and_sends_nobody() -> None:
    islands = Islands.rebuild(recall([failed(0, text="a"), measured(1, 1.0, text="b")]), 2, every=1)
    assert islands.best(0) is None
    assert islands.guests(1) == ()


def test_a_single_island_has_no_guests() -> None:
    assert Islands.rebuild(recall([measured(0, 1.0)]), 1, every=1).guests(0) == ()


@pytest.mark.parametrize(("count", "every"), [(0, 1), (1, 0)])
def test_senseless_numbers_are_refused(count: int, every: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        Islands(count, every)


def test_a_real_ledger_and_its_store_give_the_same_islands_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    trials = [
        measured(0, 1.0, text=ROWS),
        measured(1, 2.0, text=CUDA),
        failed(2, text=ROWS_CHILD),
        measured(3, 1.5, text=CUDA),
    ]
    folder = tmp_path / "run"
    ledger = Ledger.create(folder, {"purpose": "test"}, load_or_create_key())
    for text in (ROWS, CUDA, ROWS_CHILD):
        assert Store(folder).put(text.encode()) == sha256_hex(text.encode())
    for trial in trials:
        assert isinstance(trial, Record)
        ledger.append("trial", dump(trial))
    ledger.close()
    again = [TRIAL.validate_python(e.body) for e in read_entries(folder) if e.kind == "trial"]
    rebuilt = Islands.rebuild(recall(again, reader_of(Store(folder))), 3, 2)
    assert state(rebuilt) == state(Islands.rebuild(recall(trials, read), 3, 2))
    assert reader_of(Store(folder))("0" * 64) == ""
