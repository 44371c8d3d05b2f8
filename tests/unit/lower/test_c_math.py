"""The functions of generated C, against the library's in double precision, over all of float32."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernellab.build.compiler import Compiler
from kernellab.lower.c_math import POLYNOMIALS, definitions, macro

_HARNESS = """
#include <math.h>
#include <stdio.h>
#include <string.h>
%s
int main(void) {
    for (unsigned long bits = 0; bits < 0x100000000UL; bits += 4999) {
        unsigned word = (unsigned)bits;
        float x, y, near;
        memcpy(&x, &word, sizeof x);
        y = %s(x);
        double wanted = %s((double)x), unit;
        near = (float)wanted;
        if (isnan(near) || isinf(near) || isinf(y)) {
            if (isnan(near) ? !isnan(y) : near != y) { printf("%%a -> %%a, not %%a\\n", x, y, near); return 1; }
            continue;
        }
        unit = ldexp(1.0, ilogb(fabs(wanted) > 1e-37 ? wanted : 1e-37) - 23);
        if (!(fabs((double)y - wanted) <= %d * unit)) { printf("%%a -> %%a, not %%a\\n", x, y, wanted); return 1; }
    }
    return 0;
}
"""


@pytest.mark.backend_c
@pytest.mark.parametrize("function", sorted(POLYNOMIALS))
def test_it_is_near_the_true_value_everywhere(function: str, compiler: Compiler, tmp_path: Path) -> None:
    own = definitions(f"{macro(function)}(x)", "float")
    (tmp_path / "check.c").write_text(_HARNESS % (own, macro(function), function, 6 if function == "erf" else 2))
    flags = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast", "-DMATH_poly"]
    program = tmp_path / "check"
    subprocess.run([*compiler.command, *flags, str(tmp_path / "check.c"), "-o", str(program), "-lm"], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_only_what_is_called_is_defined() -> None:
    assert definitions("y = x;", "float") == ""
    text = definitions("y = TANH(x);", "float")
    assert "tanh_poly" in text
    assert "exp_poly" in text  # which it needs
    assert "log_poly" not in text
    assert definitions("y = TANH(x) + LOG(x);", "double") == "#define TANH tanh\n#define LOG log\n"
