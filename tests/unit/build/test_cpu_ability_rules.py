"""Names of functions, by edition: what a record was made by does not change."""

from __future__ import annotations

import pytest

from kernellab.build.cpu_ability_rules import CLOCK, EDITIONS, OTHERS, PLACE, SYSTEM, WAITS


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("__read_chk", SYSTEM), ("__pread64_chk", SYSTEM), ("__recv_chk", SYSTEM), ("__openat_2", SYSTEM), ("__read", SYSTEM),
        ("__poll_chk", WAITS), ("__nanosleep", WAITS), ("__libc_nanosleep", WAITS), ("__clock_gettime", CLOCK),
        ("__gettimeofday", CLOCK), ("sysinfo", CLOCK), ("__sched_getcpu", PLACE), ("__gethostname_chk", PLACE),
        ("__printf_chk", OTHERS), ("__longjmp_chk", OTHERS), ("__fdelt_chk", OTHERS), ("_ITM_beginTransaction", OTHERS),
    ],
)  # fmt: skip
def test_a_checked_or_internal_variant_is_what_it_is_a_variant_of(name: str, kind: str) -> None:
    assert EDITIONS[2].kind_of(name) == kind


@pytest.mark.parametrize(
    "name",
    ["memcpy", "__memcpy_chk", "__memset_chk", "__strcpy_chk", "__expf_finite", "__log_finite", "expf", "_ZGVnN4v_expf",
     "__stack_chk_fail", "__cxa_finalize", "_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable", "__gmon_start__",
     "__tls_get_addr", "__assert_fail"],
)  # fmt: skip
def test_copying_and_computing_are_nothing_of_note(name: str) -> None:
    assert [edition.kind_of(name) for edition in EDITIONS.values()] == ["", ""]


def test_the_first_edition_stays_as_it_was() -> None:
    names = ("__read_chk", "__poll_chk", "__printf_chk", "_ITM_beginTransaction")
    assert [EDITIONS[1].kind_of(name) for name in names] == [""] * 4
