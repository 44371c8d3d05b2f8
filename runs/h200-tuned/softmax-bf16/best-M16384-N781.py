"""Row softmax for rows whose length is no multiple of the vector width (781): every row starts at another alignment.

Hypothesis: such rows cost twice, by 2-byte accesses and by padding to a power of two (1024 for 781). "aligned" reads
the span of whole 16-byte vectors around each row, neighbours' elements included, and masks them in registers; it writes
the whole vectors inside the row as vectors and only the two ragged ends element by element, from a second small read.
"exact" reads what belongs to the row alone, in narrow accesses. LAST "narrow" covers the row by 256 + 256 + 256 + 32
instead of 4 x 256: a quarter of the arithmetic less.
Refuted if plain padded rows are as fast at 16384x781, that is, if neither instructions nor access width bound them.
"""

import triton
import triton.language as tl

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "SPAN": ["aligned", "exact"],
    "LAST": ["narrow", "padded"],
    "ROWS": [2, 1, 4, 8],
    "WARPS": [1, 2, 4],
    "STORE": ["plain", "stream"],
}
LOG2E = tl.constexpr(1.4426950408889634)
MOST = 64  # elements a thread


@triton.jit
def read_piece(x, begin, lead, N: tl.constexpr, FROM: tl.constexpr, SIZE: tl.constexpr, VEC: tl.constexpr):
    """SIZE elements from begin + FROM on; those outside the row count as -inf. VEC 1: nothing else is read."""
    at = FROM + tl.arange(0, SIZE)
    if VEC == 1:
        v = tl.load(x + begin + at, mask=at < N, other=float("-inf")).to(tl.float32)
    else:
        touched = at // VEC < (lead + N + VEC - 1) // VEC  # the same for a whole vector, so the access stays wide
        v = tl.load(x + begin + at, mask=touched, other=float("-inf")).to(tl.float32)
        if FROM == 0:
            v = tl.where(at >= lead, v, float("-inf"))
        if FROM + SIZE > N:
            v = tl.where(at < lead + N, v, float("-inf"))
    return v


@triton.jit
def write_piece(y, e, scale, begin, lead, N: tl.constexpr, FROM: tl.constexpr, VEC: tl.constexpr, STORE: tl.constexpr):
    """The whole vectors inside the row; with VEC 1 those are its elements."""
    at = FROM + tl.arange(0, e.shape[0])
    whole = (at // VEC >= (lead + VEC - 1) // VEC) & (at // VEC < (lead + N) // VEC)
    tl.store(y + begin + at, (e * scale).to(y.dtype.element_ty), mask=whole, cache_modifier=STORE)


@triton.jit
def write_ends(x, y, top, scale, begin, lead, N: tl.constexpr, VEC: tl.constexpr):
    """The elements of the first and last vector where the row does not fill them, computed again."""
    k = tl.arange(0, 2 * VEC)
    at = tl.where(k < VEC, k, (lead + N) // VEC * VEC + k - VEC)
    whole = (at // VEC >= (lead + VEC - 1) // VEC) & (at // VEC < (lead + N) // VEC)
    mine = (at >= lead) & (at < lead + N) & (whole == 0)
    v = tl.load(x + begin + at, mask=mine, other=0.0).to(tl.float32)
    tl.store(y + begin + at, (tl.exp2((v - top) * LOG2E) * scale).to(y.dtype.element_ty), mask=mine)


@triton.jit
def softmax_ragged(
    x, y, M, N: tl.constexpr, ROWS: tl.constexpr, FULL: tl.constexpr, WIDTH: tl.constexpr, TAIL: tl.constexpr,
    VEC: tl.constexpr, STORE: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * ROWS
    each: tl.constexpr = FULL + (TAIL > 0)
    pieces = ()
    for r in tl.static_range(ROWS):  # every load of every row before the first use
        start = tl.minimum(first + r, M - 1).to(tl.int64) * N
        begin = start // VEC * VEC
        lead = (start - begin).to(tl.int32)
        for p in tl.static_range(FULL):
            pieces = pieces + (read_piece(x, begin, lead, N, p * WIDTH, WIDTH, VEC),)
        if TAIL > 0:
            pieces = pieces + (read_piece(x, begin, lead, N, FULL * WIDTH, TAIL, VEC),)
    for r in tl.static_range(ROWS):  # a row past the end is the last one again: written twice, the same values
        start = tl.minimum(first + r, M - 1).to(tl.int64) * N
        begin = start // VEC * VEC
        lead = (start - begin).to(tl.int32)
        high = pieces[r * each]
        for p in tl.static_range(1, FULL):
            high = tl.maximum(high, pieces[r * each + p])
        top = tl.max(high, axis=0)
        if FULL > 0 and TAIL > 0:
            top = tl.maximum(top, tl.max(pieces[r * each + FULL], axis=0))
        e = ()
        for p in tl.static_range(each):
            e = e + (tl.exp2((pieces[r * each + p] - top) * LOG2E),)
        lanes = e[0]
        for p in tl.static_range(1, FULL):
            lanes += e[p]
        total = tl.sum(lanes, axis=0)
        if FULL > 0 and TAIL > 0:
            total += tl.sum(e[FULL], axis=0)
        for p in tl.static_range(each):
            write_piece(y, e[p], 1.0 / total, begin, lead, N, p * WIDTH, VEC, STORE)
        if N % VEC != 0:
            write_ends(x, y, top, 1.0 / total, begin, lead, N, VEC)


def launch(x, y, SPAN="aligned", LAST="narrow", ROWS=2, WARPS=1, STORE="plain"):
    m, n = x.shape
    # the span around the last row ends inside the buffer only if that is a whole number of vectors
    vec = 16 // x.itemsize if SPAN == "aligned" and x.size * x.itemsize % 16 == 0 else 1
    length = n + vec - 1 if n % vec else n
    warps = max(WARPS, triton.next_power_of_2(triton.cdiv(length, 32 * MOST)))
    if warps > 32:
        raise ValueError("a row this long does not fit the registers of one program")
    width = 32 * warps * 16 // x.itemsize
    full, left = divmod(length, width)
    tail = max(32, triton.next_power_of_2(left)) if left else 0
    if full and (LAST == "padded" or tail == width) and tail:
        full, tail = full + 1, 0
    rows = max(1, min(ROWS, 32 * warps * MOST // length))
    softmax_ragged[(triton.cdiv(m, rows),)](
        x, y, m, N=n, ROWS=rows, FULL=full, WIDTH=width, TAIL=tail, VEC=vec,
        STORE=".cs" if STORE == "stream" else "", num_warps=warps,
    )  # fmt: skip
