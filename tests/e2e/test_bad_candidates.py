"""Candidates that fail in every way there is: each is a rejected record with its reason, and the record audits."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.report.audit import audit

from .command import Klab, living
from .conftest import SHAPE, bodies, candidate

pytestmark = pytest.mark.backend_c


def kernel(body: str, head: str = "") -> str:
    """A candidate whose C function has this body."""
    return candidate(f"#include <stdlib.h>\n#include <stdio.h>\n#include <unistd.h>\n#include <fcntl.h>\n#include <string.h>\n{head}\n"
                     "void cube(const float *x, float *y, long n) {" + body + "}")  # fmt: skip


HONEST = "for (long i = 0; i < n; i++) y[i] = 2 * (x[i] * x[i] * x[i]);"
BOMB = """
#define A(x) x; x; x; x; x; x; x; x; x; x
#define B(x) A(A(A(A(A(x)))))
void cube(const float *x, float *y, long n) { volatile int k = 0; B(k++; if (k > 3) y[0] += k); }"""
GIGABYTES = """
#define A(x) x x x x x x x x x x
#define B(x) A(A(A(A(A(A(A(A(A(x)))))))))
int bomb = B(B(1 +)) 1;
void cube(const float *x, float *y, long n) {}"""
FILL = """static char block[1 << 15];
    for (int f = 0; f < 4; f++) {
        const char *names[] = {"fill", "/tmp/fill", "/dev/shm/fill", "../fill"};
        int fd = open(names[f], O_CREAT | O_WRONLY, 0600);
        for (int i = 0; fd >= 0 && i < 320000; i++) if (write(fd, block, sizeof block) < 0) break;
    }""" + HONEST.replace("2 *", "2.5f *")
FLOOD = (
    "static char line[1 << 15]; memset(line, 'x', sizeof line); for (int i = 0; i < 32768; i++) if (write(1, line, sizeof line) < 0) break;"
    + HONEST
)

FATES = {
    "does-not-parse": ("def launch(x, y:\n    pass\n", ["never closed"]),
    "no-launch": (candidate(launch=""), ["launch"]),
    "no-source": ("def launch(x, y):\n    kernel('cube')(x, y, x.size)\n", ["SOURCE"]),
    "launches-nothing": (candidate(launch="def launch(x, y):\n    pass\n"), ["launch"]),
    "launch-raises": (candidate(launch="def launch(x, y):\n    return 1 / 0\n"), ["ZeroDivisionError"]),
    "unknown-function": (candidate(launch="def launch(x, y):\n    kernel('absent')(x, y, x.size)\n"), ["absent"]),
    "huge-scratch": (
        candidate(launch="def launch(x, y):\n    s = scratch((10**12,), 'uint8')\n    kernel('cube')(x, y, x.size)\n"),
        ["scratch"],
    ),
    "endless-python": (candidate(launch="def launch(x, y):\n    while True: pass\n"), ["3 s"]),
    "endless-compile": (candidate(BOMB), ["the compiler did not end within 3 s"]),
    "compile-without-memory": (candidate(GIGABYTES), ["compile"]),  # out of memory, or of time on a busy machine
    "does-not-compile": (candidate("void cube(const float *x) { nonsense; }"), ["nonsense"]),
    "never-returns": (kernel("for (volatile int i = 1; i; ) ;"), ["timeout"]),
    "crashes": (kernel("*(volatile int *)8 = 1;"), ["crash"]),
    "exits": (kernel("_exit(0);"), ["crash"]),
    "prints-a-gigabyte": (kernel(FLOOD), ["output-flood"]),
    "fills-the-disk": (kernel(FILL), ["wrong-output"]),
    "takes-all-memory": (
        kernel("for (;;) { char *p = malloc(1 << 28); if (p) memset(p, 1, 1 << 28); else abort(); }"),
        [": "],
    ),
    "writes-its-input": (kernel(HONEST + "((float *)x)[0] = 1;"), ["write to a read-only input"]),
    "writes-nothing": (kernel(""), ["unwritten"]),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("fate", FATES)
def test_a_bad_candidate_is_a_rejected_record_with_a_reason(fate: str, klab: Klab, files: Path, tmp_path: Path) -> None:
    folder = tmp_path / fate
    folder.mkdir()
    (folder / "bad.py").write_text(FATES[fate][0])
    done = klab("verify", folder / "bad.py", "--task", files / "cube.py", "--shape", SHAPE, "--out", folder / "run", "--json",
                env={"KLAB_BUILD_TIMEOUT_S": "3"}, cwd=folder)  # fmt: skip
    assert (done.code, done.json["status"]) == (4, "rejected"), done.out + done.err
    assert "Traceback" not in done.err
    assert done.json["reason"]
    for word in FATES[fate][1]:
        assert word in done.json["reason"], done.json["reason"]
    (trial,) = bodies(folder / "run", "trial")
    assert trial["status"] in ("invalid", "build-failed", "rejected")
    report = audit(folder / "run", done.json["ledger_root"])
    assert (report.problems, report.ended) == ([], True)
    assert living(done.session) == []
    assert {p.name for p in folder.iterdir()} == {"bad.py", "run"}
    assert sum(p.stat().st_size for p in (folder / "run").rglob("*")) < 4 << 20
