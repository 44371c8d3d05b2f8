"""__SIZE__x__SIZE__ smoothing by register tiles: a program loads all rows of its tile and their halo before it computes anything.

Hypothesis: with every load of a tile in flight at once, and the weights applied along the row first (each row's sums
serve __SIZE__ output rows), the field comes from memory once, the halo rows from L2 and the shifted reads from L1, at copy
speed. Each lane makes PX pixels side by side, which turns __SIZE__ reads a pixel into (PX + __TWICE__) / PX; for one channel and
PX 4 these are 16-byte vectors, shifted inside the registers. Refuted if walking down a strip, which reads no row
twice, is faster: the halo's L2 traffic then matters.
"""

import triton
import triton.language as tl

VARIANTS = {
    "stencil3x3": {"SIZE": "3", "TWICE": "2", "SIDES": "scalar", "OTHER": "vector", "RADIUS": "1"},
    "stencil5x5": {"SIZE": "5", "TWICE": "4", "SIDES": "vector", "OTHER": "scalar", "RADIUS": "2"},
}
TASKS = ("stencil__SIZE__x__SIZE__", "stencil__SIZE__x__SIZE___bf16", "stencil__SIZE__x__SIZE___f16")
SPACE = {
    "PX": [4, 1, 2],
    "ROWS": [4, 8, 2],
    "LANES": [128, 512, 256, 64],
    "WARPS": [4, 2, 1],
    "SIDES": ["__SIDES__", "__OTHER__"],
    "STORE": ["plain", "stream"],
}
RADIUS = __RADIUS__
MOST = 64  # sums a thread


@triton.jit
def quarter(v):
    """[lanes, 4] as four tensors of lanes: each thread holds its four, so nothing moves."""
    even, odd = tl.split(tl.reshape(v, (v.shape[0], 2, 2)))
    a, c = tl.split(even)
    b, d = tl.split(odd)
    return a, b, c, d


@triton.jit
def read_row(x, row, H, lane, W: tl.constexpr, C: tl.constexpr, PX: tl.constexpr, R: tl.constexpr, SIDES: tl.constexpr):
    """Pixels -R to PX - 1 + R of every lane's group of PX in one row, zeros outside the field."""
    p = x + row.to(tl.int64) * (W * C)
    end = tl.where((row >= 0) & (row < H), W, 0)  # a row outside the field has no pixels
    t = ()
    if C == 1 and PX == 4:
        at = lane[:, None] * 4 + tl.arange(0, 4)[None, :]
        mid = tl.load(p + at, mask=at < end, other=0.0).to(tl.float32)
        if SIDES == "vector":
            l = quarter(tl.load(p + (at - 4), mask=(at >= 4) & (at - 4 < end), other=0.0).to(tl.float32))
            r = quarter(tl.load(p + (at + 4), mask=at + 4 < end, other=0.0).to(tl.float32))
            for k in tl.static_range(R):
                t = t + (l[4 - R + k],)
            t = t + quarter(mid)
            for k in tl.static_range(R):
                t = t + (r[k],)
        else:
            for k in tl.static_range(R):
                s = lane * 4 - R + k
                t = t + (tl.load(p + s, mask=(s >= 0) & (s < end), other=0.0).to(tl.float32),)
            t = t + quarter(mid)
            for k in tl.static_range(R):
                s = lane * 4 + 4 + k
                t = t + (tl.load(p + s, mask=s < end, other=0.0).to(tl.float32),)
    else:
        for k in tl.static_range(PX + 2 * R):
            if PX == 1:
                at = lane + (k - R) * C
                valid = (at >= 0) & (at < end * C)
            else:
                w = lane // C * PX + (k - R)
                at = w * C + lane % C
                valid = (w >= 0) & (w < end)
            t = t + (tl.load(p + at, mask=valid, other=0.0).to(tl.float32),)
    return t


@triton.jit
def weigh(t, FIRST: tl.constexpr, STEP: tl.constexpr, R: tl.constexpr):
    """The binomial sum of 2 R + 1 members of a tuple."""
    if R == 1:
        total = 0.25 * (t[FIRST] + t[FIRST + 2 * STEP]) + 0.5 * t[FIRST + STEP]
    else:
        total = 0.0625 * (t[FIRST] + t[FIRST + 4 * STEP]) + 0.375 * t[FIRST + 2 * STEP]
        total += 0.25 * (t[FIRST + STEP] + t[FIRST + 3 * STEP])
    return total


@triton.jit
def across(t, PX: tl.constexpr, R: tl.constexpr):
    """The sums along the row for the PX pixels of each lane."""
    h = ()
    for k in tl.static_range(PX):
        h = h + (weigh(t, k, 1, R),)
    return h


@triton.jit
def write_row(
    y, row, h, FIRST: tl.constexpr, H, lane, W: tl.constexpr, C: tl.constexpr, PX: tl.constexpr, R: tl.constexpr,
    STORE: tl.constexpr,
):  # fmt: skip
    """Output row `row` from the sums of 2 R + 1 rows, PX members of h each, from FIRST on."""
    p = y + row.to(tl.int64) * (W * C)
    end = tl.where(row < H, W, 0)
    kind = y.dtype.element_ty
    if C == 1 and PX == 4:
        even = tl.join(weigh(h, FIRST, PX, R), weigh(h, FIRST + 2, PX, R))
        odd = tl.join(weigh(h, FIRST + 1, PX, R), weigh(h, FIRST + 3, PX, R))
        out = tl.reshape(tl.join(even, odd), (lane.shape[0], 4)).to(kind)
        at = lane[:, None] * 4 + tl.arange(0, 4)[None, :]
        tl.store(p + at, out, mask=at < end, cache_modifier=STORE)
    else:
        for k in tl.static_range(PX):
            if PX == 1:
                at = lane
                valid = at < end * C
            else:
                w = lane // C * PX + k
                at = w * C + lane % C
                valid = w < end
            tl.store(p + at, weigh(h, FIRST + k, PX, R).to(kind), mask=valid, cache_modifier=STORE)


@triton.jit
def smooth_tile(
    x, y, H, COUNT: tl.constexpr, W: tl.constexpr, C: tl.constexpr, PX: tl.constexpr, ROWS: tl.constexpr,
    LANES: tl.constexpr, R: tl.constexpr, SIDES: tl.constexpr, STORE: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    top = pid // COUNT * ROWS
    lane = pid % COUNT * LANES + tl.arange(0, LANES)
    h = ()
    for r in tl.static_range(ROWS + 2 * R):
        h = h + across(read_row(x, top + (r - R), H, lane, W, C, PX, R, SIDES), PX, R)
    for r in tl.static_range(ROWS):
        write_row(y, top + r, h, r * PX, H, lane, W, C, PX, R, STORE)


def launch(x, y, PX=4, ROWS=4, LANES=128, WARPS=4, SIDES="__SIDES__", STORE="plain"):
    if LANES < 32 * WARPS:
        raise ValueError("fewer lanes than threads")
    if (ROWS + 2 * RADIUS) * PX * LANES > 32 * WARPS * MOST:
        raise ValueError("the sums of so large a tile do not fit the registers")
    h, w, c = x.shape
    if PX != 4 or c > 1:
        SIDES = "__SIDES__"  # the choice is for vectors of one channel alone: no second name for the same kernel
    count = triton.cdiv(triton.cdiv(w, PX) * c, LANES)
    smooth_tile[(count * triton.cdiv(h, ROWS),)](
        x, y, h, COUNT=count, W=w, C=c, PX=PX, ROWS=ROWS, LANES=LANES, R=RADIUS, SIDES=SIDES,
        STORE=".cs" if STORE == "stream" else "", num_warps=WARPS,
    )  # fmt: skip
