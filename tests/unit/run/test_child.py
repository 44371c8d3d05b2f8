"""What a sample's process is left with, from inside."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernellab.build.base import Built
from kernellab.run import cpu
from kernellab.run.arena import Arena
from kernellab.run.base import Call
from kernellab.sandbox.host import Sandbox

pytestmark = pytest.mark.backend_c
SOURCE = """#include <sys/stat.h>
#include <unistd.h>
static int opened_early;
__attribute__((constructor)) static void count(void) {
    struct stat s;
    for (int fd = 0; fd < 1000; fd++) opened_early += !fstat(fd, &s);
}
void k(const float *x, float *y, long n) {
    struct stat s;
    int opened = 0;
    for (int fd = 0; fd < 1000; fd++) opened += !fstat(fd, &s);
    y[0] = opened; y[1] = opened_early; y[2] = lseek(1, 0, SEEK_CUR) + write(1, "x", 1); y[3] = write(2, "x", 1);
}"""


def test_only_the_channel_and_a_log_of_its_own_are_open(sandbox: Sandbox, build: Callable[..., Built]) -> None:
    inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
    call = Call({"N": 16}, (inputs.declare((16,), "float32"),), (outputs.declare((16,), "float32"),))
    inputs.open()
    outputs.open()
    worker = cpu.start(sandbox, build(SOURCE), inputs, outputs, [call], 1, (0,))
    try:
        worker.run([0], 5.0)
        worker.run([0], 5.0)
        found = outputs.array(call.outputs[0])[:4].tolist()
    finally:
        worker.close()
        inputs.close()
        outputs.close()
    assert found[:2] == [4, 4]  # 0, 1, 2 and the channel, and no more while it is loaded
    assert found[2:] == [1, 1]
