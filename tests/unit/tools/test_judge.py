"""verify() and benchmark(): the laboratory's own verdict and clock, each on record, within quotas."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernellab import tools
from kernellab.core.errors import UsageError
from kernellab.ledger.journal import read_entries
from kernellab.report.audit import audit
from kernellab.tools import ToolContext
from kernellab.tools.discreet import entry_shown
from kernellab.tools.quota import Deadline
from kernellab.tools.records import Benchmarked, Compiled, NotTimed, OutOfTime, Refused, Timed, Verified

from .conftest import GOOD, SPEC

pytestmark = pytest.mark.backend_c


@pytest.mark.heavy
def test_a_right_kernel_passes_every_case_and_a_looser_tolerance_changes_nothing(
    context: ToolContext, artifact: Compiled
) -> None:
    found = tools.verify(artifact.artifact, "cube", tol=1e9, context=context)
    assert isinstance(found, Verified)
    assert found.max_ulp <= found.budget_ulp < 1e9
    assert found.tol is None
    assert "looser than the task's own budget" in found.note
    assert audit(Path(found.folder), found.ledger_root).problems == []


def test_a_tolerance_below_the_error_refuses_what_the_task_allows(context: ToolContext, artifact: Compiled) -> None:
    found = tools.verify(artifact.artifact, tol=0.0, context=context)
    assert isinstance(found, Refused)
    assert (found.cause, found.max_ulp is not None and found.max_ulp > 0) == ("tolerance", True)
    assert "the task itself allows it" in found.reason


def test_a_wrong_kernel_is_refused_with_its_first_wrong_case(context: ToolContext) -> None:
    made = tools.compile(GOOD.replace("= 2 *", "= 3 *"), spec=SPEC, context=context)
    assert isinstance(made, Compiled)
    found = tools.verify(made.artifact, context=context)
    assert isinstance(found, Refused)
    assert found.cause == "wrong-output"
    assert audit(Path(found.folder), found.ledger_root).problems == []


def test_what_launch_says_of_a_held_out_shape_is_not_repeated(context: ToolContext) -> None:
    spy = GOOD.replace(
        "    kernel(", "    if x.size == 5003:\n        raise ValueError(f'psst {x.size:x} {x.size}')\n    kernel("
    )
    made = tools.compile(spy, spec=SPEC, context=context)
    assert isinstance(made, Compiled)
    found = tools.verify(made.artifact, context=context)
    assert isinstance(found, Refused)
    assert "kept back" in found.reason
    ledger = "".join(json.dumps(entry_shown(dict(e.body))) for e in read_entries(Path(found.folder)))
    for text in (found.model_dump_json(), ledger, "".join(tools.explain(found.folder, found.artifact).words)):
        assert "psst" not in text


@pytest.mark.heavy
def test_measures_each_shape_and_records_each(context: ToolContext, artifact: Compiled) -> None:
    found = tools.benchmark(artifact.artifact, ["N=8192", "8192", "N=2048"], 41, vram_gb=3e-5, context=context)
    assert [row.shape for row in found.rows] == ["N=8192", "N=2048"]
    over, timed = found.rows
    assert isinstance(over, NotTimed)
    assert over.status == "over-quota"
    assert "6.55e-05 GB" in over.reason
    assert isinstance(timed, Timed)
    assert timed.speedup_low <= timed.speedup <= timed.speedup_high
    assert found.effort == "quick"
    assert found.status == "over-quota"
    assert audit(Path(timed.folder), timed.ledger_root).problems == []


@pytest.mark.heavy
def test_the_quota_of_seconds_ends_a_call_and_keeps_what_is_on_record(context: ToolContext, artifact: Compiled) -> None:
    found = tools.benchmark(artifact.artifact, ["N=8192", "N=2048"], timeout_s=0.001, context=context)
    assert [row.status for row in found.rows] == ["out-of-time", "out-of-time"]
    hurried = replace(context, deadline=Deadline(0.0))
    hurried.deadline.cancel.set()
    late = tools.verify(artifact.artifact, context=hurried)
    assert isinstance(late, OutOfTime)
    assert "took the call back" in late.reason


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a, d: tools.verify(a, tol=-1.0, context=d), "makes no sense"),
        (lambda a, d: tools.verify(a, "softmax", context=d), "compiled for cube, not for softmax"),
        (lambda a, d: tools.verify("a" + "0" * 16, context=d), "no artifact"),
        (lambda a, d: tools.verify("../../etc", context=d), "no artifact"),
        (lambda a, d: tools.benchmark(a, repeats=0, context=d), "0 repeats"),
        (lambda a, d: tools.benchmark(a, repeats=414, context=d), "414 repeats"),
        (lambda a, d: tools.benchmark(a, ["M=3"], context=d), "not a shape"),
        (lambda a, d: tools.benchmark(a, vram_gb=1e6, context=d), "above what this machine has"),
        (lambda a, d: tools.benchmark(a, timeout_s=-1, context=d), "makes no sense"),
    ],
)
def test_refuses_what_makes_no_sense(context: ToolContext, artifact: Compiled, call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=words):
        call(artifact.artifact, context)


def test_a_task_that_has_changed_since_is_noticed(
    context: ToolContext, artifact: Compiled, tmp_path: Path, task_file: Path
) -> None:
    text = task_file.read_text()
    try:
        task_file.write_text(text.replace('"N": 1025', '"N": 1026'))
        with pytest.raises(UsageError, match="has changed since"):
            tools.verify(artifact.artifact, context=context)
    finally:
        task_file.write_text(text)


def test_the_status_of_a_benchmark_is_its_gravest_row(artifact: Compiled) -> None:
    rows = tuple(NotTimed(status=s, shape="N=1", reason="") for s in ("nothing-verified", "out-of-time"))
    assert Benchmarked(artifact=artifact.artifact, effort="quick", rows=rows).status == "out-of-time"
