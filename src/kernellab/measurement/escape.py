"""How likely a kernel that is wrong in only some of its calls gets through a confirmation.

Covered: kernels that are wrong by chance, independently in each call: a gambler's clock, an address, bits of the inputs.
Not covered: kernels that know which calls are checked. Those are kept from knowing, which is no matter of chance.
"""

from __future__ import annotations

from kernellab.core.settings import Effort

SHARES = (1 / 2, 1 / 8, 1 / 16, 1 / 64)
"""The shares of wrong calls for which the probability is stated."""


def checks_of(effort: Effort) -> int:
    """How many timed calls a confirmation checks at the least: one of every pair that it keeps."""
    return effort.confirm_pairs


def escape_probability(share: float, checks: int) -> float:
    """Of a kernel that is wrong in this share of its calls: that none of `checks` checked calls is a wrong one."""
    if not 0 <= share <= 1 or checks < 0:
        raise ValueError(f"a share between 0 and 1 and a number of checks, not {share} and {checks}")
    return float((1 - share) ** checks)
