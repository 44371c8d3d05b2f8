from __future__ import annotations

import dataclasses

import pytest

from kernellab.core.events import Event, silent


def test_an_event_is_frozen_and_its_data_is_its_own() -> None:
    first, second = Event("note", "a"), Event("note", "b")
    first.data["x"] = 1
    assert second.data == {}
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.text = "c"  # type: ignore[misc]


def test_the_silent_listener_accepts_everything() -> None:
    assert silent(Event("end", "over", {"status": "better"})) is None
