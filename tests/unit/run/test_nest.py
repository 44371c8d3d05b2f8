"""The forking process in every tier that starts here, seen through the samples that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kernellab.build import c as c_backend
from kernellab.build.base import Built
from kernellab.core.errors import EnvironmentFault
from kernellab.run import cpu
from kernellab.run.arena import Arena
from kernellab.run.base import Call, WorkerFault
from kernellab.sandbox.accounts import states
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import ORDER
from kernellab.sandbox.zygote import NAMESPACED

pytestmark = pytest.mark.backend_c
TELLS = """#include <unistd.h>
#include <stdlib.h>
void k(const float *x, float *y, long n) { y[0] = getpid(); y[1] = getppid(); if (x[0] == 3) exit(3); if (x[0] == 6) abort(); }"""


@pytest.fixture(scope="module", params=ORDER)
def tier(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    try:
        opened = Sandbox(request.param, (*c_backend.PRELOAD, *cpu.PRELOAD))
    except EnvironmentFault as fault:
        pytest.skip(fault.what)
    with opened:
        yield opened


def test_children_are_alike_die_with_words_and_do_not_outlive_their_parent(
    tier: Sandbox, build: Callable[..., Built]
) -> None:
    inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
    call = Call({"N": 16}, (inputs.declare((16,), "float32"),), (outputs.declare((16,), "float32"),))
    inputs.open()
    outputs.open()
    x, y = inputs.array(call.inputs[0]), outputs.array(call.outputs[0])
    worker = cpu.start(tier, build(TELLS), inputs, outputs, [call], 1, (0,))
    try:
        for _ in range(3):
            worker.run([0], 5.0, steady=True)
            if tier.tier in NAMESPACED:
                assert y[:2].tolist() == [1, 0]
        assert worker.remarks() == {}
        for value, words in ((3, "exit code 3"), (6, "SIG(ABRT|TRAP|SEGV|ILL)")):
            x[0] = value
            with pytest.raises(WorkerFault, match=f"{words}.* during a call"):
                worker.run([0], 5.0)
        x[0] = 0
        worker.prepare([0], 5.0)
        worker.begin([0])
        worker._learn(worker._samples[-1])
        pids = [*(s.process.pid for s in worker._samples), worker._nest.job.pid]
    finally:
        worker.close()
        inputs.close()
        outputs.close()
    while any(states(pid) - {"Z"} for pid in pids):  # they are told to end, and nobody waits for that
        pass
