"""Row softmax in chunks: a first walk keeps a running maximum and sum in every lane, a second one writes.

Hypothesis: for rows too long for the registers, a running maximum and sum a lane needs no reduction across lanes until
the row ends, and the second walk finds the row in L2, backwards even its last chunks in L1: memory sees one read and
one write. Refuted where a row fits the registers: the second read and its exponentials are then a loss.
"""

import triton
import triton.language as tl

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "CHUNK": [4096, 2048, 8192, 1024],
    "WARPS": [8, 4, 16],
    "SECOND": ["backward", "forward"],
    "STORE": ["plain", "stream"],
}
LOG2E = tl.constexpr(1.4426950408889634)
LOWEST = tl.constexpr(-3.0e38)  # below every finite input; -inf would make differences of itself
MOST = 64  # elements a thread


@triton.jit
def read_chunk(x, at, N: tl.constexpr, CHUNK: tl.constexpr):
    if N % CHUNK == 0:
        v = tl.load(x + at).to(tl.float32)
    else:
        v = tl.load(x + at, mask=at < N, other=float("-inf")).to(tl.float32)
    return v


@triton.jit
def softmax_online(x, y, N: tl.constexpr, CHUNK: tl.constexpr, BACKWARD: tl.constexpr, STORE: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * N
    x += start
    y += start
    lane = tl.arange(0, CHUNK)
    chunks: tl.constexpr = (N + CHUNK - 1) // CHUNK
    top = tl.full((CHUNK,), LOWEST, tl.float32)
    total = tl.zeros((CHUNK,), tl.float32)
    for k in range(chunks):
        v = read_chunk(x, k * CHUNK + lane, N, CHUNK)
        higher = tl.maximum(top, v)
        total = total * tl.exp2((top - higher) * LOG2E) + tl.exp2((v - higher) * LOG2E)
        top = higher
    peak = tl.max(top, axis=0)
    scale = 1.0 / tl.sum(total * tl.exp2((top - peak) * LOG2E), axis=0)
    for k in range(chunks):
        if BACKWARD:
            at = (chunks - 1 - k) * CHUNK + lane
        else:
            at = k * CHUNK + lane
        v = read_chunk(x, at, N, CHUNK)
        out = (tl.exp2((v - peak) * LOG2E) * scale).to(y.dtype.element_ty)
        if N % CHUNK == 0:
            tl.store(y + at, out, cache_modifier=STORE)
        else:
            tl.store(y + at, out, mask=at < N, cache_modifier=STORE)


def launch(x, y, CHUNK=4096, WARPS=8, SECOND="backward", STORE="plain"):
    if CHUNK > 32 * WARPS * MOST // 2:
        raise ValueError("a chunk and its running maxima and sums do not fit the registers")
    m, n = x.shape
    chunk = min(CHUNK, triton.next_power_of_2(n))
    softmax_online[(m,)](
        x, y, N=n, CHUNK=chunk, BACKWARD=SECOND == "backward", STORE=".cs" if STORE == "stream" else "", num_warps=WARPS
    )
