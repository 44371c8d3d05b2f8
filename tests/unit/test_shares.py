"""Of the heavy tests every session takes its share, and none is left out for ever."""

from __future__ import annotations

from tests.support.shares import Heavy, left_out

ALONE = [Heavy(name, name) for n in range(9) if (name := f"tests/many/test_{n % 2}.py::test_{n}[a::b/c]")]
TOGETHER = [Heavy(f"tests/few/test_a.py::test_{n}", "one run") for n in range(6)]
OTHERS = [Heavy(name, name) for n in range(5) if (name := f"tests/few/test_b.py::test_{n}")]
ALL = [*ALONE, *TOGETHER, *OTHERS]
NAMES = {heavy.test for heavy in ALL}


def taken(share: int, seed: int) -> set[str]:
    return NAMES - left_out(ALL, share, seed)


def test_one_in_so_many_of_every_folder_is_taken() -> None:
    """Nine tests, and five with six that count as one."""
    for seed in range(20):
        found = taken(4, seed)
        assert len([name for name in found if "/many/" in name]) in (2, 3)
        units = {heavy.unit for heavy in ALL if heavy.test in found and "/few/" in heavy.test}
        assert len(units) in (1, 2)


def test_those_of_one_name_come_together() -> None:
    counts = {len(taken(4, seed) & {heavy.test for heavy in TOGETHER}) for seed in range(50)}
    assert counts == {0, 6}


def test_as_many_seeds_in_a_row_as_the_share_says_take_each_test_once() -> None:
    for first in (0, 7, 2**32 - 9):
        turns = [name for seed in range(first, first + 4) for name in taken(4, seed)]
        assert sorted(turns) == sorted(NAMES)
    assert taken(4, 7) == taken(4, 7)


def test_a_share_of_one_takes_all_and_a_single_test_is_always_taken() -> None:
    assert taken(1, 3) == NAMES
    assert all(not left_out([heavy], 4, seed) for heavy in ALL for seed in range(10))
