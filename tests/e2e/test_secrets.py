"""Keys in klab's environment stay there: no candidate sees them and no file of a run holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import Klab
from .conftest import SHAPE, bodies, candidate

pytestmark = pytest.mark.backend_c
SECRET = "secret-xyz-4711"
PYTHON = candidate(launch="import os\n\ndef launch(x, y):\n    raise ValueError('SEEN ' + str(os.environ))\n")
FILES = candidate(
    launch="""
def launch(x, y):
    seen = ""
    for place in ("self", "1", "2", "3", "thread-self"):
        try:
            seen += open(f"/proc/{place}/environ").read() + open(f"/proc/{place}/cmdline").read()
        except OSError as err:
            seen += f"({err.errno})"
    raise ValueError("SEEN " + seen)
"""
)
KERNEL = candidate(r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
extern char **environ;
void cube(const float *x, float *y, long n) {
    static char text[20000];
    int fd = open("/proc/self/environ", O_RDONLY);
    if (fd >= 0) for (long got; (got = read(fd, text, sizeof text)) > 0; ) write(2, text, got);
    for (char **e = environ; e && *e; e++) dprintf(2, "%s\n", *e);
    dprintf(2, "SEEN %s %s\n", getenv("OPENAI_API_KEY") ? getenv("OPENAI_API_KEY") : "nothing", getenv("HOME") ? getenv("HOME") : "");
    _exit(3);
}
""")


@pytest.mark.sample(1)
@pytest.mark.parametrize("tier", ["auto", "T2"])
def test_no_candidate_sees_a_key_and_no_record_holds_it(tier: str, klab: Klab, files: Path, tmp_path: Path) -> None:
    names = {"python": PYTHON, "files": FILES, "kernel": KERNEL}
    given: list[object] = []
    for name, text in names.items():
        (tmp_path / f"{name}.py").write_text(text)
        given += ["--candidate", tmp_path / f"{name}.py"]
    keys = {"OPENAI_API_KEY": SECRET, "ANTHROPIC_API_KEY": SECRET, "MY_TOKEN": SECRET}
    done = klab("run", files / "cube.py", "--shape", SHAPE, "--effort", "quick", "--trials", 3, "--sandbox", tier, "--out", tmp_path / "run",
                "--json", *given, env=keys)  # fmt: skip
    assert done.code == 4, done.err
    assert SECRET not in done.out + done.err
    by_name = {t["proposal"]["name"]: t for t in bodies(tmp_path / "run", "trial")}
    assert "SEEN environ(" in by_name["python"]["reason"]
    assert "SEEN" in by_name["files"]["reason"]
    assert by_name["kernel"]["status"] == "rejected"
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
