from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kernellab.tasks.dtypes import DTYPES, in_float32, is_float, is_short, limits, np_dtype, variant_name, widen
from kernellab.tasks.spec import Array


def test_importing_the_tasks_registers_bfloat16_with_numpy() -> None:
    code = "import numpy, kernellab.tasks; print(numpy.dtype('bfloat16').itemsize)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "2\n"


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_has_its_name_and_knows_whether_it_is_a_float(name: str) -> None:
    dtype = np_dtype(name)
    assert dtype.name == name
    assert is_float(dtype) is is_float(name) is ("float" in name)
    assert is_short(dtype) is is_short(name) is (name in ("float16", "bfloat16"))


@pytest.mark.parametrize(
    ("name", "eps", "tiny", "nmant", "bits"),
    [
        ("bfloat16", 2.0**-7, 2.0**-126, 7, 16),
        ("float16", 2.0**-10, 2.0**-14, 10, 16),
        ("float32", 2.0**-23, 2.0**-126, 23, 32),
        ("float64", 2.0**-52, 2.0**-1022, 52, 64),
    ],
)
def test_limits_are_those_of_the_format(name: str, eps: float, tiny: float, nmant: int, bits: int) -> None:
    found = limits(name)
    assert (found.eps, found.tiny, found.nmant, found.bits) == (eps, tiny, nmant, bits)
    assert found.quiet == 4 * (2.0**-126 if bits == 16 else tiny)


def test_widening_changes_16_bit_arrays_only() -> None:
    for name in ("float16", "bfloat16"):
        wide = widen(np.array([1.5, -np.inf], name))
        assert (wide.dtype, wide.tolist()) == (np.float32, [1.5, -np.inf])
    for name in ("float32", "float64", "int32", "uint8"):
        array = np.ones(3, name)
        assert widen(array) is array


def test_other_arrays_reach_a_function_run_in_float32_as_they_are() -> None:
    def double(x: Array, y: Array) -> None:
        seen.append((x, y))
        y[...] = 2 * x

    seen: list[tuple[Array, Array]] = []
    x, y = np.ones(3, np.float64), np.zeros(3, np.float64)
    in_float32(double, 1)(x, y)
    assert seen[0][0] is x
    assert seen[0][1] is y
    assert y.tolist() == [2.0] * 3


def test_names_of_variants() -> None:
    names = [variant_name("softmax", d) for d in ("float32", "bfloat16", "float16")]
    assert names == ["softmax", "softmax_bf16", "softmax_f16"]
