from __future__ import annotations

import dataclasses

import pytest

from kernellab.build.base import Candidate
from kernellab.propose.base import Idea


def test_an_idea_comes_from_a_recipe_unless_said_otherwise_and_is_frozen() -> None:
    idea = Idea(Candidate("text", "name"), {"A": 1}, "because")
    assert idea.origin == "recipe"
    with pytest.raises(dataclasses.FrozenInstanceError):
        idea.why = "other"  # type: ignore[misc]
