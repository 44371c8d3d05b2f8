"""A registered plan is derived again from the record, or it is said why not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.recorded import GENESIS
from tests.unit.search.memory.specimens import measured

from kernellab.core.errors import UsageError
from kernellab.core.ids import sha256_hex
from kernellab.ledger.records import Genesis
from kernellab.propose.recipe import builtin_candidates
from kernellab.studies.design import key_of_trial
from kernellab.studies.evidence import Borrowed, Evidence
from kernellab.studies.hypothesis import Hypothesis
from kernellab.studies.plan import planned, stated
from kernellab.studies.registration import registration

STATED = 'TASKS = ("softmax",)\nSPACE = {"B": [2, 1], "A": ("x", "y")}\n'
COMPUTED = 'SPACE = {"B": [2 - n for n in (0, 1)], "A": ["x", "y"]}\n'
SPACE = [["B", [2, 1]], ["A", ["x", "y"]]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SPACE = {'A': [1]}", {"A": [1]}),
        ("SPACE: dict = {'A': [1]}", {"A": [1]}),
        (
            "SPACE = {'A': list(range(1, 4)), 'B': range(2), 'C': tuple(['x'])}",
            {"A": [1, 2, 3], "B": [0, 1], "C": ["x"]},
        ),
        ("SPACE = {'A': range(10**9)}", None),
        ("SPACE = {'A': sorted([2, 1])}", None),
        ("SPACE = {'A': list(5)}", None),
        ("x = 1", {}),
        (COMPUTED, None),
        ("SPACE = {'A': [1]}\nSPACE['B'] = [2]", None),
        ("SPACE = {'A': [1]}\nif x:\n    SPACE = {}", None),
    ],
)
def test_what_a_file_states_is_read_without_running_it(text: str, value: object) -> None:
    assert stated(text, "SPACE") == value


def hypothesis(statistic: str = "transfer-loss", **population: Any) -> Hypothesis:
    given = {
        "device": "cpu",
        "tasks": ["softmax"],
        "shapes": ["64x128", "64x256"],
        "candidates": ["rows.py"],
        **population,
    }
    part = {"name": "p", "prediction": "p", "statistic": statistic, "rule": {"side": "at-most", "bound": 0.2}}
    return Hypothesis.model_validate(
        {"id": "T", "title": "t", "claim": "c", "sample": 1, "seeds": [1, 2], "population": [given], "part": [part]}
    )


def begun(name: str = "softmax", builtin: bool = True, shapes: Any = ()) -> Genesis:
    task = {"name": name, "fingerprint": "ab" * 32, "builtin": builtin}
    return Genesis.model_validate({**GENESIS, "task": task, "shapes": list(shapes), "environment": {"device": "D"}})


def derived(
    asked: Hypothesis, texts: dict[str, str], task: str = "", shapes: Any = (), lent: Any = (), **body: Any
) -> dict[str, set[str]]:
    stored = {sha256_hex(t.encode()): t for t in texts.values()}
    known = {n: sha256_hex(t.encode()) for n, t in texts.items()}
    registered = registration(asked, "cpu", known, [], 0, None).model_copy(update=body)
    start = begun(name=task or "softmax", builtin=not task, shapes=list(shapes))
    return planned(asked, registered, start, Evidence(borrowed=list(lent), read=lambda sha: stored.get(sha, "")))


def test_every_combination_at_every_shape_in_every_replicate() -> None:
    found = derived(hypothesis(distributions=["normal"]), {"rows": STATED}, spaces={"rows": SPACE})
    assert len(found) == 2 * 2 * 4
    trial = measured(0, 1.0, text=STATED, params={"A": "x", "B": 2}, dims={"M": 64, "N": 128}, seed=2)
    assert found[key_of_trial(trial)] == {"normal"}
    assert key_of_trial(trial, seed=3) not in found
    assert derived(hypothesis(distributions=["normal"]), {"rows": STATED}) == found  # an older record: by the source


def test_a_computed_space_stands_as_it_was_registered_and_must_be() -> None:
    assert len(derived(hypothesis(), {"rows": COMPUTED}, spaces={"rows": SPACE})) == 16
    with pytest.raises(UsageError, match="computes its SPACE"):
        derived(hypothesis(), {"rows": COMPUTED})


@pytest.mark.parametrize(
    ("text", "words"),
    [("SPACE = 5", "is no mapping"), ("SPACE = {", "cannot be read"), ("-" * 100_000 + "1", "cannot be read")],
)
def test_a_source_that_says_nothing_sensible_is_told(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        derived(hypothesis(), {"rows": text})


@pytest.mark.parametrize("registered", [SPACE[:1], SPACE[::-1], [["B", [2]], ["A", ["x", "y"]]]])
def test_another_space_than_the_sources_is_refused(registered: Any) -> None:
    with pytest.raises(UsageError, match="not the one in its source"):
        derived(hypothesis(), {"rows": STATED}, spaces={"rows": registered})


def test_the_candidates_are_those_of_the_hypothesis() -> None:
    with pytest.raises(UsageError, match="rows of the hypothesis is not registered"):
        derived(hypothesis(), {"others": STATED})
    with pytest.raises(UsageError, match="others is registered, and no population speaks of it"):
        derived(hypothesis(), {"rows": STATED, "others": STATED})
    with pytest.raises(UsageError, match="rows is not in the store"):
        planned(hypothesis(), registration(hypothesis(), "cpu", {"rows": "0"}, [], 0, None), begun(), Evidence())


def test_every_built_in_recipe_is_every_registered_one_that_names_the_task() -> None:
    known = {c.name: c.text for c in builtin_candidates("softmax")}
    found = derived(hypothesis(candidates=[], most=1), known)
    assert len(found) == 2 * 2 * len(known)


def test_the_shapes_of_a_task_file_are_those_of_the_record() -> None:
    asked = hypothesis(tasks=["mine.py"], shapes=["64x32", "M=32, N=64"], most=1)
    shapes = [{"M": 64, "N": 32}, {"M": 32, "N": 64}]
    found = derived(asked, {"rows": STATED}, "mine", shapes)
    assert len(found) == 4
    with pytest.raises(UsageError, match="not those of the population"):
        derived(asked, {"rows": STATED}, "mine", shapes[:1])
    with pytest.raises(UsageError, match=r"does not name the task of mine\.py"):
        derived(asked, {"rows": STATED}, "", shapes)


def test_what_is_borrowed_is_tried_in_every_replicate() -> None:
    trials = [measured(n, 1.0, device=d, dims={"M": 64, "N": 128}) for n, d in enumerate(("Other", "D", "Other"))]
    lent = [Borrowed(study="T", run="r", root="0", trial=t) for t in trials]
    found = derived(hypothesis("retention"), {}, lent=lent)
    assert set(found) == {key_of_trial(trials[0], seed) for seed in (1, 2)}  # not what was measured on this device
