"""Against a real authority: `openssl ts`, with a CA made here."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.authority import OPENSSL, Authority

from kernellab.ledger.timestamp import BadReply, imprint_of, read_reply, request

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl plays the authority")
ROOT = "6de028183ddc1c929303b80a1e4bcd6bac4a27e6d12284a35cbf20ac981d6b03"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tsa") / "rsa")


@pytest.fixture(scope="module")
def reply(authority: Authority) -> Path:
    query = authority.folder / "root.tsq"
    query.write_bytes(request(ROOT))
    return authority.answer(query, authority.folder / "root.tsr")


@pytest.mark.heavy
def test_openssl_reads_the_request_as_one_for_the_sha256_of_the_root_with_certificate(authority: Authority) -> None:
    query = authority.folder / "asked.tsq"
    query.write_bytes(request(ROOT))
    done = subprocess.run(
        ["openssl", "ts", "-query", "-in", query, "-text"], capture_output=True, text=True, check=True
    )
    assert "Hash Algorithm: sha256" in done.stdout
    assert "Certificate required: yes" in done.stdout
    (authority.folder / "root.txt").write_text(ROOT)
    again = ["openssl", "ts", "-query", "-data", authority.folder / "root.txt", "-sha256", "-cert", "-no_nonce"]
    assert subprocess.run(again, capture_output=True, check=True).stdout == request(ROOT)


@pytest.mark.heavy
@pytest.mark.parametrize(("sort", "digest"), [("rsa", "sha256"), ("rsa", "sha512"), ("ec", "sha256")])
def test_a_reply_gives_imprint_time_and_name_and_its_signature_is_checked(
    sort: str, digest: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "tsa", sort, digest)
    (tmp_path / "q").write_bytes(request(ROOT))
    reply = authority.answer(tmp_path / "q", tmp_path / "r")
    stamp = read_reply(reply.read_bytes())
    assert stamp.imprint == imprint_of(ROOT)
    assert stamp.authority == "CN=Test Time Stamps"
    assert abs(datetime.fromisoformat(stamp.time) - datetime.now(UTC)) < timedelta(minutes=10)
    assert stamp.signed == "not-asked"
    assert read_reply(reply.read_bytes(), authority.ca.read_bytes()).signed == "ca"
    assert authority.verifies(reply, stamp.imprint)


def test_a_changed_time_or_imprint_or_signature_is_found(authority: Authority, reply: Path) -> None:
    data = reply.read_bytes()
    for part in (bytes.fromhex(imprint_of(ROOT)), read_reply(data).time[:4].encode()):
        at = data.index(part)
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises(BadReply, match="it was edited"):
            read_reply(changed)
    with pytest.raises(BadReply, match="signature does not fit"):
        read_reply(data[:-1] + bytes([data[-1] ^ 1]))


def test_another_ca_does_not_vouch_for_the_authority(reply: Path, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    with pytest.raises(BadReply, match="no given CA vouches for 'CN=Test Time Stamps'"):
        read_reply(reply.read_bytes(), other.ca.read_bytes())


def test_a_certificate_that_is_not_for_time_stamps_signs_none(reply: Path, authority: Authority) -> None:
    """The purpose stands in the certificate; one byte makes it another purpose."""
    data = reply.read_bytes()
    purpose = bytes.fromhex("06082b06010505070308")
    assert data.count(purpose) == 1
    with pytest.raises(BadReply, match="not one for time stamps"):
        read_reply(data.replace(purpose, bytes.fromhex("06082b06010505070301")))


def test_a_refusal_is_no_time_stamp(authority: Authority, tmp_path: Path) -> None:
    """The authority knows no SHA-1, so it says no."""
    (tmp_path / "data").write_text(ROOT)
    query = ["openssl", "ts", "-query", "-data", tmp_path / "data", "-sha1", "-out", tmp_path / "q"]
    subprocess.run(query, capture_output=True, check=True)
    refused = authority.answer(tmp_path / "q", tmp_path / "r").read_bytes()
    with pytest.raises(BadReply, match="did not grant it"):
        read_reply(refused)


def test_a_reply_without_its_certificate_is_refused_in_words(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "data").write_text(ROOT)
    query = ["openssl", "ts", "-query", "-data", tmp_path / "data", "-sha256", "-out", tmp_path / "q"]
    subprocess.run(query, capture_output=True, check=True)
    with pytest.raises(BadReply, match="does not carry the certificate"):
        read_reply(authority.answer(tmp_path / "q", tmp_path / "r").read_bytes())


@pytest.mark.parametrize("length", [0, 1, 10, 100, 500])
def test_anything_else_is_not_a_reply(length: int, reply: Path) -> None:
    with pytest.raises(BadReply, match="not a time-stamp reply"):
        read_reply(reply.read_bytes()[:length])
    with pytest.raises(BadReply, match="not a time-stamp reply"):
        read_reply(b"<html>" + b"x" * length)
