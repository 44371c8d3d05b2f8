from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.ledger.keys import SigningKey, load_or_create_key
from kernellab.ledger.trusted import PinnedKey, default_trusted, own_key, pinned_keys, read_trusted, signer_of


def test_without_any_pinned_key_a_ledger_is_self_signed_and_says_how_to_pin(key: SigningKey, tmp_path: Path) -> None:
    found = signer_of(key.public.hex, trusted=tmp_path / "trusted-keys")
    assert (found.name, found.pinned, found.problem) == ("self-signed", False, "")
    assert found.words == f"self-signed by key {key.fingerprint}"
    assert found.remark == f"self-signed: key {key.fingerprint} is pinned nowhere (--key pins it)"


def test_a_pinned_key_is_named_and_another_one_is_a_problem_that_names_both(key: SigningKey) -> None:
    for text in (key.fingerprint, key.public.hex):
        found = signer_of(key.public.hex, [PinnedKey(text, "the H200 lab")])
        assert (found.name, found.pinned, found.problem, found.remark) == ("the H200 lab", True, "", "")
        assert found.words == f"signed by the H200 lab (pinned), key {key.fingerprint}"
    other = SigningKey.generate()
    found = signer_of(key.public.hex, [PinnedKey(other.public.hex, "the H200 lab")], own=key.public)
    assert not found.pinned
    assert f"signed by key {key.fingerprint}, not by the pinned key {other.fingerprint} (the H200 lab)" in found.problem


def test_a_file_of_trusted_keys_names_its_keys_and_one_that_is_not_in_it_is_remarked(
    key: SigningKey, tmp_path: Path
) -> None:
    file, other = tmp_path / "trusted-keys", SigningKey.generate()
    file.write_text(f"# whom I believe\n\n{other.public.hex}\n{key.fingerprint.upper()}  lab one # its H200\n")
    assert [k.name for k in read_trusted(file)] == ["", "lab one # its H200"]
    assert signer_of(key.public.hex, trusted=file).words.startswith("signed by lab one # its H200 (pinned)")
    assert signer_of(other.public.hex, trusted=file).words.startswith(f"signed by key {other.fingerprint} (pinned)")
    third = SigningKey.generate()
    found = signer_of(third.public.hex, trusted=file)
    assert (found.problem, found.remark) == ("", f"self-signed: key {third.fingerprint} is not in {file}")


def test_ones_own_key_is_said_to_be_that(key: SigningKey) -> None:
    found = signer_of(key.public.hex, own=key.public)
    assert (found.name, found.pinned, found.remark) == ("your own key", False, "")
    assert found.words == f"signed by your own key {key.fingerprint}"


def test_a_ledger_that_names_no_key_is_signed_by_nobody() -> None:
    assert signer_of("").words == "signed by nobody: the run names no key"


def test_a_key_is_given_as_fingerprint_as_hex_or_as_a_file(key: SigningKey, tmp_path: Path) -> None:
    assert pinned_keys(key.fingerprint.upper()) == [PinnedKey(key.fingerprint)]
    assert pinned_keys(key.public.hex) == [PinnedKey(key.public.hex)]
    (tmp_path / "keys").write_text(f"{key.public.hex} ours")
    assert pinned_keys(str(tmp_path / "keys")) == [PinnedKey(key.public.hex, "ours")]
    with pytest.raises(UsageError, match="neither a key nor a file"):
        pinned_keys("1234")


@pytest.mark.parametrize("text", ["abc lab\n", "ssh-ed25519 AAAA lab\n", "-----BEGIN PRIVATE KEY-----\n"])
def test_a_line_that_names_no_key_is_refused_by_its_number(text: str, key: SigningKey, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{key.fingerprint}\n{text}")
    with pytest.raises(UsageError, match=re.escape(f"{tmp_path / 'keys'} line 2 names no key")):
        read_trusted(tmp_path / "keys")
    (tmp_path / "keys").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not a text file"):
        read_trusted(tmp_path / "keys")


def test_reading_makes_no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KLAB_HOME", str(tmp_path))
    assert own_key() is None
    assert list(tmp_path.iterdir()) == []
    mine = load_or_create_key()
    assert own_key() == mine.public
    (tmp_path / "signing-key").write_text("garbage")
    assert own_key() is None


def test_where_trusted_keys_live() -> None:
    assert default_trusted({"KLAB_HOME": "/k"}) == Path("/k/trusted-keys")
    assert default_trusted({"XDG_CONFIG_HOME": "/x"}) == Path("/x/kernellab/trusted-keys")
