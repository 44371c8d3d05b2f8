"""Facts: what comes from a task, a trial or a pair of kernels, and above all what does not."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.propose.prompts.examples import SOURCES, brief, kernel, make_task

from kernellab.core.records import (
    Artifact,
    FailedTrial,
    MeasuredTrial,
    Passed,
    Proposal,
    Rejected,
    RejectedTrial,
    Timing,
)
from kernellab.propose.prompts import (
    KINDS,
    Brief,
    Contrast,
    DeviceFacts,
    Interval,
    KernelFacts,
    PromptBook,
    TaskFacts,
    Withheld,
)
from kernellab.propose.prompts.withhold import without_paths
from kernellab.propose.recipe import builtin_candidates
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Array, Task, dims_label

BOOK = PromptBook()
DIMS = {"c": "cpu", "triton": "cuda", "cuda": "cuda"}


def everything(task: Task, backend: Any, **fields: Any) -> str:
    facts = TaskFacts.of(task, DIMS[backend])
    prompts = [BOOK.render(kind, brief(backend, facts, **fields)) for kind in KINDS]
    return "\n".join(f"{p.system}\n{p.user}" for p in prompts)


def mentions(text: str, number: int) -> bool:
    return re.search(rf"(?<![\w.]){number}(?![\w.]*\d|\w)", text) is not None


@pytest.mark.parametrize("backend", SOURCES)
@pytest.mark.parametrize("name", TASKS)
def test_no_prompt_for_a_builtin_task_names_a_held_out_extent_or_shape(name: str, backend: str) -> None:
    task = TASKS[name].on(DIMS[backend])
    text = everything(TASKS[name], backend)
    shown = {e for dims in task.tune for e in dims.values()}
    for dims in task.held_out:
        assert not [e for e in dims.values() if e not in shown and mentions(text, e)], dims
    labels = [label for d in task.held_out for label in (dims_label(d), "x".join(map(str, d.values())))]
    assert not [label for label in labels if label in text]


@pytest.mark.parametrize("name", TASKS)
def test_built_in_kernels_in_the_context_do_not_name_them_either(name: str) -> None:
    task = TASKS[name].on("cuda")
    shown = {e for dims in task.tune for e in dims.values()}
    odd = {e for dims in task.held_out for e in dims.values() if e > 500 and e & (e - 1)} - shown
    kernels = tuple(kernel(c.text, i) for i, c in enumerate(builtin_candidates(name, "cuda")))
    assert kernels
    text = everything(TASKS[name], "cuda", kernels=kernels)
    assert not [e for e in odd if mentions(text, e)]


@given(tune=st.integers(17, 10**7), one=st.integers(17, 10**7), two=st.integers(17, 10**7), edge=st.integers(1, 10**6))
@settings(max_examples=60, deadline=None)
def test_facts_of_a_task_do_not_depend_on_its_held_out_or_edge_shapes(tune: int, one: int, two: int, edge: int) -> None:
    """Non-interference: what does not depend on a shape cannot tell it."""
    if tune in (one, two):
        return
    assert TaskFacts.of(make_task(tune, one, edge)) == TaskFacts.of(make_task(tune, two, 1))


@given(
    held=st.integers(17, 10**8),
    tune=st.integers(17, 10**8),
    form=st.sampled_from(["N={}", "{}", "({}, 4)", "{}x4", "sizes {} or so"]),
)
@settings(max_examples=150, deadline=None)
def test_a_held_out_extent_in_a_tasks_own_words_is_withheld(held: int, tune: int, form: str) -> None:
    if tune == held:
        return
    task = make_task(tune, held, about=f"twice x, also at {form.format(held)}, see /home/me/x.txt")
    public = {tune, tune * 4, tune * 16}
    facts = TaskFacts.of(task)
    assert not mentions(facts.about, held) or held in public
    assert "/home/me" not in facts.about


def test_extents_sizes_and_bytes_at_a_held_out_shape_are_withheld_but_what_tuning_shows_is_not() -> None:
    secret = Withheld.of(make_task(128, 1531))
    said = "x.shape=(1531, 4), size 6124, 24496 bytes, 24,496 bytes, 1_531; at (128, 4) 2048 bytes; line 4 of 15310"
    assert secret.clean(said) == (
        "x.shape=([withheld]), size [withheld], [withheld] bytes, [withheld] bytes, [withheld]; at (128, 4) 2048 bytes; line 4 of 15310"
    )


def test_small_shapes_are_withheld_as_a_whole_and_not_as_single_numbers() -> None:
    task = dataclasses.replace(TASKS["stencil3x3"], held_out=({"H": 7, "W": 5, "C": 3},))
    secret = Withheld.of(task)
    assert (
        secret.clean("line 7: wrong at H=7, W=5, C=3 and (7, 5, 3), 3 errors")
        == "line 7: wrong at H=[withheld] and ([withheld]), 3 errors"
    )


def test_the_facts_hold_tuning_shapes_and_names_of_distributions_only() -> None:
    facts = TaskFacts.of(TASKS["softmax_bf16"], "cuda")
    assert [s.label for s in facts.shapes] == ["M=16384,N=4096", "M=65536,N=1024", "M=131072,N=512", "M=16384,N=781"]
    assert facts.distributions == ("normal", "offset", "heavy-tail", "large", "constant-rows", "masked", "sparse")
    assert facts.signature == "x, y"
    assert "round once" in facts.accuracy
    assert "np.exp" in facts.reference
    assert "torch" not in facts.reference, "baselines are nobody's business"
    names = {f.name for f in dataclasses.fields(TaskFacts)}
    assert names == {"name", "about", "reference", "inputs", "outputs", "shapes", "distributions", "accuracy"}


def test_the_reference_comes_with_the_helpers_and_constants_it_needs_and_runs() -> None:
    text = TaskFacts.of(TASKS["stencil5x5"]).reference
    scope: dict[str, Any] = {}
    exec(text, scope)
    import numpy as np

    x = np.random.default_rng(0).standard_normal((5, 6, 2))
    assert np.array_equal(scope["reference"](x), TASKS["stencil5x5"].reference(x))


def test_every_builtin_reference_runs_as_shown() -> None:
    for task in TASKS.values():
        exec(TaskFacts.of(task).reference, {})


def test_a_lambda_is_cut_out_of_the_statement_it_stands_in() -> None:
    task = make_task(1024, 77773, reference=lambda x: x * 2, about="77773 is secret")
    assert TaskFacts.of(task).reference == "reference = lambda x: x * 2"
    assert "77773" not in str(TaskFacts.of(task))


def test_comments_and_docstrings_of_a_reference_are_left_out() -> None:
    def reference(x: Array) -> Array:
        """Judged at 31337."""
        return x * 2  # 31337 again

    assert TaskFacts.of(make_task(64, 31337, reference=reference)).reference == "def reference(x):\n    return x * 2"


def test_a_reference_without_source_is_said_to_have_none() -> None:
    scope: dict[str, Any] = {}
    exec("def reference(x):\n    return x * 2\n", scope)
    assert "not available" in TaskFacts.of(make_task(64, 99, reference=scope["reference"])).reference


def test_exact_tasks_say_so() -> None:
    assert "bit for bit" in TaskFacts.of(make_task(64, 99, exact=True)).accuracy


def test_a_path_is_shortened_to_its_file_name_and_code_is_left_alone() -> None:
    assert (
        without_paths('File "/usr/lib/python3/x.py", at /tmp/klab-1/candidate.c:3') == 'File "x.py", at candidate.c:3'
    )
    for code in ("a/b/c", "x = p /q/ r", "3/4/5", "y[i]/n/m", "*a/ *b", "http://example.org/a"):
        assert without_paths(code) == code


PROPOSAL = Proposal(source="0" * 64, name="k", params={"B": 4}, why="seen at N=1531 in /home/me/runs/x")
COMMON: dict[str, Any] = {
    "trial": 7, "task": "made", "dims": {"N": 128}, "proposal": PROPOSAL, "tier": "t", "seed": 99, "device": "d", "environment": "e",
}  # fmt: skip
ARTIFACT = Artifact(
    id="i", backend="cuda", code="c", plans="p", log="l", compiler="n", flags=[], static_bytes=0, build_s=1.0,
    resources={"registers": 40, "spill_bytes": 8, "shared": 1024},
)  # fmt: skip


def test_a_measured_trial_becomes_figures_without_seeds_paths_or_secrets() -> None:
    task = make_task(128, 1531)
    timing = Timing(
        baseline="torch", threads=1, calls=1, candidate_s=[1e-3], baseline_s=[2e-3], speedup=2.0, speedup_low=1.9, speedup_high=2.1,
        latency_s=1e-3, gb_per_s=1.0, floor_s=5e-4, memory_floor_s=5e-4, of_floor=0.5, of_memory_floor=0.5, checked=1, stopped="raced",
    )  # fmt: skip
    passed = Passed(level="screen", cases=1, max_abs_err=0.0, max_ulp=0.0, budget_ulp=1.0, deterministic=True)
    trial = MeasuredTrial(
        **COMMON, trust="native", artifact=ARTIFACT, verdict=passed, inputs_seed="secretseed", timing=timing
    )
    facts = KernelFacts.of(trial, SOURCES["cuda"], TaskFacts.of(task), Withheld.of(task))
    assert (facts.id, facts.shape, facts.latency_us, facts.of_floor) == ("trial 7", "N=128", 1000.0, 0.5)
    assert (facts.registers, facts.spill_bytes, facts.shared_bytes) == (40, 8, 1024)
    assert facts.speedup == Interval(2.0, 1.9, 2.1)
    assert facts.why == "seen at N=[withheld] in x"
    assert "secretseed" not in str(facts)
    assert "99" not in str(facts)


def test_a_trial_at_a_shape_that_is_not_tuned_for_does_not_name_it() -> None:
    task = make_task(128, 1531)
    trial = FailedTrial(**{**COMMON, "dims": {"N": 1531}}, status="invalid", reason="no room for (1531, 4)")
    facts = KernelFacts.of(trial, SOURCES["c"], TaskFacts.of(task), Withheld.of(task))
    assert facts.shape == ""
    assert facts.reason == "no room for ([withheld])"


def test_a_rejected_trial_keeps_cause_reason_and_resources() -> None:
    task = make_task(128, 1531)
    verdict = Rejected(cause="wrong-output", reason="y: wrong at a held-out shape", case="held-out shape, normal")
    facts = KernelFacts.of(
        RejectedTrial(**COMMON, artifact=ARTIFACT, verdict=verdict, inputs_seed="s"), SOURCES["cuda"], TaskFacts.of(task), Withheld.of(task)
    )  # fmt: skip
    assert (facts.status, facts.reason, facts.registers) == (
        "rejected",
        "wrong-output: y: wrong at a held-out shape",
        40,
    )
    assert facts.speedup is None


def test_a_contrast_shows_parameters_code_and_resources_that_differ() -> None:
    fast, slow = kernel("a\nb\n", 2, registers=30), kernel("a\nc\n", 1, registers=50)
    contrast = Contrast.of(fast, dataclasses.replace(slow, params={"STEP": 2}), Interval(1.5, 1.4, 1.6))
    assert contrast.diff.splitlines()[0] == "# parameters: {'STEP': 2} -> {'STEP': 1}"
    assert {"-c", "+b"} <= set(contrast.diff.splitlines())
    assert contrast.deltas == {"registers": -20}
    long = Contrast.of(kernel("\n".join(map(str, range(999)))), kernel(""), Interval(2, 2, 2))
    assert len(long.diff.splitlines()) < 130


def test_device_facts_come_from_measured_ceilings() -> None:
    from kernellab.measurement.roofline import Ceilings

    facts = DeviceFacts.of("gpu", "sm_90", 132, Ceilings(4e12, 4.5e12, 6e13))
    assert (facts.copy_gb_per_s, facts.read_gb_per_s, facts.gflops, facts.is_gpu) == (4000.0, 4500.0, 60000.0, True)
    assert DeviceFacts.of("cpu", "cpu", 4).copy_gb_per_s is None


def test_a_brief_has_no_place_for_a_task_a_seed_or_a_path() -> None:
    names = {f.name for f in dataclasses.fields(Brief)}
    assert not {n for n in names if "seed" in n or "path" in n or "held" in n}
