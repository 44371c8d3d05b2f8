"""A certified C kernel as a plain C file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.build.base import Candidate
from kernellab.certify.c_text import CKernel, Launch, body_of, read_c_kernel, work_of
from kernellab.certify.certificate import Certificate
from kernellab.certify.confirmed_trial import prove_trial
from kernellab.certify.lift import Lifted, LiftedStep
from kernellab.core.errors import EnvironmentFault
from kernellab.tasks.builtin import TASKS

pytestmark = pytest.mark.backend_c


@pytest.mark.heavy
def test_parameters_become_macros_and_the_laboratorys_own_flags_go(
    issued: tuple[Certificate, Path], copied: Path
) -> None:
    certificate, _ = issued
    source = prove_trial(copied, certificate.evidence.trial).source
    kernel = read_c_kernel(TASKS["softmax"], certificate, Candidate(source, certificate.kernel.name))
    assert kernel.launch.lifted is not None
    assert kernel.launch.lifted.shapes == 72
    assert "#define KLAB_THREADS 1" in kernel.defines
    for name in certificate.kernel.params:
        assert any(line.startswith(f"#define {name} ") for line in kernel.defines)
    assert not [f for f in kernel.flags if f.startswith(("-D", "-shared", "-Wl", "-W"))]
    assert "-O3" in kernel.flags


@pytest.mark.heavy
def test_a_launch_that_refuses_shapes_is_a_table_of_those_it_was_judged_at(
    issued: tuple[Certificate, Path], copied: Path
) -> None:
    certificate, _ = issued
    source = prove_trial(copied, certificate.evidence.trial).source
    judged = {(d["M"], d["N"]) for d in (*TASKS["softmax"].edge, *TASKS["softmax"].held_out)} | {(96, 64)}
    picky = (
        source
        + f"""
_plain = launch
def launch(x, y, **params):
    if tuple(x.shape) not in {judged!r}:
        raise ValueError("not that one")
    _plain(x, y, **params)
"""
    )
    kernel = read_c_kernel(TASKS["softmax"], certificate, Candidate(picky, "picky"))
    assert kernel.launch.lifted is None
    assert kernel.launch.shapes == [{"M": 96, "N": 64}, *TASKS["softmax"].edge]  # and no held-out one


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('SOURCE = SOURCE + "/* other */"', "another SOURCE or other FLAGS than when it was certified"),
        ("FLAGS = [*FLAGS, '-fno-math-errno']", "another SOURCE or other FLAGS than when it was certified"),
        ("_plain = launch\ndef launch(x, y, **params):\n    _plain(x, y, **params)\n    _plain(x, y, **params)\n",
         "launches otherwise at"),
    ],
)  # fmt: skip
def test_what_comes_out_otherwise_than_it_was_certified_is_not_exported(
    more: str, words: str, issued: tuple[Certificate, Path], copied: Path
) -> None:
    certificate, _ = issued
    source = prove_trial(copied, certificate.evidence.trial).source
    with pytest.raises(EnvironmentFault, match=words):
        read_c_kernel(TASKS["softmax"], certificate, Candidate(f"{source}\n{more}\n", certificate.kernel.name))


def test_grids_become_loops_and_scratch_is_laid_out_in_order() -> None:
    step = LiftedStep("k", ("dim_M", "2"), ("(void *)buf_x", "scratch[1]"))
    lifted = Lifted(("4LL", "8LL * dim_M"), (step,), 9)
    text = body_of(lifted, "")
    assert text.index("scratch[0]") < text.index("scratch[1]") < text.index("for (long a = 0; a < dim_M")
    assert "b < 2; b++" in text
    assert "k((void *)buf_x, scratch[1]);" in text
    assert work_of(lifted) == "ROUND64(4LL) + ROUND64(8LL * dim_M)"
    assert work_of(Lifted((), (), 1)) == "0"


GRID = Lifted((), (LiftedStep("k", ("dim_M",), ()),), 1)
PLAIN = Lifted((), (LiftedStep("k", None, ()),), 1)


@pytest.mark.parametrize(
    ("source", "threads", "launch", "threaded", "uncounted"),
    [
        ("#pragma omp simd", 2, PLAIN, False, False),
        ("#pragma omp parallel for num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)", 1, PLAIN, False, False),
        ("#pragma omp parallel for num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)", 2, PLAIN, True, False),
        ("#pragma omp parallel for num_threads(4)", 1, PLAIN, True, False),
        ("#pragma omp parallel for schedule(static)", 1, PLAIN, False, True),
        ("#pragma omp parallel for schedule(static)", 2, PLAIN, True, True),
        ('_Pragma("omp parallel for")', 2, PLAIN, True, True),
        ("", 2, GRID, True, False),
        ("", 1, GRID, False, False),
    ],
)
def test_whether_openmp_may_start_threads(
    source: str, threads: int, launch: Lifted, threaded: bool, uncounted: bool
) -> None:
    kernel = CKernel((), ("-O3", "-fopenmp"), source, Launch(launch, ()), threads)
    assert (kernel.threaded, kernel.uncounted) == (threaded, uncounted)
    without = CKernel((), ("-O3",), source, Launch(launch, ()), threads)
    assert (without.threaded, without.uncounted) == (False, False)
