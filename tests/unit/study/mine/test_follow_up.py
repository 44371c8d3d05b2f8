"""From a published run's insights to hypothesis files that read back, whose populations exist and that can be decided."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.core.records import AnyTrial
from kernellab.ledger.store import Store
from kernellab.measurement.stats import Estimate
from kernellab.search.memory.specimen import reader_of, recall
from kernellab.search.replay import read_trials
from kernellab.studies.design import study_tasks_of
from kernellab.studies.library import read
from kernellab.studies.mine.factors import BUILT, WRITTEN, Factor
from kernellab.studies.mine.follow_up import Site, hypothesis_of, write_follow_up
from kernellab.studies.mine.miner import Insight, mine_run
from kernellab.studies.mine.pairing import matched
from kernellab.studies.mine.table import rows_of

RUNS = Path(__file__).parents[4] / "runs" / "h200"
RUN = RUNS / "particle-filter"


def site_of(run: Path) -> Site:
    return Site(run, read_trials(run), reader_of(Store(run)))


def insight_of(factor: Factor, faster: str, slower: str, trials: list[int], n: int = 6) -> Insight:
    return Insight(
        factor, faster, slower, Estimate(1.3, 1.2, 1.4, n), 0.95, 0.001, 0.01, tuple(trials), (), 0, None, ""
    )


def test_an_insight_becomes_a_hypothesis_with_everything_it_needs(tmp_path: Path) -> None:
    site = site_of(RUN)
    insights = mine_run(RUN).insights
    assert insights
    for number, insight in enumerate(insights, 1):
        hypothesis = hypothesis_of(insight, number, site)
        path = write_follow_up(hypothesis, site, tmp_path / str(number))
        assert read(path) == hypothesis
        study_task = study_tasks_of(hypothesis, "cuda", path.parent)[0]
        assert (study_task.task.name, [c.name for c in study_task.candidates]) == (
            "particle_filter",
            ["particle_resident_cuda"],
        )
        assert 1 < hypothesis.part[0].rule.bound < insight.effect.low


def test_every_task_has_a_population_of_its_own_candidates(tmp_path: Path) -> None:
    """A structure was seen in two tasks: neither is asked to run the other's kernels."""
    first, second = site_of(RUN), site_of(RUNS / "stencil3x3")
    moved = [t.model_copy(update={"trial": t.trial + 10_000}) for t in second.trials]
    trials: list[AnyTrial] = [*first.trials, *moved]
    site = Site(RUN, trials, lambda source: first.read(source) or second.read(source))
    insight = insight_of(Factor(WRITTEN, "blocking"), "yes", "no", [t.trial for t in trials])
    hypothesis = hypothesis_of(insight, 1, site)
    path = write_follow_up(hypothesis, site, tmp_path)
    study_tasks = study_tasks_of(read(path), "cuda", path.parent)
    assert [w.task.name for w in study_tasks] == ["particle_filter", "stencil3x3"]
    for study_task in study_tasks:
        tried = {t.proposal.name for t in trials if t.task == study_task.task.name}
        assert {c.name for c in study_task.candidates} == tried


def test_a_structure_of_the_artifact_is_tested_on_the_pairs_that_have_it() -> None:
    site = site_of(RUNS / "stencil5x5")
    rows = rows_of(recall(site.trials, site.read))
    levels = sorted({(r.name, k) for r in rows for k in r.built})
    found = [
        (Factor(BUILT, k, n), v)
        for n, k in levels
        if len(v := sorted({str(r.built[k]) for r in rows if r.name == n})) == 2
    ]
    factor, (one, other) = max(found, key=lambda f: len(matched(rows, f[0], *f[1][:2])))
    pairs = matched(rows, factor, one, other)
    assert len(pairs) >= 6
    hypothesis = hypothesis_of(
        insight_of(factor, one, other, [n for p in pairs for n in p.trials], len(pairs)), 1, site
    )
    planned = [
        dict(zip(p.space, values, strict=True)) for p in hypothesis.population for values in product(*p.space.values())
    ]
    assert all(p.most >= len(list(product(*p.space.values()))) for p in hypothesis.population)
    assert len(planned) <= 40
    again = [r for r in rows if r.params in planned]
    assert len(matched(again, factor, one, other)) >= hypothesis.sample


def test_what_could_not_be_decided_is_refused_in_words() -> None:
    trials = [t.trial for t in read_trials(RUN)]
    with pytest.raises(UsageError, match="4 pairs, and a verdict takes 6"):
        hypothesis_of(insight_of(Factor(WRITTEN, "vector width"), "0", "1", trials, 4), 1, site_of(RUN))
    pruned = Site(RUN, read_trials(RUN), lambda source: "")
    with pytest.raises(UsageError, match="is no longer in"):
        hypothesis_of(insight_of(Factor(WRITTEN, "vector width"), "0", "1", trials), 1, pruned)


def test_a_source_that_is_no_longer_the_built_in_one_is_written_beside_the_hypothesis(tmp_path: Path) -> None:
    site = Site(RUN, read_trials(RUN), lambda source: "# another version\n")
    hypothesis = hypothesis_of(mine_run(RUN).insights[0], 1, site)
    path = write_follow_up(hypothesis, site, tmp_path)
    assert hypothesis.population[0].candidates == ["particle_resident_cuda.py"]
    assert (path.parent / "particle_resident_cuda.py").read_text() == "# another version\n"
