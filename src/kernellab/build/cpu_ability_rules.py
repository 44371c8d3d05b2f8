"""Names and instructions by which machine code for a processor does more than compute, edition by edition.

An edition is never changed: a record is held against the words that it was made by. What the next one knows better stands
beside it. The second looks through the names that a C library gives its checked and internal variants (`__read_chk`,
`__clock_gettime`), of which the first took the checked ones for harmless, and knows more instructions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CLOCK, RANDOM, SYSTEM = "reads a clock", "asks for random numbers", "makes system calls itself"
PLACE, MODES = "asks where it runs", "changes the floating-point modes"
WAITS, OTHERS = "waits", "calls other functions"
UNREADABLE = "holds instructions that this version cannot read"
"""Of a GPU's module."""
_CALLS = (
    (CLOCK, r"clock(_gettime|_getres)?|time|times|gettimeofday|getrusage|timespec_get(res)?|ftime|omp_get_w(time|tick)"),
    (RANDOM, r"s?rand(_r|om(_r)?)?|[sdelmnj]rand48(_r)?|getrandom|getentropy|arc4random\w*"),
    ("allocates memory", r"[mcv]alloc|reallocarray|realloc|free|aligned_alloc|posix_memalign|memalign|m(un|re)?map(64)?"
                         r"|s?brk|memfd_create|shm\w+"),
    (SYSTEM, r"syscall|(f|v)?fork|exec\w+|kill|raise|sig\w+|prctl|ioctl|fcntl(64)?|ptrace|mprotect|madvise"
             r"|p?(read|write)v?(64)?|f?open(at)?(64)?|f?close|socket\w*|connect|send\w*|recv\w*|process_vm_\w+|futex\w*|io_\w+|pipe2?|dup[23]?"),
    ("loads code at run time", r"dl\w+|__libc_dl\w+"),
    (MODES, r"fe(set|hold|update|enable|disable)\w+"),
    (PLACE, r"sched_getcpu|getcpu|sysconf|get_nprocs\w*|getauxval|gethost\w+|uname|get(p|t)id|getenv|secure_getenv"),
    ("keeps state in the C library", r"setenv|unsetenv|putenv|clearenv|strtok|setlocale|atexit|on_exit|__cxa_atexit"
                                     r"|__errno_location|set(jmp|vbuf)|tmpnam|getopt"),
    (WAITS, r"(nano|u)?sleep|clock_nanosleep|sched_yield|p?poll|p?select|epoll\w+|pause"),
    ("works with threads", r"pthread_\w+|GOMP_\w+|omp_\w+|__kmpc_\w+|thrd_\w+|mtx_\w+|cnd_\w+|tss_\w+|sem_\w+"),
)  # fmt: skip
_ANY_VARIANT, _ANY_MEMORY = r"|__\w+_(finite|chk)", r"|_ITM_\w+"
_HARMLESS = (
    r"mem(cpy|set|move|cmp|chr)|str(len|n?cmp|n?cpy|chr)|__cxa_finalize|__gmon_start__"
    + _ANY_MEMORY
    + r"|__stack_chk_(fail|guard)"
    r"|__tls_get_addr|abort|__assert_fail|_(_mem\w+|mcount)|qsort|bsearch|l?l?abs|_ZGV\w+"
    + _ANY_VARIANT
    + r"|(a?(cos|sin|tan)h?|atan2|exp(2|10|m1)?|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?|[lt]gamma|fabs|floor|ceil|trunc"
    r"|l?l?r(ound|int)|nearbyint|roundeven|fmod|remainder|fma|fmin|fmax|fdim|ldexp|frexp|scalbl?n|modf|copysign|nextafter"
    r"|sincos|nan|ilogb|logb)[fl]?"
)
_ARM = (
    (CLOCK, "cntvct_el0", 0xFFFFFFE0, 0xD53BE040), (CLOCK, "cntpct_el0", 0xFFFFFFE0, 0xD53BE020),
    (CLOCK, "cntvctss_el0", 0xFFFFFFE0, 0xD53BE0C0), (CLOCK, "cntpctss_el0", 0xFFFFFFE0, 0xD53BE0A0),
    (CLOCK, "pmccntr_el0", 0xFFFFFFE0, 0xD53B9D00), (CLOCK, "pmevcntr_el0", 0xFFFFFC00, 0xD53BE800),
    (RANDOM, "rndr", 0xFFFFFFE0, 0xD53B2400), (RANDOM, "rndrrs", 0xFFFFFFE0, 0xD53B2420),
    (SYSTEM, "svc", 0xFFE0001F, 0xD4000001), (PLACE, "midr_el1", 0xFFFFF000, 0xD5380000),
    (MODES, "fpcr", 0xFFFFFFE0, 0xD51B4400),
)  # fmt: skip
_INTEL = (
    (CLOCK, "rdtsc", b"\x0f\x31"), (CLOCK, "rdtscp", b"\x0f\x01\xf9"), (CLOCK, "rdpmc", b"\x0f\x33"),
    (SYSTEM, "syscall", b"\x0f\x05"), (SYSTEM, "sysenter", b"\x0f\x34"), (SYSTEM, "int", b"\xcd\x80"),
    (PLACE, "cpuid", b"\x0f\xa2"), (PLACE, "rdpid", b"\x0f\xc7"), (RANDOM, "rdrand", b"\x0f\xc7"),
    (RANDOM, "rdseed", b"\x0f\xc7"), (MODES, "ldmxcsr", b"\xae"),
)  # fmt: skip
_MORE_ARM = (
    (CLOCK, "pmxevcntr_el0", 0xFFFFFFE0, 0xD53B9D40), (PLACE, "cntfrq_el0", 0xFFFFFFE0, 0xD53BE000),
    (MODES, "fpsr", 0xFFFFFFE0, 0xD51B4420), (WAITS, "wfe", 0xFFFFFFFF, 0xD503205F), (WAITS, "wfi", 0xFFFFFFFF, 0xD503207F),
    (WAITS, "wfet", 0xFFFFFFE0, 0xD5031000), (WAITS, "wfit", 0xFFFFFFE0, 0xD5031020),
)  # fmt: skip
_MORE_INTEL = (
    (CLOCK, "rdpru", b"\x0f\x01\xfd"), (PLACE, "lsl", b"\x0f\x03"), (PLACE, "lar", b"\x0f\x02"),
    (PLACE, "sldt", b"\x0f\x00"), (PLACE, "str", b"\x0f\x00"), (PLACE, "sgdt", b"\x0f\x01"), (PLACE, "sidt", b"\x0f\x01"),
    (PLACE, "smsw", b"\x0f\x01"), (PLACE, "xgetbv", b"\x0f\x01\xd0"), (MODES, "fxrstor", b"\x0f\xae"),
    (MODES, "xrstor", b"\x0f\xae"), (WAITS, "tpause", b"\x0f\xae"), (WAITS, "umwait", b"\x0f\xae"),
)  # fmt: skip
_MORE_CALLS = (
    (CLOCK, r"adjtimex|clock_adjtime|ntp_\w+|sysinfo|[gs]etitimer|timer(fd)?_\w+|clock_getcpuclockid"),
    (PLACE, r"getloadavg|getpagesize|get_(av)?phys_pages|getdomainname|getcwd"),
    (WAITS, r"sigsuspend|sigwait\w*|sigtimedwait|thrd_sleep|select"),
)
_DRESSED = re.compile(r"_*(?:libc_|IO_)?(\w+?)(?:_chk|_finite|_2)?")


@dataclass(frozen=True)
class Edition:
    """`calls`: by kind, the names of functions; `harmless`: those that only compute or copy. `arm`: by kind, name, mask and
    value of a word; `intel`: by kind, name and bytes that it holds. `looks_through`: a name may be another's variant."""

    calls: tuple[tuple[str, re.Pattern[str]], ...]
    harmless: re.Pattern[str]
    arm: tuple[tuple[str, str, int, int], ...]
    intel: tuple[tuple[str, str, bytes], ...]
    looks_through: bool = False

    def kind_of(self, name: str) -> str:
        """What a function of another library does, '' where it only computes."""
        names = (name, *_plain(name)) if self.looks_through else (name,)
        known = (what for each in names for what, pattern in self.calls if pattern.fullmatch(each))
        if found := next(known, ""):
            return found
        return "" if any(self.harmless.fullmatch(each) for each in names) else OTHERS


def _plain(name: str) -> list[str]:
    """The function that this one is a checked, internal or finite variant of."""
    found = _DRESSED.fullmatch(name)
    return [found[1]] if found is not None and found[1] != name else []


def _compiled(calls: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((what, re.compile(names)) for what, names in calls)


_FIRST = Edition(_compiled(_CALLS), re.compile(_HARMLESS), _ARM, _INTEL)
_SECOND = Edition(
    calls=_compiled((*_CALLS, *_MORE_CALLS)),
    harmless=re.compile(_HARMLESS.replace(_ANY_VARIANT, "").replace(_ANY_MEMORY, r"|_ITM_(de)?registerTMCloneTable")),
    arm=(*_ARM, *_MORE_ARM),
    intel=(*_INTEL, *_MORE_INTEL),
    looks_through=True,
)
EDITIONS = {1: _FIRST, 2: _SECOND}
