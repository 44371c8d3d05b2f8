from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernellab.core.errors import LedgerFault
from kernellab.core.ids import sha256_hex
from kernellab.ledger.store import Store


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_blob_comes_back_under_its_hash(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sha = store.put(b"machine code")
    assert sha == sha256_hex(b"machine code")
    assert store.get(sha) == b"machine code"
    assert files(tmp_path) == [tmp_path / "artifacts" / sha[:2] / sha] == [store.path(sha)]


def test_putting_the_same_bytes_again_does_not_touch_the_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.path(store.put(b""))
    before = path.stat()
    store.put(b"")
    assert path.stat().st_ino == before.st_ino


def test_a_corrupt_blob_is_refused_and_then_replaced_by_a_put(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sha = store.put(b"plan")
    store.path(sha).write_bytes(b"evil")
    with pytest.raises(LedgerFault, match="corrupt") as fault:
        store.get(sha)
    assert fault.value.fix
    assert store.put(b"plan") == sha
    assert store.get(sha) == b"plan"


def test_verify_names_the_missing_and_the_corrupt(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sound, corrupt, missing = store.put(b"a"), store.put(b"b"), sha256_hex(b"c")
    store.path(corrupt).write_bytes(b"x")
    problems = store.verify([sound, corrupt, missing])
    assert len(problems) == 2
    assert corrupt in problems[0]
    assert "corrupt" in problems[0]
    assert missing in problems[1]
    assert "missing" in problems[1]


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_what_is_not_a_hash_names_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(LedgerFault, match="does not name a blob"):
        Store(tmp_path).path(name)


def test_a_full_disk_is_a_fault_with_a_fix_and_leaves_no_file(tmp_path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from kernellab.core.errors import LedgerFault
from kernellab.ledger.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
store = Store(Path(sys.argv[1]))
store.put(b"small")
try:
    store.put(b"x" * 5000)
except LedgerFault as fault:
    print(fault.fix)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "klab resume" in done.stdout
    assert files(tmp_path) == [Store(tmp_path).path(sha256_hex(b"small"))]
