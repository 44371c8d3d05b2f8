"""Numbers from sizes that are no whole ones."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.lower.meaning import Grid

from kernellab.lower.inline import Store
from kernellab.lower.reals import is_real, real_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(1.0 / torch.sym_float(d2) ** 0.5) ** 0.5", (1 / 64**0.5) ** 0.5),
        ("1 / _sym_sqrt(d2)", 0.125),
        ("-sqrt(d2 + 17)", -9.0),
        ("d2 ** 2 / max(d2, 128)", 32.0),
        ("(d2 // 3) * 0.5", 10.5),
    ],
)
def test_they_are_what_python_makes_of_them(text: str, value: float) -> None:
    assert is_real(text)
    found = Grid({}, {"d2": 64}).made(Store(("y", 0), (), real_value(text), ()), ())
    np.testing.assert_allclose(found, value, rtol=1e-12)


@pytest.mark.parametrize("text", ["d2 * 2 + 1", "d2 // 2", "min(d2, 4)"])
def test_whole_ones_stay_sizes(text: str) -> None:
    assert not is_real(text)
