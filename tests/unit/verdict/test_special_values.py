"""Kernels that are wrong at exact zeros, ties and ends of rows alone are refused every time, whatever is drawn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.settings import Settings
from kernellab.targets.base import DeviceSetup, platform
from kernellab.tasks.builtin import TASKS
from kernellab.verdict.cases import CaseTable, screen_cases, shapes_of
from kernellab.verdict.judge import Judge

pytestmark = pytest.mark.backend_c
JUDGEMENTS = 12
TASK = TASKS["softmax"]
KERNEL = r"""
#include <math.h>
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float top = -INFINITY, *b = y + i * n;
        double sum = 0;
        long seen = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""
EXP = "b[j] = expf(a[j] - top)"
WRONG = {
    "zero adds nothing": (EXP, "b[j] = a[j] == 0.0f ? 0 : expf(a[j] - top)"),
    "zero is -inf in the last place": (EXP, "b[j] = a[j] == 0.0f && j == n - 1 ? 0 : expf(a[j] - top)"),
    "minus zero is negative": (EXP, "b[j] = a[j] == 0.0f && signbit(a[j]) ? 0 : expf(a[j] - top)"),
    "one maximum": ("expf(a[j] - top);\n", "expf(a[j] - top) * !(a[j] == top && seen++);\n"),
    "maximum from zero": ("top = -INFINITY", "top = 0.0f"),
    "maximum from the smallest": ("top = -INFINITY", "top = -100.0f"),
}


@pytest.fixture(scope="module")
def device(own_home: None) -> Iterator[DeviceSetup]:
    opened = platform("cpu").open(Settings(effort="quick"), TASK, torch=False)
    try:
        yield opened
    finally:
        opened.close()


def statuses(device: DeviceSetup, source: str) -> list[str]:
    text = f'SOURCE = r"""{source}"""\n\n\ndef launch(x, y):\n    m, n = x.shape\n    kernel("softmax")(x, y, m, n)\n'
    cases = screen_cases(TASK)
    built = device.builder.build(TASK, Candidate(text, "softmax"), {}, shapes_of(cases, cases[0].dims))
    assert not isinstance(built, NotBuilt), built.reason
    found = []
    for number in range(JUDGEMENTS):
        with CaseTable(TASK, cases, bytes([number]) * 32) as table:
            found.append(Judge(device.rig.device).verify(built, table, "screen").status)
    return found


def test_the_right_kernel_passes_every_time(device: DeviceSetup) -> None:
    assert statuses(device, KERNEL) == ["passed"] * JUDGEMENTS


@pytest.mark.parametrize("what", WRONG)
def test_a_kernel_that_is_wrong_in_one_special_case_is_refused_every_time(what: str, device: DeviceSetup) -> None:
    before, after = WRONG[what]
    assert KERNEL.count(before) == 1
    assert statuses(device, KERNEL.replace(before, after)) == ["rejected"] * JUDGEMENTS
