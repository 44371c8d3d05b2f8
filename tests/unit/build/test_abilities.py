"""The list of an artifact: from its machine code, with a word about its source; and what a record says of it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kernellab.build.abilities import (
    EDITION,
    INLINE_ASSEMBLY,
    abilities_of,
    for_review,
    from_code,
    in_words,
    misstated,
)
from kernellab.build.base import Built
from kernellab.build.bundle import Bundle, pack
from kernellab.core.targets import backends

pytestmark = pytest.mark.backend_c
COUNTS = """#include <time.h>
static int calls;
void k(const float *x, float *y, long n) { y[0] = calls++ + time(0); for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }"""
ASSEMBLY = """void k(const float *x, float *y, long n) { __asm__ volatile("" ::: "memory");
    for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }"""


def test_an_artifact_carries_its_list(build: Callable[..., Built]) -> None:
    artifact = build(COUNTS).artifact
    assert artifact.abilities == ["keeps 4 bytes of static memory", "reads a clock (time)"]
    assert artifact.abilities_edition == EDITION
    assert build(ASSEMBLY).artifact.abilities == [INLINE_ASSEMBLY]
    assert build().artifact.abilities == []


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ('asm("nop");', True), ("__asm volatile", True), ("// begin inline asm\n\t", True), ("-DSTEP=asm", True),
        ("/* asm */ x", False), ("// asm", False), ("plasma", False), ("tl.inline_asm_elementwise(", True),
    ],
)  # fmt: skip
def test_inline_assembly_is_found_by_its_word(text: str, has: bool, build: Callable[..., Built]) -> None:
    assert (INLINE_ASSEMBLY in abilities_of("c", build().timed.code, text)) is has


def test_a_record_that_says_else_than_the_code_is_found(build: Callable[..., Built]) -> None:
    built = build(COUNTS)
    assert misstated(built.artifact, built.codes) == ""
    less = built.artifact.model_copy(update={"abilities": built.artifact.abilities[:1]})
    assert misstated(less, built.codes) == "it reads a clock (time), and the record does not say so"
    more = built.artifact.model_copy(
        update={"abilities": [*built.artifact.abilities, "waits (pause)", INLINE_ASSEMBLY]}
    )
    assert misstated(more, built.codes) == "the record says that it waits (pause), and it does not"
    assert "cannot be read" in misstated(built.artifact, [b"\x7fELF garbage"])


@pytest.mark.parametrize("edition", [0, EDITION + 1])
def test_a_record_by_other_rules_is_not_held_against_these(edition: int, build: Callable[..., Built]) -> None:
    built = build(COUNTS)
    old = built.artifact.model_copy(update={"abilities": [], "abilities_edition": edition})
    assert misstated(old, built.codes) == ""


def test_a_record_of_an_earlier_edition_is_held_against_its_own_rules(build: Callable[..., Built]) -> None:
    """A checked read was nothing of note then, and a clock was."""
    built = build("long __read_chk(int, void *, unsigned long, unsigned long);\n" + COUNTS.replace(
        "y[0] =", "__read_chk(9, y, 4, 4); y[0] ="))  # fmt: skip
    now = set(built.artifact.abilities)
    assert "makes system calls itself (__read_chk)" in now
    before = built.artifact.model_copy(
        update={"abilities": sorted(now - {"makes system calls itself (__read_chk)"}), "abilities_edition": 1}
    )
    assert misstated(before, built.codes) == ""
    assert "reads a clock (time)" in misstated(before.model_copy(update={"abilities": []}), built.codes)
    assert "__read_chk" in misstated(before.model_copy(update={"abilities_edition": EDITION}), built.codes)


def test_clocks_and_the_like_are_for_review_and_memory_is_not() -> None:
    said = ["has inline assembly in its source", "keeps 4 bytes of static memory", "makes system calls itself (svc)",
            "reads a clock (rdtsc)", "uses atomics between blocks (RED)", "works with threads (GOMP_parallel)"]  # fmt: skip
    assert for_review(said) == ["makes system calls itself (svc)", "reads a clock (rdtsc)"]


def test_nothing_found_and_nothing_recorded_read_differently() -> None:
    assert in_words(None) == "not recorded"
    assert in_words([]).startswith("nothing but computing")
    assert in_words(["a", "b"]) == "a; b"


def test_a_list_costs_little_beside_a_build(build: Callable[..., Built]) -> None:
    code = build(COUNTS).timed.code
    from_code.cache_clear()
    started = time.process_time()
    from_code("c", code)
    assert time.process_time() - started < 0.1  # of this process's own time, whatever else runs here


def test_garbage_is_an_error_in_words() -> None:
    for backend in backends():
        for garbage in (b"", b"\x7fELF", b"nonsense", pack(Bundle((b"no cubin",), {}))):
            with pytest.raises(ValueError):
                from_code(backend, garbage)
