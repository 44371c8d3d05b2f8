from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault
from kernellab.ledger.keys import PublicKey, SigningKey, default_key_path, load_or_create_key


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "signing-key"
    first, second = load_or_create_key(path), load_or_create_key(path)
    assert first.public == second.public
    assert path.stat().st_mode & 0o777 == 0o600
    assert [child.name for child in path.parent.iterdir()] == ["signing-key"]


def test_of_many_creators_at_once_all_get_the_same_key(tmp_path: Path) -> None:
    path, start, found = tmp_path / "signing-key", threading.Barrier(8), []

    def create() -> None:
        start.wait()
        found.append(load_or_create_key(path).public)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_home_that_cannot_be_written_is_a_fault_that_names_another_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    path = tmp_path / "file" / "kernellab" / "signing-key"
    with pytest.raises(EnvironmentFault) as fault:
        load_or_create_key(path)
    assert fault.value.exit_code == 5
    assert str(path) in fault.value.what
    assert "KLAB_HOME" in fault.value.fix


def test_a_damaged_key_file_is_a_fault_with_a_fix_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "signing-key"
    path.write_text("garbage")
    with pytest.raises(EnvironmentFault) as fault:
        load_or_create_key(path)
    assert str(path) in fault.value.fix
    assert path.read_text() == "garbage"


def test_where_the_key_lives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    every = {"KLAB_HOME": "/k", "XDG_CONFIG_HOME": "/x"}
    assert default_key_path(every) == Path("/k/signing-key")
    assert default_key_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/kernellab/signing-key")
    assert default_key_path({}) == Path("~/.config/kernellab/signing-key").expanduser()
    monkeypatch.setenv("KLAB_HOME", str(tmp_path))
    assert load_or_create_key().public == load_or_create_key(tmp_path / "signing-key").public


def test_a_signature_holds_for_its_data_and_key_only() -> None:
    key, other = SigningKey.generate(), SigningKey.generate()
    signature = key.sign(b"data")
    assert key.public.verifies(signature, b"data")
    assert not key.public.verifies(signature, b"Data")
    assert not key.public.verifies(signature[:-1], b"data")
    assert not other.public.verifies(signature, b"data")


def test_the_fingerprint_is_the_start_of_the_hash_of_the_raw_key() -> None:
    key = PublicKey(bytes(range(32)))
    assert key.fingerprint == hashlib.sha256(bytes(range(32))).hexdigest()[:16]
    with pytest.raises(ValueError, match="32 bytes"):
        PublicKey(b"short")
