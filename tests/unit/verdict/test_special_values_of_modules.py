"""Kernels of captured modules that are wrong for values alone which chance never draws are refused every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.build.base import Built, Candidate, NotBuilt  # noqa: E402
from kernellab.core.settings import Settings  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.source import Request  # noqa: E402
from kernellab.targets.base import DeviceSetup, platform  # noqa: E402
from kernellab.tasks.builtin import TASKS  # noqa: E402
from kernellab.tasks.modules.importing import record_of  # noqa: E402
from kernellab.tasks.modules.task import module_task  # noqa: E402
from kernellab.tasks.spec import Task  # noqa: E402
from kernellab.tasks.suites.base import Problem  # noqa: E402
from kernellab.verdict.cases import Case, CaseTable, screen_cases, shapes_of  # noqa: E402
from kernellab.verdict.judge import Judge  # noqa: E402

pytestmark = pytest.mark.backend_c
JUDGEMENTS = 3
ROWS = torch.randn(32, 24)


class Weighted(torch.nn.Module):
    """A function of x and a weight above zero, which is no input: nothing is planted into it, and its sizes are fixed."""

    def __init__(self, function: Callable[..., Any], *shape: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(*shape, 24) + 0.5)
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x, self.weight)


@dataclass(frozen=True)
class Subject:
    """`wrong`: a text of the kernel, and what stands there in one that is wrong."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    kernel: str
    wrong: tuple[str, str]
    sizes: str = "x.shape[0], x.shape[1]"


SUBJECTS = {
    "maximum from zero": Subject(
        Weighted(lambda x, w: (x * w).amax(1)),
        (ROWS,),
        """void f(const float *w, const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float top = -INFINITY;
        for (long j = 0; j < n; j++) top = fmaxf(top, x[i * n + j] * w[j]);
        y[i] = top;
    }
}""",
        ("top = -INFINITY", "top = 0"),
    ),
    "softmax from -100": Subject(
        Weighted(lambda x, w: (x * w).softmax(1)),
        (ROWS,),
        """void f(const float *w, const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = fmaxf(top, x[i * n + j] * w[j]);
        for (long j = 0; j < n; j++) sum += y[i * n + j] = expf(x[i * n + j] * w[j] - top);
        for (long j = 0; j < n; j++) y[i * n + j] /= sum;
    }
}""",
        ("top = -INFINITY", "top = -100"),
    ),
    "the last row of a table": Subject(
        Weighted(lambda x, w: w[x], 50_000),
        (torch.randint(0, 50_000, (32,)),),
        """void f(const float *w, const long *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) memcpy(y + i * n, w + (x[i] < 49999 ? x[i] : 49999) * n, 4 * n);
}""",
        ("? x[i] : 49999", "? x[i] : 49998"),
        "x.shape[0], 24",
    ),
    "the number that is compared with": Subject(
        Weighted(lambda x, w: torch.where(x < 0.75, x, x + 10) * w),
        (ROWS,),
        """void f(const float *w, const float *x, float *y, long m, long n) {
    for (long i = 0; i < m * n; i++) y[i] = (x[i] < 0.75f ? x[i] : x[i] + 10) * w[i % n];
}""",
        ("x[i] < 0.75f", "x[i] <= 0.75f"),
    ),
    "halves": Subject(
        Weighted(lambda x, w: x.round() * w),
        (ROWS,),
        """void f(const float *w, const float *x, float *y, long m, long n) {
    for (long i = 0; i < m * n; i++) y[i] = rintf(x[i]) * w[i % n];
}""",
        ("rintf", "roundf"),
    ),
    "a row that is masked as a whole": Subject(
        lambda x, mask: x.masked_fill(mask, -1e9).softmax(1),
        (ROWS, torch.rand(32, 24) < 0.3),
        """void f(const float *x, const unsigned char *mask, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float top = -INFINITY, sum = 0, hidden = -1e9f;
        for (long j = i * n; j < i * n + n; j++) top = fmaxf(top, y[j] = mask[j] ? hidden : x[j]);
        for (long j = i * n; j < i * n + n; j++) sum += y[j] = y[j] > -INFINITY ? expf(y[j] - top) : 0;
        for (long j = i * n; j < i * n + n; j++) y[j] = sum ? y[j] / sum : 0;
    }
}""",
        ("hidden = -1e9f", "hidden = -INFINITY"),
    ),
    "the order of what is equal": Subject(
        lambda x: torch.sort(x, dim=1, stable=True)[1],
        (ROWS,),
        """void f(const float *x, long *y, long m, long n) {
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
            long k = j;
            for (; k && x[i * n + y[i * n + k - 1]] > x[i * n + j]; k--) y[i * n + k] = y[i * n + k - 1];
            y[i * n + k] = j;
        }
}""",
        ("] > x[", "] >= x["),
    ),
}


@pytest.fixture(scope="module")
def device(own_home: None) -> Iterator[DeviceSetup]:
    opened = platform("cpu").open(Settings(effort="quick"), TASKS["softmax"], torch=False)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture(scope="module", params=SUBJECTS)
def chosen(request: pytest.FixtureRequest) -> tuple[Subject, Task]:
    subject = SUBJECTS[request.param]
    graph = capture_object(subject.function, subject.inputs, "special")
    return subject, module_task(record_of(graph, Problem(Request("special.py"), "special")))


def built(device: DeviceSetup, task: Task, cases: list[Case], subject: Subject, source: str) -> Built:
    names = ", ".join(b.name for b in (*task.inputs, *task.outputs))
    text = (
        f'SOURCE = r"""#include <math.h>\n#include <string.h>\n{source}"""\n\n\ndef launch({names}):\n'
        f"    kernel('f')({names}, {subject.sizes})\n"
    )
    found = device.builder.build(task, Candidate(text, "f"), {}, shapes_of(cases, cases[0].dims))
    assert not isinstance(found, NotBuilt), found.reason
    return found


def test_the_right_kernel_passes_and_the_wrong_one_does_not(device: DeviceSetup, chosen: tuple[Subject, Task]) -> None:
    subject, task = chosen
    before, after = subject.wrong
    assert subject.kernel.count(before) == 1
    cases = screen_cases(task)
    both = [built(device, task, cases, subject, k) for k in (subject.kernel, subject.kernel.replace(before, after))]
    for number in range(JUDGEMENTS):
        with CaseTable(task, cases, bytes([number]) * 32) as table:
            found = [Judge(device.rig.device).verify(one, table, "screen").status for one in both]
        assert found == ["passed", "rejected"]
