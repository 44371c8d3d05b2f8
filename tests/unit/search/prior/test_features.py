"""Every candidate has features, whatever its graph, sizes and parameters; none is built for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.planted import every, site_of
from tests.unit.lower.graphs import SUBJECTS

from kernellab.lower.candidates import written
from kernellab.lower.tensors import Written
from kernellab.propose.recipe import space_in
from kernellab.search.prior.features import NAMES, Site, features
from kernellab.search.prior.rates import rates_of
from kernellab.tasks.load import load_task

SUITE = Path(__file__).parents[4] / "runs" / "lab-cpu" / "runs"
DEVICES = {"c": "a processor (x86_64, 2 cores)", "triton": "NVIDIA H200 (sm_90a, 132 SMs)"}


def column(table: np.ndarray, name: str) -> np.ndarray:
    return table[:, NAMES.index(name)]


@pytest.mark.sample(12, of="features of the own suite")
@pytest.mark.parametrize("task", sorted(p.name for p in SUITE.iterdir()))
def test_every_candidate_of_the_own_suite_has_features(task: str) -> None:
    found = load_task(str(SUITE / task / "task.json"))
    assert found.captured is not None
    for language, device in DEVICES.items():
        texts = written(found.captured.graph, language, found.tune[0], found.precision)
        site = Site(found.tune[0], rates_of(device), texts, [space_in(w.text) for w in texts])
        for number, space in enumerate(site.spaces):
            table = features(site, number, every(space, step=97))
            assert table.shape[1] == len(NAMES)
            assert not np.isinf(table).any()
            assert np.isfinite(column(table, "guess")).all()
            assert np.isfinite(column(table, "main_programs")).all()


@pytest.mark.heavy
@pytest.mark.sample(4, of="graphs")
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_row_does_not_depend_on_the_rows_beside_it(name: str) -> None:
    """A search asks for a few combinations or for thousands: each has one row."""
    site = site_of(name)
    for number, space in enumerate(site.spaces):
        picks = every(space, step=7, stop=200)
        whole = features(site, number, picks)
        single = np.concatenate([features(site, number, [p]) for p in picks])
        assert np.array_equal(whole, single, equal_nan=True)


def test_parameters_that_nobody_knows_are_counted_and_break_nothing() -> None:
    known = site_of("rows")
    spaces = [{**s, "UNROLL": [1, 2, 4], "ORDER": ["up", "down"]} for s in known.spaces]
    site = Site(known.dims, known.rates, known.written, spaces)
    first = {name: choices[0] for name, choices in known.spaces[0].items()}
    table = features(site, 0, [{**first, "UNROLL": 4, "ORDER": "down"}, {**first, "UNROLL": 1, "ORDER": "up"}])
    assert column(table, "other_number").tolist() == [2.0, 0.0]
    assert column(table, "other_word").tolist() == [1.0, 0.0]
    assert column(table, "at_first").tolist() == pytest.approx([len(first) / (len(first) + 2), 1.0])


def test_a_candidate_without_facts_has_a_row_all_the_same() -> None:
    site = Site({}, rates_of(DEVICES["c"]), [Written("own", "text")], [{"U": [1, 2]}])
    assert np.isnan(column(features(site, 0, [{"U": 2}]), "guess")).all()


def test_blocks_are_seen_against_extents_and_processors() -> None:
    site = site_of("rows", times=1)
    table = features(site, 1, [{"BLOCK": 256, "WARPS": 1}, {"BLOCK": 4096, "WARPS": 16}])
    assert (2 ** column(table, "main_waste")).tolist() == pytest.approx([2.56, 40.96])
    assert (2 ** column(table, "main_programs")).tolist() == pytest.approx([7, 7])
    assert (2 ** column(table, "main_per_thread")).tolist() == pytest.approx([8, 8])
