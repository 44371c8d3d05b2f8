"""Building without running: what comes out for every shape, or the compiler's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.build.base import Built, Candidate
from kernellab.core.errors import EXIT_NOTHING_VERIFIED, UsageError
from kernellab.core.settings import Settings
from kernellab.search.construct import construct

pytestmark = pytest.mark.backend_c
SETTINGS = Settings(cache=False)


@pytest.fixture(scope="module")
def cube(task_file: Path) -> Candidate:
    return Candidate(task_file.read_text(), "cube")


def test_a_candidate_is_built_for_every_shape_that_a_claim_rests_on(task_file: Path, cube: Candidate) -> None:
    made = construct(str(task_file), cube, SETTINGS, {"N": 65536}, {"STEP": 2})
    assert isinstance(made.built, Built)
    assert [part.dims["N"] for part in made.built.parts] == [65536, 1, 7, 1025, 5003]
    assert made.exit_code == 0
    said = made.data()
    assert (said["status"], said["reason"], said["shapes"]) == ("built", "", 5)
    assert (said["task"], said["dims"], said["params"]) == ("cube", {"N": 65536}, {"STEP": 2, "BAD": 0})
    assert said["launches"] == [
        {"kernel": "cube", "grid": None, "block": None, "shared": 0, "cluster": None, "cooperative": False}
    ]
    assert said["scratch_bytes"] == []


def test_without_a_shape_the_smallest_tuned_one_is_taken(task_file: Path, cube: Candidate) -> None:
    assert construct(str(task_file), cube, SETTINGS).dims == {"N": 32768}


@pytest.mark.heavy
def test_held_out_shapes_are_not_shown_to_a_candidate_whose_author_listens(task_file: Path, cube: Candidate) -> None:
    made = construct(str(task_file), cube, SETTINGS, {"N": 65536}, discreet=True)
    assert isinstance(made.built, Built)
    assert [part.dims["N"] for part in made.built.parts] == [65536, 1, 7, 1025]
    asked = construct(str(task_file), cube, SETTINGS, {"N": 5003}, discreet=True)  # what is asked for is no secret
    assert isinstance(asked.built, Built)
    assert asked.built.parts[0].dims == {"N": 5003}


@pytest.mark.heavy
def test_what_does_not_build_ends_with_its_own_exit_code_and_reason(task_file: Path, cube: Candidate) -> None:
    broken = Candidate(cube.text.replace("long n) {", "long n) { nonsense"), "broken")
    made = construct(str(task_file), broken, SETTINGS, {"N": 65536})
    assert made.exit_code == EXIT_NOTHING_VERIFIED
    assert made.kernels() == []
    assert made.data()["status"] == "build-failed"
    assert "nonsense" in made.data()["reason"]
    refused = construct(str(task_file), cube, SETTINGS, {"N": 65536}, {"STEP": 0})
    assert (refused.data()["status"], refused.data()["reason"]) == ("invalid", "a step of nothing")


def test_c_has_no_listings_and_unknown_parameters_are_named(task_file: Path, cube: Candidate) -> None:
    with pytest.raises(UsageError, match="it has neither PTX nor SASS"):
        construct(str(task_file), cube, SETTINGS, listings=("ptx",))
    with pytest.raises(UsageError, match="cube has no parameter 'WIDTH'") as fault:
        construct(str(task_file), cube, SETTINGS, params={"WIDTH": 4})
    assert fault.value.fix == "the names in its SPACE: STEP, BAD"
