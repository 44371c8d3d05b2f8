"""From a published run's insights to hypothesis files that read back and whose populations exist."""

from __future__ import annotations

from pathlib import Path

from kernellab.ledger.store import Store
from kernellab.search.memory.specimen import reader_of
from kernellab.search.replay import read_trials
from kernellab.study.design import wards_of
from kernellab.study.library import read
from kernellab.study.mine.follow_up import Site, hypothesis_of, write_follow_up
from kernellab.study.mine.miner import mine_run

RUN = Path(__file__).parents[4] / "runs" / "h200" / "particle-filter"


def test_an_insight_becomes_a_hypothesis_with_everything_it_needs(tmp_path: Path) -> None:
    site = Site(RUN, read_trials(RUN), reader_of(Store(RUN)))
    insights = mine_run(RUN).insights
    assert {i.factor.kind for i in insights} >= {"param", "built"}
    for number, insight in enumerate(insights, 1):
        hypothesis = hypothesis_of(insight, number, site)
        path = write_follow_up(hypothesis, site, tmp_path / str(number))
        assert read(path) == hypothesis
        ward = wards_of(hypothesis, "cuda", path.parent)[0]
        assert (ward.task.name, [c.name for c in ward.candidates]) == ("particle_filter", ["particle_resident_cuda"])
        assert 1 < hypothesis.part[0].rule.bound < insight.effect.low


def test_a_source_that_is_no_longer_the_built_in_one_is_written_beside_the_hypothesis(tmp_path: Path) -> None:
    site = Site(RUN, read_trials(RUN), lambda source: "# another version\n")
    hypothesis = hypothesis_of(mine_run(RUN).insights[0], 1, site)
    path = write_follow_up(hypothesis, site, tmp_path)
    assert hypothesis.population[0].candidates == ["particle_resident_cuda.py"]
    assert (path.parent / "particle_resident_cuda.py").read_text() == "# another version\n"
