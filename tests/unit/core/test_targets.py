"""The list of targets, and what can be asked of it. A new target is in tests/unit/targets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kernellab.core.errors import UsageError
from kernellab.core.targets import (
    backends,
    default_language,
    devices,
    devices_of,
    export_of,
    fact_titles,
    home_of,
    language,
    languages,
    platform_facts,
    recognised,
    recorded_machine,
    sizes_key,
    targets,
    title_of,
)

H200 = "NVIDIA H200 (sm_90a, 132 SMs)"


def test_the_words_of_records_are_those_of_the_list() -> None:
    assert [t.name for t in targets()] == ["cpu-c", "cuda-triton", "cuda-cpp"]
    assert (backends(), devices()) == (["c", "triton", "cuda"], ["cpu", "cuda"])
    assert [(name, devices_of(name), home_of(name)) for name in backends()] == [
        ("c", ("cpu",), "cpu"), ("triton", ("cuda",), "cuda"), ("cuda", ("cuda",), "cuda"),
    ]  # fmt: skip
    assert [default_language(kind) for kind in devices()] == ["c", "triton"]
    assert [title_of(name) for name in (*backends(), "hip")] == ["C", "Triton", "CUDA C++", "hip"]


def test_what_is_not_in_the_list_is_named_with_what_is() -> None:
    with pytest.raises(UsageError, match="no target here is written in 'hip'") as caught:
        language("hip")
    assert "c, triton, cuda" in caught.value.fix
    with pytest.raises(UsageError, match="no target here runs on 'hip'"):
        platform_facts("hip")
    assert devices_of("hip") == ()


def test_a_text_that_shows_no_language_is_told_from_one_that_does() -> None:
    assert recognised("") is None
    assert [getattr(recognised(text), "name", "") for text in ("SOURCE", "import triton\n__global__", "__global__")] == [
        "c", "triton", "cuda",
    ]  # fmt: skip


def test_a_recorded_name_tells_the_platform_and_its_machine() -> None:
    known, machine = recorded_machine(H200)
    assert machine is not None
    assert (known.kind, machine.architecture, machine.generation, machine.processors) == (
        "cuda",
        "sm_90a",
        "sm_90",
        132,
    )
    assert recorded_machine("Neoverse-N1 (aarch64, 2 cores)") == (platform_facts("cpu"), None)


def test_shapes_and_words_of_the_environment_belong_to_a_platform() -> None:
    assert [sizes_key(kind) for kind in ("cpu", "cuda", "hip")] == ["", "cuda", ""]
    assert fact_titles() == {"driver": "driver", "cuda": "CUDA driver API"}


def test_every_shipped_language_has_recipes_and_can_be_exported() -> None:
    for known in languages():
        assert known.recipes is not None
        assert known.recipes.is_dir()
        assert export_of(known.name).alignment >= 16


def test_asking_the_list_imports_nothing_heavy() -> None:
    """Confined processes and short commands ask it too."""
    heavy = "('kernellab.build.c', 'kernellab.run.driver', 'kernellab.measurement.rig', 'triton', 'torch')"
    text = f"import sys; from kernellab.core.targets import targets; targets(); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
