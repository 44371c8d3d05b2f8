"""What of the driver can be known without one: its errors in words, and how parameters are packed."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.build.cache import CodeCache
from kernellab.core.errors import EnvironmentFault
from kernellab.run import driver
from kernellab.run.cuda import CudaDevice
from kernellab.run.driver import DriverFault, Kernel, Properties, _cell, present

SIZES = (1, 2, 4, 8)
without_gpu = pytest.mark.skipif(present(), reason="there is a GPU here")


def raw(cell: Any) -> bytes:
    return ctypes.string_at(ctypes.addressof(cell), ctypes.sizeof(cell))


def kernel(*sizes: int) -> Kernel:
    """One whose parameters the driver would give these sizes."""
    made = Kernel.__new__(Kernel)
    made.sizes = list(sizes)
    return made


@without_gpu
def test_without_a_gpu_none_is_present_and_a_device_says_what_to_do() -> None:
    assert not present()
    with pytest.raises(EnvironmentFault, match="the GPU does not answer") as caught:
        CudaDevice(CodeCache(None))
    assert "--device cpu" in caught.value.fix


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "illegal address (cuStreamSynchronize)"),
        ("CUDA_ERROR_LAUNCH_TIMEOUT", "launch timeout (cuStreamSynchronize)"),
        ("CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address (cuStreamSynchronize)"),
        ("CUDA_ERROR_LAUNCH_FAILED", "launch failed (cuStreamSynchronize)"),
        ("CUDA_ERROR_ASSERT", "assert (cuStreamSynchronize)"),
        ("CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal instruction (cuStreamSynchronize)"),
        ("CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed (cuStreamSynchronize)"),
        ("719", "719 (cuStreamSynchronize)"),
    ],
)
def test_what_a_kernel_can_cause_takes_the_context_with_it(name: str, words: str) -> None:
    fault = DriverFault(name, "cuStreamSynchronize")
    assert (str(fault), fault.name, fault.sticky) == (words, name, True)


@pytest.mark.parametrize(
    "name",
    ["INVALID_VALUE", "NOT_FOUND", "INVALID_IMAGE", "OUT_OF_MEMORY", "LAUNCH_OUT_OF_RESOURCES",
     "COOPERATIVE_LAUNCH_TOO_LARGE", "NO_BINARY_FOR_GPU", "INVALID_CLUSTER_SIZE"],
)  # fmt: skip
def test_what_is_refused_beforehand_leaves_the_context_usable(name: str) -> None:
    assert not DriverFault(f"CUDA_ERROR_{name}", "cuLaunchKernel").sticky


def test_the_harmless_errors_are_ones_that_the_bindings_know() -> None:
    """A name that NVIDIA does not use would be sticky under the one it does."""
    bindings = pytest.importorskip("cuda.bindings.driver")
    assert {e.name for e in bindings.CUresult} >= driver._HARMLESS


@pytest.mark.parametrize("size", SIZES)
@given(data=st.data())
def test_an_integer_fills_its_parameter_in_twos_complement(size: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(-(1 << (8 * size - 1)), (1 << (8 * size)) - 1))
    cell = raw(_cell(value, size))
    assert len(cell) == size
    assert int.from_bytes(cell, "little", signed=value < 0) == value


@pytest.mark.parametrize("size", SIZES)
def test_an_integer_outside_its_parameter_is_refused_at_the_very_border(size: int) -> None:
    low, high = -(1 << (8 * size - 1)), (1 << (8 * size)) - 1
    assert raw(_cell(low, size)) == b"\0" * (size - 1) + b"\x80"
    assert raw(_cell(high, size)) == b"\xff" * size
    for value in (low - 1, high + 1, 1 << 70):
        with pytest.raises(ValueError, match=f"{value} does not fit a parameter of {size} bytes"):
            _cell(value, size)


@given(st.floats(allow_nan=False))
def test_a_float_becomes_a_double_where_the_parameter_is_one(value: float) -> None:
    assert raw(_cell(value, 8)) == struct.pack("<d", value)


@given(st.floats(width=32, allow_nan=False))
def test_a_float_becomes_a_float_where_the_parameter_is_one(value: float) -> None:
    assert raw(_cell(value, 4)) == struct.pack("<f", value)


def test_a_float_that_is_whole_stays_a_float() -> None:
    assert raw(_cell(1.0, 4)) == struct.pack("<f", 1.0)
    assert raw(_cell(1, 4)) == struct.pack("<I", 1)
    assert math.isnan(_cell(math.nan, 4).value)


@pytest.mark.parametrize("size", [1, 2, 3, 12, 16, 128])
def test_a_float_for_a_parameter_that_is_none_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"a float is given for a parameter of {size} bytes"):
        _cell(1.5, size)


@pytest.mark.parametrize("size", [0, 3, 12, 16, 128])
def test_an_integer_for_a_structure_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"an integer is given for a parameter of {size} bytes"):
        _cell(1, size)


def test_a_parameter_block_points_at_every_value_in_order() -> None:
    block, cells = kernel(8, 4, 1, 8).pack([0x7F00DEADBEEF, -3, 255, 0.5])
    assert [int(p) for p in block] == [ctypes.addressof(c) for c in cells]
    found = [ctypes.string_at(p, n) for p, n in zip(block, (8, 4, 1, 8), strict=True)]
    assert found == [struct.pack("<Q", 0x7F00DEADBEEF), struct.pack("<i", -3), b"\xff", struct.pack("<d", 0.5)]


def test_a_kernel_without_parameters_gets_a_block_all_the_same() -> None:
    block, cells = kernel().pack([])
    assert (len(block), cells) == (1, [])


@pytest.mark.parametrize("values", [[], [1], [1, 2, 3]])
def test_too_few_or_too_many_values_are_refused_in_words(values: list[int]) -> None:
    with pytest.raises(ValueError, match=f"takes 2 parameters, the plan gives {len(values)}"):
        kernel(8, 4).pack(values)


@pytest.mark.parametrize(
    ("capability", "target"),
    [((8, 0), "sm_80"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((10, 0), "sm_100a"), ((12, 1), "sm_121a")],
)
def test_from_hopper_on_the_architectures_own_instructions_are_compiled_for(
    capability: tuple[int, int], target: str
) -> None:
    assert Properties("GPU", capability, 1, 1, 1, 1, False, 13000).target == target
