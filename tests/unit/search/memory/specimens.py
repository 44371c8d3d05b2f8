"""Made-up trials with the real records: a few sources, parameters, and samples with a spread that fits their interval."""

from __future__ import annotations

from typing import Any

from kernellab.core.ids import sha256_hex
from kernellab.core.records import (
    Artifact,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Param,
    Passed,
    Proposal,
    Rejected,
    RejectedTrial,
    Timing,
)
from kernellab.measurement.stats import paired_speedup

H200 = "NVIDIA H200 (sm_90a, 132 SMs)"
ROWS = '''"""Rows in groups: two passes over the data."""
SOURCE = r"""
typedef float vf __attribute__((vector_size(16)));
void f(const float *x, float *y, long n) { /* __shared__ */ for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }
"""
SPACE = {"ROWS": [1, 2, 4], "UNROLL": [1, 2]}
def launch(x, y, ROWS=1, UNROLL=1):
    kernel("f")(x, y, x.size)
'''
ROWS_CHILD = ROWS.replace("y[i] = 2 * x[i]", "y[i] = x[i] + x[i]")
CUDA = '''"""Online softmax, a persistent loop."""
SOURCE = r"""
extern "C" __global__ void f(const float4 *x, float4 *y, int n) {
    __shared__ float part[32]; // wgmma.
    for (int i = blockIdx.x; i < n; i += gridDim.x) y[i] = x[i];
}
"""
def launch(x, y, THREADS=256):
    kernel("f")[132, THREADS](x, y, x.size)
'''
TEXTS = {sha256_hex(t.encode()): t for t in (ROWS, ROWS_CHILD, CUDA)}


def read(source: str) -> str:
    return TEXTS.get(source, "")


def timing(speedup: float, noise: float = 0.01, pairs: int = 11, **changes: Any) -> Timing:
    """Pairs whose ratios lie evenly within +-noise (relative) of the speed-up; figures by the bench's own arithmetic."""
    ratios = [speedup * (1 + noise * (2 * i / max(1, pairs - 1) - 1)) for i in range(pairs)]
    candidate, baseline = [1e-3] * pairs, [1e-3 * r for r in ratios]
    found = paired_speedup(candidate, baseline)
    values: dict[str, Any] = {
        "baseline": "torch", "threads": 1, "calls": 1, "candidate_s": candidate, "baseline_s": baseline,
        "speedup": found.value, "speedup_low": found.low, "speedup_high": found.high, "latency_s": 1e-3, "gb_per_s": 1.0,
        "floor_s": 5e-4, "memory_floor_s": 5e-4, "of_floor": 0.5, "of_memory_floor": 0.5, "checked": 1, "stopped": "budget",
    }  # fmt: skip
    return Timing(**{**values, **changes})


def common(number: int, text: str = ROWS, params: dict[str, Param] | None = None, **changes: Any) -> dict[str, Any]:
    proposal = Proposal(source=sha256_hex(text.encode()), name="rows", params=params or {"ROWS": 1, "UNROLL": 1})
    base: dict[str, Any] = {"trial": number, "task": "softmax", "dims": {"M": 256, "N": 512}, "proposal": proposal,
                            "tier": "T1", "seed": 0, "device": "Neoverse-N1", "environment": "e"}  # fmt: skip
    return {**base, **changes}


def artifact(backend: str = "c", name: str = "a", **resources: int) -> Artifact:
    return Artifact(id=name, backend=backend, code=name, plans="p", log="l", compiler="gcc", flags=[], static_bytes=0,
                    resources=resources, build_s=0.1)  # fmt: skip


def measured(
    number: int,
    speedup: float,
    noise: float = 0.01,
    text: str = ROWS,
    params: dict[str, Param] | None = None,
    built: Artifact | None = None,
    time: Timing | None = None,
    **changes: Any,
) -> MeasuredTrial:
    verdict = Passed(level="screen", cases=3, max_abs_err=0.0, max_ulp=1.0, budget_ulp=5.0, deterministic=True)
    return MeasuredTrial(
        **common(number, text, params, **changes), trust="native", artifact=built or artifact(name=f"a{number}"),
        verdict=verdict, inputs_seed="", timing=time or timing(speedup, noise),
    )  # fmt: skip


def failed(number: int, reason: str = "no such intrinsic", **changes: Any) -> FailedTrial:
    return FailedTrial(**common(number, **changes), status="build-failed", reason=reason)


def rejected(number: int, **changes: Any) -> RejectedTrial:
    verdict = Rejected(cause="wrong-output", reason="y: 3 of 9 elements wrong")
    return RejectedTrial(**common(number, **changes), artifact=artifact(), verdict=verdict, inputs_seed="")


def duplicate(number: int, of: int, **changes: Any) -> DuplicateTrial:
    return DuplicateTrial(**common(number, **changes), artifact=artifact(name=f"a{of}"), of=of)
