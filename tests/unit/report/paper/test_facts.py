"""Facts of a run that a paper tells: here the way to its best kernel."""

from __future__ import annotations

from kernellab.report.paper.facts import lineage
from kernellab.report.paper.figures import best_trial
from kernellab.report.paper.ledger_prefix import LedgerPrefix

from .conftest import MakeRun


def test_each_step_beats_all_before_it_and_the_last_is_the_published_one(evidence: LedgerPrefix) -> None:
    shape = evidence.shapes[0]
    chain = lineage(evidence, shape)
    best = best_trial(evidence, shape)
    assert chain[-1] == best
    assert list(chain) == sorted(chain)
    reached = 0.0
    for seq in (s for s in shape.trials if best is not None and s <= best):
        low = evidence.timings[seq].speedup_low if seq in evidence.timings else 0.0
        assert (seq in chain) == (low > reached or seq == best)
        reached = max(reached, low)
    assert len(chain) < sum(seq in evidence.timings for seq in shape.trials)


def test_a_shape_at_which_nothing_was_measured_has_no_way_to_a_best_kernel(make_run: MakeRun) -> None:
    folder = make_run(lambda e: e.kind != "confirmation" and e.kind != "result" and e.body.get("status") != "measured",
                      ended=False)  # fmt: skip
    prefix = LedgerPrefix(folder)
    assert prefix.trials
    assert [lineage(prefix, shape) for shape in prefix.shapes] == [()]
