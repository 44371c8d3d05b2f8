"""The audit's own reading of a record: a run is changed AND signed again with its own key, so hashes and signatures all fit."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import CUBE, CUBES, GENESIS, calibration
from tests.support.resign import Bodies, resigned
from tests.unit.tasks.modules import graphs

from kernellab.core.ids import digest, sha256_hex
from kernellab.core.records import artifact_id, part_id
from kernellab.graph.live import capture_object
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import SigningKey, load_or_create_key
from kernellab.report.audit import Audit, audit
from kernellab.search.prune import prune
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.modules.task import module_task

Change = Callable[[Bodies], object]


@pytest.fixture(scope="module")
def run() -> Path:
    """A measured (0), a duplicate, rejected and invalid trials, a confirmation that wins, a result."""
    return CUBE


def first(entries: Bodies, kind: str, status: str = "") -> dict[str, Any]:
    return next(b for k, b in entries if k == kind and (not status or b.get("status") == status))


def drop(entries: Bodies, kind: str) -> None:
    entries[:] = [e for e in entries if e[0] != kind]


def test_a_sound_run_passes_and_every_figure_is_counted(run: Path) -> None:
    report = audit(run)
    assert report.problems == []
    assert report.ended
    assert report.trials == 9
    # calibration 3; the measured trial 9; the confirmation 9; the result 7 + 2
    assert report.figures == 3 + 9 + 9 + 9
    assert report.data()["status"] == "ok"
    assert report.data()["ledger_root"] == report.root


def test_a_run_written_again_unchanged_passes(run: Path, tmp_path: Path) -> None:
    assert audit(resigned(run, tmp_path / "run", lambda _: None)).problems == []


TIMING_FIGURES = [
    "speedup",
    "speedup_low",
    "speedup_high",
    "latency_s",
    "gb_per_s",
    "floor_s",
    "memory_floor_s",
    "of_floor",
    "of_memory_floor",
]


@pytest.mark.parametrize("name", TIMING_FIGURES)
@pytest.mark.parametrize("kind", ["trial", "confirmation"])
def test_a_figure_that_does_not_follow_from_its_samples_is_found(
    kind: str, name: str, run: Path, tmp_path: Path
) -> None:
    def change(entries: Bodies) -> None:
        first(entries, kind, "measured" if kind == "trial" else "")["timing"][name] *= 1.000001

    told = audit(resigned(run, tmp_path / "run", change)).problems
    assert any(f"({kind}): {name} is " in p and ", its samples give " in p for p in told), told


@pytest.mark.parametrize(
    "name",
    [
        "speedup",
        "speedup_low",
        "speedup_high",
        "latency_s",
        "gb_per_s",
        "of_floor",
        "of_memory_floor",
        "max_abs_err",
        "max_ulp",
    ],
)
def test_a_published_figure_that_is_not_the_confirmed_one_is_found(name: str, run: Path, tmp_path: Path) -> None:
    def change(entries: Bodies) -> None:
        first(entries, "result")[name] *= 1.000001

    problems = audit(resigned(run, tmp_path / "run", change)).problems
    assert any(f"(result): {name} is " in p for p in problems), problems


@pytest.mark.parametrize("name", ["floor_s", "memory_floor_s", "noise_floor"])
def test_a_calibration_that_does_not_follow_from_its_samples_is_found(name: str, run: Path, tmp_path: Path) -> None:
    def change(entries: Bodies) -> None:
        first(entries, "calibration")[name] = first(entries, "calibration")[name] * 1.000001 + 1e-9

    problems = audit(resigned(run, tmp_path / "run", change)).problems
    assert any(f"(calibration): {name} is " in p for p in problems), problems


def sample(entries: Bodies) -> None:
    timing = first(entries, "confirmation")["timing"]
    timing["candidate_s"] = [s * 0.9 for s in timing["candidate_s"]]


def pairs_dropped(entries: Bodies) -> None:
    timing = first(entries, "confirmation")["timing"]
    timing["candidate_s"].pop()


def lost_win(entries: Bodies) -> None:
    first(entries, "confirmation")["win"] = False


def unearned_win(entries: Bodies) -> None:
    """The noise was as large as the speed-up, and the win is claimed all the same."""
    calibration = first(entries, "calibration")
    timing = first(entries, "confirmation")["timing"]
    calibration["aa"] = [[1e-6] * 15, [1e-6 * timing["speedup_low"] * 1.01] * 15]
    calibration["noise_floor"] = timing["speedup_low"] * 1.01 - 1


def win_of_the_rejected(entries: Bodies) -> None:
    confirmation = first(entries, "confirmation")
    confirmation["verdict"] = {
        "status": "rejected",
        "cause": "wrong-output",
        "reason": "no",
        "case": "",
        "max_abs_err": None,
        "max_ulp": None,
    }


def result_without_confirmation(entries: Bodies) -> None:
    drop(entries, "confirmation")


def result_of_another_trial(entries: Bodies) -> None:
    first(entries, "result")["trial"] = first(entries, "trial", "rejected")["trial"]


def result_better_than_confirmed(entries: Bodies) -> None:
    confirmation = first(entries, "confirmation")
    entries[0][1]["settings"]["win_floor"] = 1e6
    confirmation["win"] = False


def other_baseline_of_a_confirmation(entries: Bodies) -> None:
    first(entries, "confirmation")["timing"]["baseline"] = "a slow one"


def slower_baseline_chosen(entries: Bodies) -> None:
    calibration = first(entries, "calibration")
    calibration["baselines"]["quick"] = [[1e-9] * 5, [1e-9] * 5]


def duplicate_of_other_code(entries: Bodies) -> None:
    trials = [b for k, b in entries if k == "trial"]
    duplicate = next(t for t in trials if t["status"] == "duplicate")
    others = [
        t
        for t in trials[: duplicate["trial"]]
        if t["status"] in ("measured", "rejected") and t["artifact"]["id"] != duplicate["artifact"]["id"]
    ]
    if others:
        duplicate["of"] = others[0]["trial"]
    else:  # its original is the only one before it: let a later one point there
        later = next(
            t for t in trials if t["status"] == "duplicate" and t["artifact"]["id"] != duplicate["artifact"]["id"]
        )
        later["of"] = duplicate["of"]


def duplicate_of_a_later_trial(entries: Bodies) -> None:
    duplicate = first(entries, "trial", "duplicate")
    duplicate["of"] = duplicate["trial"]


def confirmation_of_the_unmeasured(entries: Bodies) -> None:
    number = first(entries, "trial", "rejected")["trial"]
    first(entries, "confirmation")["trial"] = number
    first(entries, "result")["trial"] = number


def confirmation_of_the_absent(entries: Bodies) -> None:
    first(entries, "confirmation")["trial"] = 4711


def trials_renumbered(entries: Bodies) -> None:
    first(entries, "trial", "rejected")["trial"] += 1


def trial_left_out(entries: Bodies) -> None:
    entries.remove(("trial", first(entries, "trial", "rejected")))


def no_calibration(entries: Bodies) -> None:
    drop(entries, "calibration")


def artifact_misnamed(entries: Bodies) -> None:
    first(entries, "trial", "rejected")["artifact"]["id"] = "0" * 64


def code_of_another(entries: Bodies) -> None:
    """The measured trial claims the machine code of a rejected one."""
    first(entries, "trial", "measured")["artifact"]["code"] = first(entries, "trial", "rejected")["artifact"]["code"]


def renamed(artifact: dict[str, Any]) -> None:
    """An id that fits, whatever the parts are now."""
    parts = {label: part_id(p["code"], p["plan"]) for label, p in artifact["parts"].items()}
    artifact["id"] = artifact_id(parts)


def artifact_without_parts(entries: Bodies) -> None:
    """As an older version wrote them, in a run that says it is newer."""
    artifact = first(entries, "trial", "rejected")["artifact"]
    artifact["parts"] = {}
    artifact["id"] = digest([artifact["code"], artifact["plans"]])


def part_of_another(entries: Bodies) -> None:
    other = first(entries, "trial", "rejected")["artifact"]["parts"]["N=7"]
    first(entries, "trial", "measured")["artifact"]["parts"]["N=7"] = other


def no_part_for_the_timed_shape(entries: Bodies) -> None:
    artifact = first(entries, "trial", "rejected")["artifact"]
    del artifact["parts"]["N=4096"]
    renamed(artifact)


def trial_timed_another(entries: Bodies) -> None:
    first(entries, "trial", "measured")["timing"]["part"] = "0" * 64


def trial_judged_another(entries: Bodies) -> None:
    first(entries, "trial", "measured")["verdict"]["judged"]["N=7"] = "0" * 64


def trial_judged_elsewhere(entries: Bodies) -> None:
    first(entries, "trial", "measured")["verdict"]["judged"]["N=5"] = "0" * 64


def trial_judged_nothing(entries: Bodies) -> None:
    first(entries, "trial", "measured")["verdict"]["judged"] = {}


def win_without_an_artifact(entries: Bodies) -> None:
    first(entries, "confirmation")["artifact"] = None


def exchanged(entries: Bodies, label: str) -> None:
    """The confirmation holds, judges and names another part at a shape: whatever is inside it fits."""
    confirmation = first(entries, "confirmation")
    artifact = confirmation["artifact"]
    other = first(entries, "trial", "rejected")["artifact"]["parts"]["N=7"]
    artifact["parts"][label] = other
    confirmation["verdict"]["judged"][label] = part_id(other["code"], other["plan"])
    renamed(artifact)


def confirmed_another(entries: Bodies) -> None:
    exchanged(entries, "N=7")


def confirmed_less(entries: Bodies) -> None:
    confirmation = first(entries, "confirmation")
    del confirmation["artifact"]["parts"]["N=7"], confirmation["verdict"]["judged"]["N=7"]
    renamed(confirmation["artifact"])


def confirmed_unjudged(entries: Bodies) -> None:
    del first(entries, "confirmation")["verdict"]["judged"]["N=5003"]


def confirmed_judged_another(entries: Bodies) -> None:
    first(entries, "confirmation")["verdict"]["judged"]["N=5003"] = "0" * 64


def confirmed_judged_elsewhere(entries: Bodies) -> None:
    first(entries, "confirmation")["verdict"]["judged"]["N=5"] = "0" * 64


def confirmed_timed_another(entries: Bodies) -> None:
    first(entries, "confirmation")["timing"]["part"] = "0" * 64


def held_out_code_never_stored(entries: Bodies) -> None:
    first(entries, "confirmation")["artifact"]["parts"]["N=5003"]["code"] = "ab" * 32


def held_out_plan_never_stored(entries: Bodies) -> None:
    first(entries, "confirmation")["artifact"]["parts"]["N=5003"]["plan"] = "ab" * 32


def source_never_stored(entries: Bodies) -> None:
    first(entries, "trial", "measured")["proposal"]["source"] = "ab" * 32


def candidate_never_stored(entries: Bodies) -> None:
    entries[0][1]["candidates"][0]["source"] = "ab" * 32


def measured_without_timing(entries: Bodies) -> None:
    del first(entries, "trial", "measured")["timing"]


def unknown_field(entries: Bodies) -> None:
    first(entries, "trial", "measured")["score"] = 100


def unknown_status(entries: Bodies) -> None:
    first(entries, "trial", "measured")["status"] = "splendid"


def result_that_is_a_list(entries: Bodies) -> None:
    first(entries, "end")["results"][0] = []


def settings_changed_half_way(entries: Bodies) -> None:
    start = entries[0][1]
    part = {name: copy.deepcopy(start[name]) for name in ("task", "settings", "environment")}
    part["settings"]["win_floor"] = 1.0
    entries.insert(1, ("session-part", {**part, "file": "", "sha256": ""}))


def call_of_the_absent(entries: Bodies) -> None:
    entries.append(("session-call", {"tool": "verify", "trial": 99, "kernel": "k", "artifact": "a"}))


FOUND: dict[Change, str] = {
    settings_changed_half_way: "changes the settings of a run whose purpose is 'search'",
    call_of_the_absent: "names trial 99, which is not there",
    sample: "latency_s is ",
    pairs_dropped: "is not a well-formed record",
    lost_win: "says win=False, the rule says True",
    unearned_win: "says win=True, the rule says False",
    win_of_the_rejected: "is not a well-formed record",
    result_without_confirmation: "publishes trial 0, which was never confirmed",
    result_of_another_trial: "publishes trial 2, which was never confirmed",
    result_better_than_confirmed: "says 'better', the confirmation says win=False",
    other_baseline_of_a_confirmation: "is measured against a slow one, the fastest baseline is numpy",
    slower_baseline_chosen: "the fastest baseline is not numpy",
    duplicate_of_other_code: "calls itself a duplicate of trial 0, which has other machine code",
    duplicate_of_a_later_trial: "calls itself a duplicate of trial 1, which has other machine code",
    confirmation_of_the_unmeasured: "confirms trial 2, which was never measured at this shape",
    confirmation_of_the_absent: "is not a well-formed record",
    trials_renumbered: "is numbered 3, expected 2",
    trial_left_out: "is numbered 3, expected 2",
    no_calibration: "is not a well-formed record",
    artifact_misnamed: "the artifact's id does not name its parts",
    code_of_another: "the artifact's code and plans are not its part for the timed shape",
    artifact_without_parts: "the artifact names no parts",
    part_of_another: "the artifact's id does not name its parts",
    no_part_for_the_timed_shape: "the artifact has no part for the timed shape",
    trial_timed_another: "timed other machine code or another plan than its artifact has for the timed shape",
    trial_judged_another: "was judged at N=7 on other machine code or another plan than its artifact has there",
    trial_judged_elsewhere: "was judged at N=5, which its artifact does not have",
    trial_judged_nothing: "does not say what was judged",
    win_without_an_artifact: "passes without the artifact that was judged and timed",
    confirmed_another: "has other machine code or another plan at N=7 than the trial",
    confirmed_less: "has no N=7, which the trial was built for",
    confirmed_unjudged: "holds N=5003, which was not judged",
    confirmed_judged_another: "was judged at N=5003 on other machine code or another plan than its artifact has there",
    confirmed_judged_elsewhere: "was judged at N=5, which its artifact does not have",
    confirmed_timed_another: "timed other machine code or another plan than it judged",
    held_out_code_never_stored: "machine code for N=5003: blob",
    held_out_plan_never_stored: "plan for N=5003: blob",
    source_never_stored: "is missing",
    candidate_never_stored: "is missing",
    measured_without_timing: "is not a well-formed record",
    unknown_field: "is not a well-formed record",
    unknown_status: "is not a well-formed record",
    result_that_is_a_list: "is not a well-formed record",
}


def of_an_older_version(entries: Bodies) -> None:
    """Neither the mark nor anything that came with it."""
    del entries[0][1]["format"]
    for kind, body in entries:
        artifact = body.get("artifact") if kind == "trial" else None
        if artifact:
            artifact["parts"] = {}
            artifact["id"] = digest([artifact["code"], artifact["plans"]])
        if kind == "confirmation":
            body["artifact"] = None
        if kind in ("trial", "confirmation"):
            (body.get("verdict") or {}).pop("judged", None)
            (body.get("timing") or {}).pop("part", None)


def test_a_run_of_an_older_version_still_passes(run: Path, tmp_path: Path) -> None:
    assert audit(resigned(run, tmp_path / "run", of_an_older_version)).problems == []


def other_baseline_in_the_result(entries: Bodies) -> None:
    first(entries, "result")["baseline"] = "torch.compile"


def other_threads_in_the_result(entries: Bodies) -> None:
    first(entries, "result")["threads"] = 64


def win_flag_in_the_result(entries: Bodies) -> None:
    first(entries, "result")["win"] = False


def better_without_a_trial(entries: Bodies) -> None:
    result = first(entries, "result")
    result["trial"] = None


def busy_without_a_busy_machine(entries: Bodies) -> None:
    result = first(entries, "result")
    kept = {name: result[name] for name in ("task", "dims", "dtype", "threads")}
    result.clear()
    result.update({**kept, "status": "busy", "reason": "so it says", "trial": None})


def other_figures_at_the_end(entries: Bodies) -> None:
    first(entries, "end")["results"][0]["speedup"] *= 2


def duplicate_of_a_failed_trial(entries: Bodies) -> None:
    failed = first(entries, "trial", "invalid")["trial"]
    duplicate = next(b for k, b in entries if k == "trial" and b["status"] == "duplicate" and b["trial"] > failed)
    duplicate["of"] = failed


def duplicate_of_minus_one(entries: Bodies) -> None:
    first(entries, "trial", "duplicate")["of"] = -1


def confirmation_at_another_shape(entries: Bodies) -> None:
    calibration = copy.deepcopy(first(entries, "calibration"))
    calibration["dims"] = {"N": 8192}
    entries.insert(2, ("calibration", calibration))
    first(entries, "confirmation")["dims"] = {"N": 8192}


def result_at_another_shape(entries: Bodies) -> None:
    first(entries, "result")["dims"] = {"N": 1 << 20}


def confirmed_on_a_screening(entries: Bodies) -> None:
    first(entries, "confirmation")["verdict"]["level"] = "screen"


def passed_over_its_budget(entries: Bodies) -> None:
    verdict = first(entries, "confirmation")["verdict"]
    verdict["max_ulp"] = verdict["budget_ulp"] * 100
    first(entries, "result")["max_ulp"] = verdict["max_ulp"]


def too_good_to_be_true(entries: Bodies) -> None:
    """Ceilings so low that the confirmed kernel lies far beyond the floor: the bench would have rejected it."""
    calibration = first(entries, "calibration")
    ratio = first(entries, "confirmation")["timing"]["of_floor"]
    scale = 3 / ratio
    for name in ("copy", "read", "flops"):
        calibration["ceilings"][name] /= scale
    for name in ("floor_s", "memory_floor_s"):
        calibration[name] *= scale
    for kind, body in entries:
        if kind in ("trial", "confirmation") and body.get("timing"):
            for name in ("floor_s", "memory_floor_s", "of_floor", "of_memory_floor"):
                body["timing"][name] *= scale
        if kind == "result":
            for name in ("of_floor", "of_memory_floor"):
                body[name] *= scale


def a_hidden_clock(entries: Bodies) -> None:
    """The record claims for the kernel an ability that its machine code has not got: as wrong as one left out."""
    first(entries, "trial", "measured")["artifact"]["abilities"] = ["reads a clock (time)"]


def few_pairs(entries: Bodies) -> None:
    """The three best pairs of a confirmation, with figures that follow from them."""
    from kernellab.measurement.stats import median, paired_speedup

    timing, stage, result = (
        first(entries, "confirmation")["timing"],
        first(entries, "calibration"),
        first(entries, "result"),
    )
    best = sorted(zip(timing["candidate_s"], timing["baseline_s"], strict=True), key=lambda p: p[0] / p[1])[:3]
    timing["candidate_s"], timing["baseline_s"], timing["processes"] = (
        [p[0] for p in best],
        [p[1] for p in best],
        [1] * 3,
    )
    figures, latency = paired_speedup(timing["candidate_s"], timing["baseline_s"]), median(timing["candidate_s"])
    for body in (timing, result):
        body |= {
            "speedup": figures.value, "speedup_low": figures.low, "speedup_high": figures.high, "latency_s": latency,
            "gb_per_s": stage["bytes"] / latency / 1e9, "of_floor": stage["floor_s"] / latency,
            "of_memory_floor": stage["memory_floor_s"] / latency,
        }  # fmt: skip


def better_confirmed_twice(entries: Bodies) -> None:
    """A lost confirmation of the same trial, then another try until it won: best-of-N luck."""
    place = next(i for i, (k, _) in enumerate(entries) if k == "confirmation")
    entries.insert(place, ("confirmation", copy.deepcopy(entries[place][1])))


def pairs_of_nobody(entries: Bodies) -> None:
    first(entries, "confirmation")["timing"]["processes"] = []


def two_processes(entries: Bodies) -> None:
    first(entries, "confirmation")["timing"]["processes"] = [56, 55]


def a_pair_unchecked(entries: Bodies) -> None:
    first(entries, "confirmation")["timing"]["checked"] = 110


def older_artifact_misnamed(entries: Bodies) -> None:
    of_an_older_version(entries)
    first(entries, "trial", "rejected")["artifact"]["id"] = "0" * 64


def result_of_the_absent(entries: Bodies) -> None:
    first(entries, "result")["trial"] = 4711


SAID_TOO_MUCH: dict[Change, str] = {
    other_baseline_in_the_result: "names ('torch.compile', 1, True) as baseline, threads and win; the confirmation says otherwise",
    other_threads_in_the_result: "names ('numpy', 64, True) as baseline, threads and win; the confirmation says otherwise",
    win_flag_in_the_result: "names ('numpy', 1, False) as baseline, threads and win; the confirmation says otherwise",
    busy_without_a_busy_machine: "says 'busy' without naming a trial",
    better_without_a_trial: "is not a well-formed record: unpublished.status",
    other_figures_at_the_end: "the results at the end are not the ones recorded before",
    duplicate_of_a_failed_trial: "calls itself a duplicate of trial 3, which has other machine code",
    duplicate_of_minus_one: "calls itself a duplicate of trial -1, which has other machine code",
    confirmation_at_another_shape: "confirms trial 0, which was never measured at this shape",
    result_at_another_shape: "publishes trial 0 for another shape than it was confirmed at",
    confirmed_on_a_screening: "passes on level 'screen' with ",
    passed_over_its_budget: "passes on level 'full' with ",
    too_good_to_be_true: "s a call, below what the ceilings allow (",
    a_hidden_clock: "the artifact's abilities: ",
    few_pairs: "has 3 pairs, a confirmation at this effort has 111",
    better_confirmed_twice: "confirms trial 0 a second time",
    pairs_of_nobody: "does not say which process gave which pair",
    two_processes: "comes from 2 processes, a confirmation at this effort has 3",
    a_pair_unchecked: "had 110 calls judged in full for 111 pairs",
    older_artifact_misnamed: "the artifact's id does not name its code and plans",
    result_of_the_absent: "the files beside the ledger cannot be compared with it: IndexError",
}


@pytest.mark.parametrize("change", SAID_TOO_MUCH, ids=lambda c: c.__name__)
def test_a_record_that_says_more_than_its_evidence_is_found_though_it_is_signed(
    change: Change, run: Path, tmp_path: Path
) -> None:
    told = audit(resigned(run, tmp_path / "run", change)).problems
    assert any(SAID_TOO_MUCH[change] in p for p in told), told


def timings(entries: Bodies) -> list[dict[str, Any]]:
    return [b["timing"] for k, b in entries if k in ("trial", "confirmation") and b.get("timing")]


def refigured(entries: Bodies) -> None:
    """The figures of the confirmation and of the result follow from the samples, whatever these are now."""
    from kernellab.measurement.stats import replicated_speedup

    timing = first(entries, "confirmation")["timing"]
    found = replicated_speedup(timing["candidate_s"], timing["baseline_s"], timing["processes"])
    for body in (timing, first(entries, "result"), first(entries, "end")["results"][0]):
        body |= {"speedup": found.value, "speedup_low": found.low, "speedup_high": found.high}


def mostly_set_aside(entries: Bodies) -> None:
    """Twice as many pairs were set aside as kept, and the flag that forbids a claim is gone."""
    timing = first(entries, "confirmation")["timing"]
    timing["dropped"] = [list(pair) for pair in zip(timing["candidate_s"], timing["baseline_s"], strict=True)] * 2


def pairs_added_until_it_won(entries: Bodies) -> None:
    timing = first(entries, "confirmation")["timing"]
    timing |= {"candidate_s": timing["candidate_s"] * 2, "baseline_s": timing["baseline_s"] * 2}
    timing |= {"processes": [74] * 3, "checked": 222}
    refigured(entries)


def replicates_chosen(entries: Bodies) -> None:
    first(entries, "confirmation")["timing"]["processes"] = [1, 1, 109]
    refigured(entries)


def stopped_early(entries: Bodies) -> None:
    first(entries, "confirmation")["timing"]["stopped"] = "narrow"


def a_time_below_zero(entries: Bodies) -> None:
    first(entries, "confirmation")["timing"]["dropped"] = [[-1.0, 5.0]]


def many_threads(entries: Bodies) -> None:
    for timing in (*timings(entries), first(entries, "result"), first(entries, "end")["results"][0]):
        timing["threads"] = 64


def busy_and_timed(entries: Bodies) -> None:
    first(entries, "confirmation")["busy"] = "others use it"


def counted_from_the_end(entries: Bodies) -> None:
    """Trial -9 is trial 0 to a list: a second confirmation that looks like another trial's."""
    place = next(i for i, (k, _) in enumerate(entries) if k == "confirmation")
    entries.insert(place, ("confirmation", copy.deepcopy(entries[place][1]) | {"trial": -9}))


def nothing_judged(entries: Bodies) -> None:
    first(entries, "confirmation")["verdict"]["cases"] = 0


def error_below_zero(entries: Bodies) -> None:
    for body in (
        first(entries, "confirmation")["verdict"],
        first(entries, "result"),
        first(entries, "end")["results"][0],
    ):
        body["max_ulp"] = -1.0


def confirmed_on_the_same_inputs(entries: Bodies) -> None:
    first(entries, "confirmation")["inputs_seed"] = first(entries, "trial", "measured")["inputs_seed"]


def other_flags(entries: Bodies) -> None:
    first(entries, "trial", "measured")["artifact"]["flags"] = ["-O0"]


def bound_by_something_else(entries: Bodies) -> None:
    first(entries, "calibration")["bound"] = "arithmetic"


def another_task_at_the_start(entries: Bodies) -> None:
    entries[0][1]["task"]["name"] = "matmul"


def another_shape_at_the_start(entries: Bodies) -> None:
    entries[0][1]["shapes"] = [{"N": 1 << 24}]


def another_machine_at_the_start(entries: Bodies) -> None:
    entries[0][1]["environment"]["device"] = "NVIDIA H200"


def trials_of_another_machine(entries: Bodies) -> None:
    for trial in (b for k, b in entries if k == "trial"):
        trial["device"] = "NVIDIA H200"


def another_trust(entries: Bodies) -> None:
    first(entries, "trial", "measured")["trust"] = "host"


def winner_passed_over(entries: Bodies) -> None:
    result = first(entries, "result")
    kept = {name: result[name] for name in ("task", "dims", "dtype", "threads")}
    result.clear()
    result.update({**kept, "status": "nothing-verified", "reason": "all of them wrong", "trial": None})


def figure_in_words(entries: Bodies) -> None:
    first(entries, "result")["reason"] = "cube N=4096: trial 0 beats the fastest baseline: 55.0x of numpy"


def loss_called_busy(entries: Bodies) -> None:
    """No win by the rule; a busy machine is blamed."""
    entries[0][1]["settings"]["win_floor"] = 1e6
    first(entries, "confirmation")["win"] = False
    first(entries, "result").update(win=False, status="busy")


def nothing_at_the_end(entries: Bodies) -> None:
    first(entries, "end")["results"] = []


def result_left_out(entries: Bodies) -> None:
    drop(entries, "result")
    nothing_at_the_end(entries)


def better_one_passed_over(entries: Bodies) -> None:
    """A second measured trial is confirmed to be no win; the result is about that one."""
    trials = [b for k, b in entries if k == "trial"]
    second = copy.deepcopy(trials[0]) | {"trial": len(trials)}
    place = next(i for i, (k, _) in enumerate(entries) if k == "confirmation")
    lost = copy.deepcopy(entries[place][1]) | {"trial": len(trials), "win": False}
    lost["timing"] |= {"baseline_s": lost["timing"]["candidate_s"]}
    lost["timing"] |= {"speedup": 1.0, "speedup_low": 1.0, "speedup_high": 1.0}
    entries[place:place] = [("trial", second), ("confirmation", lost)]
    first(entries, "result").update(
        trial=len(trials), win=False, status="nothing-better", speedup=1.0, speedup_low=1.0, speedup_high=1.0
    )


def fault_of_a_sanitizer(entries: Bodies) -> None:
    report = {"artifact": first(entries, "confirmation")["artifact"]["id"], "task": "cube", "dims": {"N": 4096}, "reason": "",
              "tools": ["memcheck"], "unfinished": {}, "version": "1",
              "findings": [{"tool": "memcheck", "count": 3, "message": "out of bounds", "kernel": "k"}]}  # fmt: skip
    entries.insert(len(entries) - 1, ("sanitizer", report))


INCONSISTENT: dict[Change, str] = {
    mostly_set_aside: "calls itself undisturbed with 222 pairs set aside and 111 kept",
    pairs_added_until_it_won: "has [74, 74, 74] pairs of its processes, a confirmation at this effort has 37 of each",
    replicates_chosen: "has [1, 1, 109] pairs of its processes, a confirmation at this effort has 37 of each",
    stopped_early: "was stopped as 'narrow', and a confirmation never is",
    a_time_below_zero: "holds samples that are no times",
    many_threads: "names 64 threads, its calibration had 1",
    busy_and_timed: "was timed, and says that the machine was too busy to",
    counted_from_the_end: "is not a well-formed record: trial: Input should be greater than or equal to 0",
    nothing_judged: "was judged in 0 cases, at 5 shapes",
    error_below_zero: "passes on level 'full' with -1.0 ULP of ",
    confirmed_on_the_same_inputs: "was judged on the trial's own inputs",
    other_flags: "names another text or other flags than the trial",
    bound_by_something_else: "says that arithmetic bounds it, its ceilings say memory",
    another_task_at_the_start: "is of task cube, which the run was not asked for",
    another_shape_at_the_start: "is at N=4096, which the run was not asked for",
    another_machine_at_the_start: "its environment is not the one that its digest names",
    trials_of_another_machine: "names another machine or sandbox (NVIDIA H200, T1) than the run (",
    another_trust: "claims trust level 'host', its device has 'native'",
    winner_passed_over: "says 'nothing-verified' though trial 0 was confirmed and timed",
    figure_in_words: "speaks of 55.0x, its confirmation of ",
    loss_called_busy: "says 'busy', its confirmation gives 'nothing-better'",
    nothing_at_the_end: "leaves results out that were recorded before",
    result_left_out: "ends without a result for trial 0, which was confirmed",
    better_one_passed_over: "publishes trial 9, and trial 0 was confirmed to be better",
    fault_of_a_sanitizer: "ends with trial 0, with which a sanitizer found fault",
}


TOLD = FOUND | INCONSISTENT


@pytest.mark.parametrize("change", TOLD, ids=lambda c: c.__name__)
def test_what_contradicts_itself_or_another_record_is_found_though_it_is_signed(
    change: Change, run: Path, tmp_path: Path
) -> None:
    problems = audit(resigned(run, tmp_path / "run", change)).problems
    assert any(TOLD[change] in p for p in problems), problems


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"artifact": "00" * 32}, "profiles other machine code than that of trial 0"),
        ({"dims": {"N": 1000}}, "profiles trial 0, which was not confirmed there"),
        ({"figures": {}}, "latency_s is 0.0, its samples give "),
        ({"lines": ["99 % of the ceiling"]}, "speaks of 99 in the lines of a profile, which its figures do not give"),
    ],
)
def test_a_profile_of_something_else_is_found(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    told = audit(resigned(CUBES, tmp_path / "run", lambda entries: first(entries, "profile").update(changes))).problems
    assert any(words in p for p in told), told


MODULE = Path(__file__).parents[3] / "runs" / "lab-cpu" / "runs" / "cumsum-f32"
"""A run of a module, whose record makes the task again without anybody's code."""


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("calibration", {"bytes": 1}, "counts 1 bytes, "),
        ("calibration", {"flops": 1}, "; the task has "),
        ("result", {"dtype": "float64"}, "speaks of float64, the task's outputs are float32"),
    ],
)
def test_what_a_module_moves_and_returns_is_held_against_its_record(
    kind: str, changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    folder = resigned(MODULE, tmp_path / "run", lambda entries: first(entries, kind).update(changes))
    shutil.copy(MODULE / "task.json", folder)
    told = audit(folder).problems
    assert any(words in p for p in told), told


def test_a_modules_baseline_cannot_be_exchanged_under_the_same_fingerprint(tmp_path: Path) -> None:
    """What the module's code calls is a baseline's graph; another one, slower, with its SHA-256 at the run's start."""
    record = json.loads((MODULE / "task.json").read_bytes())
    record["graph"]["written"] = copy.deepcopy(record["graph"])
    text = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()

    def change(entries: Bodies) -> None:
        entries[0][1]["files"]["task.json"] = sha256_hex(text)

    folder = resigned(MODULE, tmp_path / "run", change)
    (folder / "task.json").write_bytes(text)
    assert "task.json is another task than the one that the run names" in audit(folder).problems


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("fastest", "left_out"), [("torch-core", ""), ("torch.eager", "torch-core"), ("other", "torch")]
)
def test_on_a_gpu_the_baselines_are_a_gpus(fastest: str, left_out: str, tmp_path: Path) -> None:
    """A module's core operators are a baseline of that name on either; on a GPU torch is run in several ways."""
    torch = pytest.importorskip("torch")
    record = graphs.module_record(capture_object(torch.nn.functional.hardswish, (torch.rand(64, 32),), "swish"))
    task, text = module_task(record).on("cuda"), record.text()
    assert {"torch", "torch-core"} <= {*task.gpu_baselines}
    given = {"torch-core": ["torch-core", "torch.eager"], "torch.eager": ["torch.eager"], "other": ["torch-core"]}[
        fastest
    ]
    dims = dict(task.tune[0])
    stage = {
        "dims": dims, "task": task.name, "baselines": {name: [[1.0], [1.0]] for name in given}, "fastest": given[0],
        "bytes": task.least_bytes(dims), "written": sum(b.nbytes(dims) for b in task.outputs),
        "flops": task.least_flops(dims),
    }  # fmt: skip
    facts = {"name": task.name, "fingerprint": task.fingerprint(), "builtin": False}
    start = {**GENESIS, "task": facts, "shapes": [dims], "files": {"task.json": sha256_hex(text)},
             "settings": {**GENESIS["settings"], "device": "cuda"}}  # fmt: skip
    with Ledger.create(tmp_path / "run", start, SigningKey.generate()) as ledger:
        ledger.append("calibration", {**calibration().model_dump(mode="json"), **stage})
    (tmp_path / "run" / "task.json").write_bytes(text)
    told = [p for p in audit(tmp_path / "run").problems if "leaves baseline" in p]
    assert told == ([f"entry 1 (calibration): leaves baseline {left_out} of the task out"] if left_out else [])


def test_a_baseline_of_the_task_cannot_be_left_out_and_another_task_of_that_name_is_remarked(tmp_path: Path) -> None:
    task = TASKS["softmax"]
    dims = dict(task.tune[0])
    facts = {"name": "softmax", "fingerprint": task.on("cpu").fingerprint(), "builtin": True}
    stage = {
        "dims": dims, "task": "softmax", "baselines": {"numpy": [[1.0], [1.0]]}, "fastest": "numpy",
        "bytes": task.least_bytes(dims), "flops": task.least_flops(dims),
    }  # fmt: skip
    start = {**GENESIS, "task": facts, "shapes": [dims]}

    def audited(name: str, start: dict[str, Any]) -> Audit:
        with Ledger.create(tmp_path / name, start, SigningKey.generate()) as ledger:
            ledger.append("calibration", {**calibration().model_dump(mode="json"), **stage})
        return audit(tmp_path / name)

    assert any("leaves baseline torch of the task out" in p for p in audited("run", start).problems)
    missing = audited("missing", {**start, "missing_baselines": {"torch": "not installed"}})
    assert not any("leaves baseline" in p for p in missing.problems)
    other = audited("other", {**start, "task": {**facts, "fingerprint": "00"}})
    assert "task softmax is another than this version's: its bytes were not compared" in other.remarks
    assert not any("bytes" in p for p in other.problems)


@pytest.mark.parametrize(("checked", "kept", "dropped"), [(111, 111, 0), (111, 111, 110), (112, 111, 0)])
def test_a_confirmation_that_just_suffices_is_no_problem(
    checked: int, kept: int, dropped: int, run: Path, tmp_path: Path
) -> None:
    def change(entries: Bodies) -> None:
        timing = first(entries, "confirmation")["timing"]
        timing |= {"checked": checked, "dropped": [[1e-5, 4e-5]] * dropped}

    assert audit(resigned(run, tmp_path / "run", change)).problems == []


def test_a_list_of_abilities_by_rules_of_the_future_is_remarked_and_one_by_the_first_rules_is_checked(
    run: Path, tmp_path: Path
) -> None:
    def of(edition: int, said: list[str]) -> Change:
        def change(entries: Bodies) -> None:
            for kind, body in entries:
                if kind in ("trial", "confirmation") and body.get("artifact"):
                    body["artifact"] |= {"abilities_edition": edition, "abilities": said}

        return change

    future = audit(resigned(run, tmp_path / "future", of(99, ["plays chess"])))
    assert future.problems == []
    assert "lists of abilities by rules 99 were not checked: this version has no such" in future.remarks
    assert audit(resigned(run, tmp_path / "first", of(1, []))).problems == []
    forged = audit(resigned(run, tmp_path / "forged", of(1, ["reads a clock (time)"])))
    assert any("the record says that it reads a clock (time), and it does not" in p for p in forged.problems)


def test_more_than_fifty_problems_are_not_all_told(run: Path, tmp_path: Path) -> None:
    def change(entries: Bodies) -> None:
        trial = first(entries, "trial", "rejected")
        entries += [("trial", {**trial, "trial": 4711}) for _ in range(80)]

    report = audit(resigned(run, tmp_path / "run", change))
    assert len(report.problems) == 51
    assert report.problems[-1] == "and more"


def test_the_root_that_was_written_down_is_compared(run: Path) -> None:
    assert audit(run, audit(run).root).ok
    told = f"the root is {audit(run).root}, not deadbeef: the ledger was cut, continued or exchanged"
    assert audit(run, "deadbeef").problems == [told]


def test_an_unfinished_run_passes_and_says_that_it_has_not_ended(run: Path, tmp_path: Path) -> None:
    report = audit(resigned(run, tmp_path / "run", lambda entries: drop(entries, "end")))
    assert (report.problems, report.ended) == ([], False)


def pruned_copy(run: Path, target: Path) -> Path:
    """Only its owner can prune a run."""
    resigned(run, target, lambda _: None, load_or_create_key())
    assert prune(target).removed > 0
    return target


def test_a_pruned_run_passes_ended_and_keeps_what_a_claim_rests_on(run: Path, own_home: None, tmp_path: Path) -> None:
    folder = pruned_copy(run, tmp_path / "run")
    report = audit(folder)
    assert report.problems == []
    assert report.ended
    assert report.pruned > 0
    assert report.blobs + report.pruned == audit(run).blobs
    entries = {e.kind: dict(e.body) for e in read_entries(folder)}
    trials = [dict(e.body) for e in read_entries(folder) if e.kind == "trial"]
    confirmed = trials[entries["confirmation"]["trial"]]
    kept = (confirmed["proposal"]["source"], *(confirmed["artifact"][k] for k in ("code", "plans", "log")))
    assert not set(kept) & set(entries["pruned"]["blobs"])
    assert prune(folder).removed == 0


def test_what_was_lost_and_not_pruned_is_still_found(run: Path, own_home: None, tmp_path: Path) -> None:
    folder = pruned_copy(run, tmp_path / "run")
    next(p for p in sorted((folder / "artifacts").rglob("*")) if p.is_file()).unlink()
    (problem,) = audit(folder).problems
    assert "is missing from" in problem


def test_pruning_the_evidence_of_a_claim_does_not_pass(run: Path, tmp_path: Path) -> None:
    def prune_it(entries: Bodies) -> None:
        trials = [b for k, b in entries if k == "trial"]
        code = trials[first(entries, "confirmation")["trial"]]["artifact"]["code"]
        entries.append(("pruned", {"blobs": [code]}))

    problems = audit(resigned(run, tmp_path / "run", prune_it)).problems
    assert any("was confirmed, and its source or machine code was pruned" in p for p in problems)


def test_a_pruning_entry_that_is_none_is_a_problem_not_a_crash(run: Path, tmp_path: Path) -> None:
    folder = resigned(run, tmp_path / "run", lambda entries: entries.append(("pruned", {"files": 3})))
    assert any("is not a well-formed record" in p for p in audit(folder).problems)
