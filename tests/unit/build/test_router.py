from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernellab.build.base import Built, Candidate, Described, NotBuilt
from kernellab.build.router import Router, backend_of
from kernellab.core.records import Param
from kernellab.tasks.spec import Dims, Task

C = "SOURCE = r'''void k(void) {}'''\n"
CUDA = "SOURCE = r'''__global__ void k() {}'''\n"
TRITON = "import triton, triton.language as tl\n@triton.jit\ndef k(x): pass\n"


class Builder:
    """Says which back end was asked."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def describe(self, candidate: Candidate) -> Described | NotBuilt:
        return Described({}, [], self.backend)

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt:
        return NotBuilt("invalid", f"{self.backend} {params} {list(shapes)}")


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        (C, "c"), (CUDA, "cuda"), (TRITON, "triton"), ("from triton import language\n", "triton"), ("", "c"),
        ("def f():\n    import triton\n", "triton"), ("@triton.jit\ndef k(): pass\n", "triton"),
        ("import triton_like\n" + C, "c"), ("# not triton\n" + CUDA, "cuda"),
    ],
)  # fmt: skip
def test_a_file_goes_to_the_back_end_it_is_written_for(text: str, backend: str) -> None:
    assert backend_of(text) == backend


def test_the_builder_of_the_files_back_end_is_asked(double_task: Task) -> None:
    router = Router("cuda", {"cuda": Builder("cuda"), "triton": Builder("triton")}, {})
    for text, backend in ((CUDA, "cuda"), (TRITON, "triton")):
        described = router.describe(Candidate(text, "x"))
        assert isinstance(described, Described)
        assert described.about == backend
        built = router.build(double_task, Candidate(text, "x"), {"A": 1}, [{"N": 2}])
        assert built == NotBuilt("invalid", f"{backend} {{'A': 1}} [{{'N': 2}}]")


@pytest.mark.parametrize(
    ("device", "text", "reason"),
    [
        ("cpu", CUDA, "is a kernel for --device cuda (cuda), this run is on cpu"),
        ("cpu", TRITON, "is a kernel for --device cuda (triton), this run is on cpu"),
        ("cuda", C, "is a kernel for --device cpu (c), this run is on cuda"),
        ("cuda", CUDA, "NVRTC is not installed"),
        ("cuda", TRITON, "there is no triton back end here"),
    ],
)
def test_a_file_without_a_back_end_gets_a_reason(device: str, text: str, reason: str, double_task: Task) -> None:
    router = Router(device, {}, {"cuda": "NVRTC is not installed"})
    expected = NotBuilt("build-failed", reason)
    assert router.describe(Candidate(text, "x")) == expected
    assert router.build(double_task, Candidate(text, "x"), {}, []) == expected


def test_a_back_end_that_is_missing_altogether_is_told_from_a_file_that_does_not_build() -> None:
    router = Router("cuda", {"triton": Builder("triton")}, {"cuda": "NVRTC is not installed"})
    assert router.lacks(Candidate(CUDA, "x")) == "NVRTC is not installed"
    assert router.lacks(Candidate(TRITON, "x")) == ""
    assert router.lacks(Candidate(C, "x")) == ""
