from __future__ import annotations

import dataclasses

import pytest

from kernellab.build.base import Candidate, NotBuilt
from kernellab.build.c import CBuilder


def test_a_candidate_and_a_reason_are_frozen() -> None:
    for thing, name in ((Candidate("text", "name"), "text"), (NotBuilt("invalid", "because"), "reason")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, "other")


def test_the_c_back_end_offers_what_the_protocol_asks_for(builder: CBuilder) -> None:
    assert builder.backend == "c"
    assert callable(builder.build)
    assert callable(builder.describe)
