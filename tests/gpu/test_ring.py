"""The buffers of timed calls on a real GPU: new contents every time, and checks that miss nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from kernellab.measurement.base import SETS, Filling
from kernellab.measurement.bench import Arm, Bench
from kernellab.measurement.device_ring import DeviceRing
from kernellab.measurement.roofline import Floor
from kernellab.run.cuda import CudaDevice
from kernellab.tasks.crew import Crew
from kernellab.tasks.inputs import STANDARD, draw_normal, draw_offset
from kernellab.tasks.spec import Array, Buffer, Task

from . import kernels
from .conftest import Build

pytestmark = pytest.mark.gpu
N, SLOTS, POOL = 1 << 14, 3, 3
FLOATS = ["float32", "float64", "float16", "bfloat16"]


def doubling(dtype: str = "float32", **changes: Any) -> Task:
    fields: dict[str, Any] = {
        "name": "double", "about": "", "inputs": (Buffer("x", ("N",), dtype),), "outputs": (Buffer("y", ("N",), dtype),),
        "reference": lambda x: x + x, "tune": ({"N": N},), "held_out": ({"N": 9},), "edge": ({"N": 1},),
        "distributions": STANDARD,
    }  # fmt: skip
    return Task(**{**fields, **changes})


@pytest.fixture
def ring(gpu: CudaDevice, crew: Crew):  # type: ignore[no-untyped-def]
    @contextmanager
    def made(task: Task | None = None, n: int = N, slots: int = SLOTS, pool: int = POOL) -> Iterator[DeviceRing]:
        opened = DeviceRing(gpu, task or doubling(), {"N": n}, slots, bytes(range(32)), pool, crew)
        try:
            yield opened
        finally:
            opened.close()

    return made


def contents(it: DeviceRing, call: int, buffer: int = 0) -> Array:
    return it.inputs.read(it.calls[call].inputs[buffer])


def answer(it: DeviceRing, number: int, side: int = 0, factor: int = 2) -> None:
    """The right outputs of a set, as an honest arm would leave them."""
    for index in it.set_calls(number, it.slots):
        x = contents(it, index)
        it.sides[side].write(it.calls[index].outputs[0], x + x if factor == 2 else x.astype(np.int64) * factor)


def change(it: DeviceRing, number: int, slot: int, place: int, bits: int | None = None, side: int = 0) -> None:
    """One element of an output becomes another number, or these bits."""
    region = it.calls[number * it.slots + slot].outputs[0]
    values = it.sides[side].read(region)
    if bits is None:
        values[place] = values[place] + values.dtype.type(2)
    else:
        values.view(f"u{values.itemsize}")[place] = bits
    it.sides[side].write(region, values)


def cause(found: tuple[Any, int]) -> str:
    assert found[0] is not None
    return str(found[0].cause)


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_has_no_known_answer_is_new_in_every_fill_and_all_stay_standard_normal(dtype: str, ring: Any) -> None:
    with ring(doubling(dtype), pool=1) as it:
        for number in (0, 1, 0, 1):
            calls = it.set_calls(number, SLOTS)
            before = [contents(it, c) for c in calls]
            known = it.fill(number, SLOTS, 0).entries
            after = [contents(it, c) for c in calls]
            assert len(known) == 1
            for slot, (old, new) in enumerate(zip(before, after, strict=True)):
                assert slot in known or (old == new).mean() < 0.02, "equal by chance only: 16-bit floats are few"
                wide = new.astype(np.float64)
                assert abs(wide.mean()) < 0.05
                assert abs(wide.std() - 1) < 0.05
            assert all((a == b).mean() < 0.02 for a, b in ((after[0], after[1]), (after[1], after[2])))


def test_inputs_with_known_answers_come_again_in_another_order(ring: Any) -> None:
    with ring() as it:
        orders = set()
        for _ in range(24):
            entries = it.fill(0, SLOTS, 0).entries
            assert sorted(entries) == sorted(entries.values()) == list(range(SLOTS)), (
                "every call has one, all different"
            )
            orders.add(tuple(entries[slot] for slot in range(SLOTS)))
        assert len(orders) > 1


def test_where_the_timed_distribution_is_another_it_is_drawn_anew(ring: Any) -> None:
    with ring(doubling(distributions={"offset": draw_offset, "normal": draw_normal})) as it:
        before = contents(it, 0)
        it.fill(0, SLOTS, 0)
        assert (contents(it, 0) == before).mean() < 0.01
        assert abs(contents(it, 0).mean() - 3) < 0.1


def test_constant_inputs_stay_and_small_ones_change(ring: Any) -> None:
    task = doubling(
        inputs=(Buffer("x", ("N",)), Buffer("f", (4,), constant=True), Buffer("z", (1,))),
        reference=lambda x, f, z: x * f[0] + z,
    )
    with ring(task) as it:
        fixed, small = [], set()
        for _ in range(4):
            it.fill(0, SLOTS, 0)
            fixed += [contents(it, c, 1).tolist() for c in it.set_calls(0, SLOTS)]
            small |= {float(contents(it, c, 2)[0]) for c in it.set_calls(0, SLOTS)}
        assert all(f == fixed[0] for f in fixed)
        assert len(small) >= SLOTS


def test_every_slot_gets_a_known_answer_of_its_own_in_secret_order(ring: Any) -> None:
    with ring(pool=POOL + 2) as it:
        seen = []
        for _ in range(20):
            filling = it.fill(0, SLOTS, 0)
            assert sorted(filling.entries) == list(range(SLOTS))
            assert len(set(filling.entries.values())) == SLOTS
            seen.append(tuple(filling.entries[slot] for slot in range(SLOTS)))
        assert len(set(seen)) > 5
        assert {entry for order in seen for entry in order} == set(range(POOL + 2))


def test_where_the_pool_is_small_the_rest_is_mixed_and_not_counted(ring: Any) -> None:
    with ring(pool=2) as it:
        slots = set()
        for _ in range(20):
            filling = it.fill(0, SLOTS, 0)
            answer(it, 0)
            assert it.check(0, filling) == (None, 2)
            slots.add(tuple(sorted(filling.entries)))
        assert len(slots) == 3


def test_known_inputs_look_like_the_others(ring: Any) -> None:
    with ring() as it:
        shares = [coarse_share(contents(it, slot)) for slot in range(SLOTS)]
        it.fill(0, SLOTS, 0)
        shares += [coarse_share(contents(it, slot)) for slot in range(SLOTS)]
        assert min(shares) > 0.5, "sums near zero have trailing zero bits, known or not"


def test_no_output_of_an_earlier_sample_is_left_when_the_next_begins(ring: Any, gpu: CudaDevice) -> None:
    """Known inputs come again: their answers must not lie about in another slot or set, nor between the buffers."""
    with ring() as it:
        for number in (0, 1):
            it.fill(number, SLOTS, 0)
            answer(it, number)
        filling = it.fill(0, 1, 0)
        whole = gpu.context.download(it.sides[0].address, (it.sides[0].size,), np.uint8)
        region = it.calls[0].outputs[0]
        assert (whole[: region.start] == 0xFF).all()
        assert (whole[region.start + region.length :] == 0xFF).all()
        values = it.sides[0].read(region)
        assert (values.view(np.uint32) == filling.patterns[0][0]).all()


def coarse_share(x: Array) -> float:
    near = x[(np.abs(x) < 1 / 32) & (x != 0)]
    return float(((near.view(np.uint32) & 15) == 0).mean())


@pytest.mark.parametrize("dtype", FLOATS)
def test_right_outputs_pass_and_one_wrong_element_is_found(dtype: str, ring: Any) -> None:
    with ring(doubling(dtype)) as it:
        for slot in range(SLOTS):
            filling: Filling = it.fill(1, SLOTS, 0)
            answer(it, 1)
            assert it.check(1, filling) == (None, SLOTS)
            change(it, 1, slot, N // 2 + 1)
            assert cause(it.check(1, filling)) == "wrong-output"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("place", [0, N // 3, N - 1])
def test_one_element_never_written_is_found_in_any_slot(place: int, dtype: str, ring: Any) -> None:
    with ring(doubling(dtype), pool=0) as it:
        filling = it.fill(0, SLOTS, 0)
        answer(it, 0)
        change(it, 0, SLOTS - 1, place, bits=filling.patterns[SLOTS - 1][0])
        fault, _ = it.check(0, filling)
        assert fault is not None
        assert (fault.cause, f"1 of {N} elements" in fault.reason) == ("unwritten", True)


@pytest.mark.parametrize("side", ["before", "behind"])
def test_a_write_into_a_guard_band_is_found_and_mended_by_the_next_fill(side: str, ring: Any, gpu: CudaDevice) -> None:
    with ring() as it:
        filling = it.fill(1, SLOTS, 0)
        answer(it, 1)
        region = it.calls[SLOTS + 2].outputs[0]
        place = region.data - 4 if side == "before" else region.data + region.nbytes
        gpu.context.fill(it.sides[0].address + place, 0xEE, 1, 4)
        fault, _ = it.check(1, filling)
        assert fault is not None
        assert (fault.cause, fault.reason) == ("out-of-bounds", f"wrote {side} the buffer of 'y'")
        filling = it.fill(1, SLOTS, 0)
        answer(it, 1)
        assert it.check(1, filling)[0] is None


def test_exact_integers_are_compared_bit_for_bit(ring: Any) -> None:
    task = doubling(inputs=(Buffer("x", ("N",), "int32"),), outputs=(Buffer("y", ("N",), "int64"),),
                    reference=lambda x: x.astype(np.int64) * 3, exact=True)  # fmt: skip
    with ring(task) as it:
        filling = it.fill(0, SLOTS, 0)
        answer(it, 0, factor=3)
        assert it.check(0, filling) == (None, SLOTS)
        change(it, 0, SLOTS - 1, N - 1)
        assert cause(it.check(0, filling)) == "wrong-output"


def test_outputs_of_calls_not_made_are_untouched_until_one_element_is_written(ring: Any) -> None:
    with ring() as it:
        filling = it.fill(1, SLOTS, 0)
        change(it, 1, 0, 3, bits=0)
        assert it.untouched(1, filling), "the first slot is the call's own"
        change(it, 1, SLOTS - 1, N - 1, bits=0)
        assert not it.untouched(1, filling)


def test_a_kernel_compared_with_itself_comes_out_near_one(ring: Any, gpu: CudaDevice, gpu_build: Build) -> None:
    n = 1 << 22
    built = gpu_build(kernels.HONEST, shapes=({"N": n},), task=doubling())
    with ring(n=n, slots=4) as it:
        arms = [Arm(f"arm {side}", gpu.start(built, it.inputs, it.sides[side], it.calls), side) for side in (0, 1)]
        try:
            pairs, stopped = Bench(it, Floor(1e-9, 1e-9, "memory", 1), 40e-6).compare(*arms, 21)
        finally:
            for arm in arms:
                arm.worker.close()
    assert stopped == "budget"
    assert 0.8 < pairs.speedup().value < 1.25
    assert arms[0].checked >= 2


def test_a_kernel_wrong_in_one_slot_is_caught_in_the_first_sample(ring: Any, gpu: CudaDevice, gpu_build: Build) -> None:
    """It knows which call it is by where its output lies, relative to a page: no slot is left out."""
    with ring(slots=SLOTS) as it:
        for slot in range(SLOTS):
            low = [(it.sides[0].address + it.calls[c].outputs[0].data) & 0x1FFFFF for c in (slot, SLOTS + slot)]
            wrong = " || ".join(f"((unsigned long long)y & 0x1fffff) == {at}ull" for at in low)
            built = gpu_build(kernels.K % ("", f"if (i == 77 && i < n && ({wrong})) y[i] += 1;"), shapes=({"N": N},),
                              task=doubling())  # fmt: skip
            runner = gpu.start(built, it.inputs, it.sides[0], it.calls)
            try:
                filling = it.fill(1, SLOTS, 0)
                runner.run(it.set_calls(1, SLOTS), 10.0, counted=True)
                assert cause(it.check(1, filling)) == "wrong-output"
            finally:
                runner.close()


def test_sets_are_as_many_as_everywhere(ring: Any) -> None:
    with ring(pool=0) as it:
        assert len(it.calls) == SETS * SLOTS
        assert it.sides[0].regions == it.sides[1].regions
