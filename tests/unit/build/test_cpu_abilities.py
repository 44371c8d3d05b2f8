"""Shared objects from the real compiler, built in the sandbox, and what is read from them."""

from __future__ import annotations

import platform
import re
import struct
from collections.abc import Callable

import pytest

from kernellab.build.abilities import EDITION
from kernellab.build.base import Built
from kernellab.build.cpu_abilities import CLOCK, MODES, PLACE, RANDOM, SYSTEM, of_shared_object

pytestmark = pytest.mark.backend_c
BODY = "void k(const float *x, float *y, long n) { %s for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }"
ARM = platform.machine() == "aarch64"
READS_THE_CLOCK = 'unsigned long t; __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));' if ARM else (
    'unsigned a, d; __asm__ volatile("rdtsc" : "=a"(a), "=d"(d));')  # fmt: skip
CALLS_THE_SYSTEM = '__asm__ volatile("svc #7");' if ARM else '__asm__ volatile("syscall" ::: "rcx", "r11", "memory");'
SETS_MODES = (
    'unsigned long m = 0; __asm__ volatile("msr fpcr, %0" :: "r"(m));'
    if ARM
    else 'unsigned m = 0x1f80; __asm__ volatile("ldmxcsr %0" :: "m"(m));'
)


@pytest.fixture(scope="module")
def found(build: Callable[..., Built]) -> Callable[..., dict[str, set[str]]]:
    def read(before: str = "", head: str = "", source: str = "") -> dict[str, set[str]]:
        return of_shared_object(build(head + (source or BODY % before)).timed.code, EDITION)

    return read


def test_a_plain_kernel_can_do_nothing_else(found: Callable[..., dict[str, set[str]]]) -> None:
    assert found() == {}


@pytest.mark.parametrize(
    ("before", "head", "what", "how"),
    [
        (READS_THE_CLOCK, "", CLOCK, "cntvct_el0" if ARM else "rdtsc"),
        (CALLS_THE_SYSTEM, "", SYSTEM, "svc" if ARM else "syscall"),
        (SETS_MODES, "", MODES, "fpcr" if ARM else "ldmxcsr"),
        ("struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);", "#include <time.h>\n", CLOCK, "clock_gettime"),
        ("y[0] = rand();", "#include <stdlib.h>\n", RANDOM, "rand"),
        ("y[0] = sysconf(84);", "#include <unistd.h>\n", PLACE, "sysconf"),
        ("y[0] = (long)malloc(n);", "#include <stdlib.h>\n", "allocates memory", "malloc"),
        ('setenv("A", "B", 1);', "#include <stdlib.h>\n", "keeps state in the C library", "setenv"),
        ('dlopen("x", 1);', "void *dlopen(const char *, int);\n", "loads code at run time", "dlopen"),
        ("pthread_exit(y);", "#include <pthread.h>\n", "works with threads", "pthread_exit"),
        ("puts((void *)x);", "int puts(const char *);\n", "calls other functions", "puts"),
        ("sched_yield();", "#include <sched.h>\n", "waits", "sched_yield"),
    ],
)  # fmt: skip
def test_what_it_can_do_is_named_with_how(
    before: str, head: str, what: str, how: str, found: Callable[..., dict[str, set[str]]]
) -> None:
    assert found(before, head) == {what: {how}}


def test_mathematics_and_copying_are_nothing_of_note(found: Callable[..., dict[str, set[str]]]) -> None:
    head = "#include <math.h>\n#include <string.h>\n"
    assert (
        found("memcpy(y, x, n); y[0] = expf(x[0]) + powf(x[1], x[2]) + erf(x[3]) + fmaf(x[0], x[1], x[2]);", head) == {}
    )


@pytest.mark.parametrize(
    ("before", "head", "what"),
    [
        ("y[0] = calls++;", "static int calls;\n", "keeps 4 bytes of static memory"),
        ("y[0] = many[n]++;", "static int many[1000];\n", r"keeps 40[0-9]{2} bytes of static memory"),  # and what aligns them
        ("y[0] = calls++;", "static _Thread_local long calls;\n", "bytes of thread-local memory"),
        ("y[0] = ready;", "static volatile int ready;\n__attribute__((constructor)) static void f(void) { ready = 1; }\n",
         "runs code when it is loaded or unloaded"),
        ("", 'static void a(float *y) { y[0] = 1; }\nstatic void *r(void) { return a; }\n'
             'void b(float *) __attribute__((ifunc("r")));\n', "chooses its functions when it is loaded"),
    ],
)  # fmt: skip
def test_memory_and_loading_are_told(
    before: str, head: str, what: str, found: Callable[..., dict[str, set[str]]]
) -> None:
    assert any(re.search(what, said) for said in found(before, head)), found(before, head)


def test_constant_tables_of_functions_are_not_memory_of_its_own(found: Callable[..., dict[str, set[str]]]) -> None:
    head = "double sin(double);\ndouble cos(double);\nstatic double (*const each[])(double) = {sin, cos};\n"
    assert found("y[0] = each[n & 1](1.0);", head) == {}


def test_memory_both_writable_and_executable_is_told(build: Callable[..., Built]) -> None:
    image = bytearray(build(BODY % "").timed.code)
    (table,) = struct.unpack_from("<Q", image, 0x20)
    struct.pack_into("<I", image, table + 4, 7)
    assert "has memory that is both writable and executable" in of_shared_object(bytes(image), EDITION)


def intel(code: str, edition: int = EDITION) -> dict[str, set[str]]:
    """The smallest x86-64 file with one executable section of these bytes."""
    text = bytes.fromhex(code)
    header = b"\x7fELF\x02\x01" + bytes(10) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, 2, 0)
    null, section = bytes(64), struct.pack("<IIQQQQIIQQ", 0, 1, 6, 0, 192, len(text), 0, 0, 1, 0)
    return of_shared_object(header + null + section + text, edition)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("55 0f31 c3", {CLOCK: {"rdtsc"}}), ("0f01f9", {CLOCK: {"rdtscp"}}), ("0f33", {CLOCK: {"rdpmc"}}),
        ("0fc7f0 480fc7f9", {RANDOM: {"rdrand", "rdseed"}}), ("f30fc7f8", {PLACE: {"rdpid"}}), ("0fa2", {PLACE: {"cpuid"}}),
        ("0f05 cd80", {SYSTEM: {"int", "syscall"}}), ("0fae1424", {MODES: {"ldmxcsr"}}),
        ("b80f310f05 c3", {}), ("0f840f310000 c3", {}), ("0faef0", {}), ("90 c3", {}),
        ("06 0f31", {f"may do so: {CLOCK}": {"rdtsc"}}),
        ("0f01fd", {CLOCK: {"rdpru"}}), ("0f03c1", {PLACE: {"lsl"}}), ("0f02c1", {PLACE: {"lar"}}), ("0f00c8", {PLACE: {"str"}}),
        ("0f010424", {PLACE: {"sgdt"}}), ("0f010c24", {PLACE: {"sidt"}}), ("0f01e0", {PLACE: {"smsw"}}),
        ("0f01d0", {PLACE: {"xgetbv"}}), ("0fae0c24", {MODES: {"fxrstor"}}), ("0fae2c24", {MODES: {"xrstor"}}),
        ("660faef1", {"waits": {"tpause"}}), ("f20faef1", {"waits": {"umwait"}}), ("0faee8 0faef8", {}), ("b80f03c100 c3", {}),
    ],
)  # fmt: skip
def test_x86_instructions_are_told_from_constants(code: str, expected: dict[str, set[str]]) -> None:
    assert intel(code) == expected


@pytest.mark.parametrize("code", ["0f01fd", "0f03c1", "0fae0c24", "660faef1"])
def test_the_first_edition_knows_none_of_what_came_later(code: str) -> None:
    assert intel(code, edition=1) == {}


@pytest.mark.parametrize("image", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 58, b"MZ" * 50])
def test_garbage_is_an_error_in_words(image: bytes) -> None:
    with pytest.raises(ValueError, match="ELF"):
        of_shared_object(image, EDITION)
