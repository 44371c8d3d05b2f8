"""__SIZE__x__SIZE__ smoothing by strips: a program walks down BAND rows and keeps the last __TWICE__ rows' sums in registers.

Hypothesis: every row of a strip is read once, STEP rows at a time so that enough loads are in flight, and only a band's
first __TWICE__ rows are read twice; L2 then carries little more than the field itself. AHEAD "yes" has the next rows on their
way while these are weighed. Refuted if tiles, which read halo rows again but have no chain from row to row, are as
fast: L2 had room to spare.
"""

import triton
import triton.language as tl

VARIANTS = {
    "stencil3x3": {"SIZE": "3", "TWICE": "2", "RADIUS": "1", "SIDES": "scalar"},
    "stencil5x5": {"SIZE": "5", "TWICE": "4", "RADIUS": "2", "SIDES": "vector"},
}
TASKS = ("stencil__SIZE__x__SIZE__", "stencil__SIZE__x__SIZE___bf16", "stencil__SIZE__x__SIZE___f16")
SPACE = {
    "PX": [4, 1, 2],
    "STEP": [4, 2, 1],
    "BAND": [32, 64, 16],
    "LANES": [128, 512, 256],
    "WARPS": [4, 2, 8],
    "AHEAD": ["no", "yes"],
    "STORE": ["plain", "stream"],
}
RADIUS = __RADIUS__
MOST = 64  # values a thread


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
def read_rows(
    x, top, H, lane, STEP: tl.constexpr, W: tl.constexpr, C: tl.constexpr, PX: tl.constexpr, R: tl.constexpr,
    SIDES: tl.constexpr,
):  # fmt: skip
    t = ()
    for r in tl.static_range(STEP):
        t = t + read_row(x, top + r, H, lane, W, C, PX, R, SIDES)
    return t


@triton.jit
def smooth_strip(
    x, y, H, COUNT: tl.constexpr, BAND: tl.constexpr, STEP: tl.constexpr, W: tl.constexpr, C: tl.constexpr,
    PX: tl.constexpr, LANES: tl.constexpr, R: tl.constexpr, SIDES: tl.constexpr, AHEAD: tl.constexpr, STORE: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    top = pid // COUNT * BAND
    lane = pid % COUNT * LANES + tl.arange(0, LANES)
    size: tl.constexpr = PX + 2 * R
    kept = ()
    for r in tl.static_range(2 * R):
        kept = kept + across(read_row(x, top + (r - R), H, lane, W, C, PX, R, SIDES), PX, R)
    if AHEAD:
        t = read_rows(x, top + R, H, lane, STEP, W, C, PX, R, SIDES)
    for i in range(BAND // STEP):
        row = top + i * STEP
        if not AHEAD:
            t = read_rows(x, row + R, H, lane, STEP, W, C, PX, R, SIDES)
        h = kept
        for r in tl.static_range(STEP):
            h = h + across(t[r * size : (r + 1) * size], PX, R)
        if AHEAD:
            t = read_rows(x, row + R + STEP, H, lane, STEP, W, C, PX, R, SIDES)
        for r in tl.static_range(STEP):
            write_row(y, row + r, h, r * PX, H, lane, W, C, PX, R, STORE)
        kept = h[STEP * PX :]


def launch(x, y, PX=4, STEP=4, BAND=32, LANES=128, WARPS=4, AHEAD="no", STORE="plain"):
    if LANES < 32 * WARPS:
        raise ValueError("fewer lanes than threads")
    rows = (STEP + 2 * RADIUS) * PX + (STEP * (PX + 2 * RADIUS) if AHEAD == "yes" else 0)
    if rows * LANES > 32 * WARPS * MOST:
        raise ValueError("the sums of so many rows do not fit the registers")
    h, w, c = x.shape
    count = triton.cdiv(triton.cdiv(w, PX) * c, LANES)
    band = min(BAND, triton.cdiv(h, STEP) * STEP)
    smooth_strip[(count * triton.cdiv(h, band),)](
        x, y, h, COUNT=count, BAND=band, STEP=STEP, W=w, C=c, PX=PX, LANES=LANES, R=RADIUS, SIDES="__SIDES__",
        AHEAD=AHEAD == "yes", STORE=".cs" if STORE == "stream" else "", num_warps=WARPS,
    )  # fmt: skip
