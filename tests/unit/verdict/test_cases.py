from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from kernellab.run.cpu import CpuDevice
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.expected import Expected
from kernellab.tasks.inputs import STANDARD, plain_distributions
from kernellab.tasks.spec import Task, dims_label
from kernellab.verdict.answers import HostAnswers
from kernellab.verdict.cases import Case, CaseTable, all_shapes, full_cases, screen_cases
from kernellab.verdict.numeric import within


@pytest.mark.parametrize("name", TASKS)
def test_screening_covers_every_edge_three_times_and_every_distribution_twice(name: str) -> None:
    task = TASKS[name]
    cases = screen_cases(task)
    for dims in task.edge:
        assert len({c.distribution for c in cases if c.dims == dims}) >= 3
    for distribution in task.distributions:
        assert sum(c.distribution == distribution for c in cases) >= 2
    assert len({(dims_label(c.dims), c.distribution, c.plain) for c in cases}) == len(cases)


@pytest.mark.parametrize("count", [3, 4])
def test_with_few_distributions_every_edge_still_meets_three(count: int, double_task: Task) -> None:
    task = replace(double_task, distributions=dict(list(STANDARD.items())[:count]))
    for dims in task.edge:
        assert len({c.distribution for c in screen_cases(task) if c.dims == dims}) >= 3


@pytest.mark.parametrize("name", TASKS)
def test_full_judging_covers_every_distribution_at_every_shape(name: str) -> None:
    task = TASKS[name]
    cases = full_cases(task, task.tune[-1])
    for dims in (*task.edge, *task.held_out, task.tune[-1]):
        assert {c.distribution for c in cases if c.dims == dims} == set(task.distributions)
    assert {c.group for c in cases} == {"edge", "held-out", "tune"}


@pytest.mark.parametrize("name", TASKS)
def test_labels_of_held_out_cases_hide_the_shape(name: str) -> None:
    task = TASKS[name]
    for case in full_cases(task, task.tune[0]):
        hidden = case.group == "held-out"
        assert case.label.startswith("held-out shape, ") == hidden
        assert (dims_label(case.dims) in case.label) != hidden
        assert case.distribution in case.label


def test_every_shape_has_a_plan_the_timed_one_first_and_none_twice(double_task: Task) -> None:
    timed = {"N": 4096}
    assert all_shapes(double_task, timed) == [timed, *double_task.edge, *double_task.held_out]
    assert all_shapes(double_task, {"N": 7}) == [{"N": 7}, {"N": 1}, {"N": 1025}, {"N": 5003}]


def expected_of(table: CaseTable, number: int) -> list[Expected]:
    answers = table.answers(number)
    assert isinstance(answers, HostAnswers)
    return answers.expected


def test_a_table_holds_the_inputs_their_answers_and_a_time_out_for_each(double_task: Task) -> None:
    with CaseTable(double_task, screen_cases(double_task), bytes(32)) as table:
        assert len(table.cases) == len(table.calls) == len(table.timeouts)
        for number, (case, call) in enumerate(zip(table.cases, table.calls, strict=True)):
            (expected,) = expected_of(table, number)
            x = table.inputs.array(call.inputs[0])
            assert (call.dims, x.shape) == (case.dims, (case.dims["N"],))
            assert within(2 * x, expected)
        assert min(table.timeouts) >= 2.0
        assert 2.0 <= table.joint_timeout <= sum(table.timeouts)


def test_answers_that_are_not_kept_are_made_again_alike_and_inputs_stay(double_task: Task) -> None:
    with CaseTable(double_task, screen_cases(double_task), bytes(32), keep=False) as table:
        call = table.calls[3]
        assert not table.inputs.array(call.inputs[0]).any(), "nothing is made before it is wanted"
        (first,), drawn = expected_of(table, 3), table.inputs.array(call.inputs[0]).copy()
        table.inputs.array(call.inputs[0])[...] += 1
        (again,) = expected_of(table, 3)
        assert first is not again
        assert np.array_equal(first.low, again.low)
        assert np.array_equal(table.inputs.array(call.inputs[0]), drawn + 1), "inputs are laid out once"
    with CaseTable(double_task, screen_cases(double_task), bytes(32)) as table:
        assert table.answers(3) is table.answers(3)


def test_a_seed_decides_the_inputs(double_task: Task) -> None:
    cases = [Case({"N": 64}, "normal", "edge"), Case({"N": 64}, "large", "edge")]
    drawn = []
    for seed in (b"a" * 32, b"a" * 32, b"b" * 32):
        with CaseTable(double_task, cases, seed) as table:
            drawn.append([table.inputs.array(c.inputs[0]).copy() for c in table.calls])
    assert all(np.array_equal(a, b) for a, b in zip(drawn[0], drawn[1], strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(drawn[0], drawn[2], strict=True))


def test_a_case_draws_its_inputs_by_its_own_number(double_task: Task) -> None:
    """So that cases can be made in any order, by several threads: what comes before one does not change it."""
    cases = [Case({"N": 64}, "normal", "edge"), Case({"N": 64}, "large", "edge"), Case({"N": 9}, "normal", "edge")]
    drawn = []
    for given in (cases, [replace(cases[0], dims={"N": 7}), *cases[1:]], cases[:2]):
        with CaseTable(double_task, given, b"a" * 32) as table:
            drawn.append([table.inputs.read(c.inputs[0]).copy() for c in table.calls])
    assert all(np.array_equal(a, b) for a, b in zip(drawn[0][1:], drawn[1][1:], strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(drawn[0][:2], drawn[2], strict=True))


def test_a_devices_own_patience_sets_the_time_outs(double_task: Task, device: CpuDevice) -> None:
    """On a GPU a call takes nothing against the oracle on the host: only the base is left."""

    class Quick(CpuDevice):
        slowness = 0.0

    quick = Quick(device._sandbox, 1, device.cpus)
    with CaseTable(double_task, screen_cases(double_task), bytes(32), quick) as table:
        assert set(table.timeouts) == {2.0}


def test_where_shapes_cost_compilations_screening_takes_the_largest_alone(double_task: Task) -> None:
    cases = screen_cases(double_task, few=True)
    planted, plain = [c for c in cases if not c.plain], [c for c in cases if c.plain]
    assert [c.dims for c in planted] == [{"N": 1025}] * len(STANDARD)
    assert {c.distribution for c in planted} == set(STANDARD)
    assert [(c.dims, c.distribution) for c in plain] == [
        ({"N": 1025}, n) for n in plain_distributions(double_task)[-1:]
    ]


@pytest.mark.parametrize("name", TASKS)
def test_what_is_planted_is_no_mark_of_judged_inputs(name: str) -> None:
    task = TASKS[name]
    cases = full_cases(task, task.tune[0])
    plain = {c.distribution for c in cases if c.plain and c.dims == task.tune[0]}
    assert plain == set(plain_distributions(task)[1:]), "the first one is timed"
    for dims in (*task.edge, *task.held_out, task.tune[0]):
        assert any(c.plain for c in cases if c.dims == dims)
    for dims in (*task.edge, *task.held_out, task.tune[0]):
        assert {c.distribution for c in cases if c.dims == dims} == set(task.distributions)
    for name in plain_distributions(task):
        assert sum(c.distribution == name and not c.plain for c in cases) >= len(task.edge) + len(task.held_out)


def test_a_plain_case_holds_nothing_that_was_planted(double_task: Task) -> None:
    cases = [Case({"N": 4096}, "large", "edge", plain=plain) for plain in (False, True)]
    with CaseTable(double_task, cases, bytes(32)) as table:
        zeros = [np.count_nonzero(table.inputs.array(call.inputs[0]) == 0) for call in table.calls]
    assert zeros[0] > 0 == zeros[1]


def test_two_cases_of_a_table_never_share_inputs(double_task: Task) -> None:
    cases = [Case({"N": 64}, "normal", "edge"), Case({"N": 64}, "normal", "edge")]
    with CaseTable(double_task, cases, os.urandom(32)) as table:
        first, second = (table.inputs.array(c.inputs[0]) for c in table.calls)
        assert not np.array_equal(first, second)


def test_cases_without_room_follow_in_further_tables_with_the_inputs_that_they_would_have_had(
    double_task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = screen_cases(double_task)
    with CaseTable(double_task, cases, bytes(32)) as whole:
        assert whole.following() is None
        wanted = [whole.inputs.array(c.inputs[0]).copy() for c in whole.calls]
    largest = max(2 * 4 * case.dims["N"] for case in cases)
    monkeypatch.setattr("kernellab.verdict.cases.TOGETHER_BYTES", largest - 1)
    found, seen, table = [], [], CaseTable(double_task, cases, bytes(32))
    tables = 0
    while table is not None:
        with table:
            assert table.cases
            seen += table.cases
            found += [table.inputs.array(c.inputs[0]).copy() for c in table.calls]
        table, tables = table.following(), tables + 1
    assert tables > 3
    assert seen == cases
    assert all(map(np.array_equal, found, wanted))
