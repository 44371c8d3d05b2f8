from __future__ import annotations

import platform
from pathlib import Path
from typing import Literal

import pytest

from kernellab.core.errors import EnvironmentFault
from kernellab.sandbox.tiers import ORDER, open_sandbox, survey


def test_at_least_one_tier_starts_here_and_the_others_give_a_reason() -> None:
    answers = survey()
    assert list(answers) == list(ORDER)
    assert "available" in answers.values()
    assert all(answers.values())


def test_auto_takes_the_strongest_tier() -> None:
    strongest = next(tier for tier, answer in survey().items() if answer == "available")
    with open_sandbox("auto", []) as sandbox:
        assert sandbox.tier == strongest


def test_no_sandbox_only_by_name() -> None:
    with open_sandbox("none", []) as sandbox:
        assert sandbox.tier == "T0"


@pytest.mark.parametrize("wanted", ["auto", "T1"])
def test_an_unknown_architecture_is_a_clear_fault(
    monkeypatch: pytest.MonkeyPatch, wanted: Literal["auto", "T1"]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(EnvironmentFault, match="riscv64") as caught:
        open_sandbox(wanted, [])
    assert "x86_64" in caught.value.fix


def test_a_tier_that_starts_with_nothing_but_threads_in_the_way_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if survey()["T1"] != "available":
        pytest.skip("no namespaces here")
    (tmp_path / "starts_a_thread.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, name='own_thread', daemon=True).start()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EnvironmentFault, match=r"started threads.*own_thread"):
        open_sandbox("T1", ["starts_a_thread"])


def test_a_tier_that_does_not_work_is_known_before_anything_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name too long for any file: the private root cannot be made, and the module was not touched."""
    came = tmp_path / "came"
    (tmp_path / "leaves_a_trace.py").write_text(f"open({str(came)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EnvironmentFault, match="T1 does not start"):
        open_sandbox("T1", ["leaves_a_trace"], self_exe="x" * 5000)
    assert not came.exists()
