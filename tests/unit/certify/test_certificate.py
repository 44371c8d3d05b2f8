"""The signed file: any change shows, and bad files are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernellab.certify.certificate import Certificate, read_certificate, write_certificate, write_whole
from kernellab.core.errors import KlabError, LedgerFault, UsageError
from kernellab.ledger.keys import SigningKey, load_or_create_key


def test_reads_back_what_was_written(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    assert read_certificate(path) == certificate
    assert read_certificate(path).id == certificate.id


def test_a_speed_up_is_never_printed_without_its_interval_and_its_dropped_pairs(
    issued: tuple[Certificate, Path],
) -> None:
    figures = {
        "baseline": "torch",
        "pairs": 25,
        "dropped": 466,
        "speedup": 5.47,
        "speedup_low": 5.1,
        "speedup_high": 6.0,
    }
    speed = issued[0].speed.model_copy(update=figures)
    assert speed.figure == "5.470x of torch [5.100, 6.000] (25 pairs, 466 of 491 tries dropped)"


def test_what_older_certificates_lack_is_not_in_what_was_signed(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    shapes = certificate.shapes.model_copy(update={"parts": {}})
    older = certificate.model_copy(
        update={"shapes": shapes, "kernel": certificate.kernel.model_copy(update={"text": ""})}
    )
    key = SigningKey.generate()
    signed = older.model_copy(update={"public_key": key.public.hex}).signed(key)
    said = json.loads(signed.statement())
    assert "parts" not in said["shapes"]
    assert "text" not in said["kernel"]
    write_certificate(path, signed)
    assert read_certificate(path) == signed


def leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if isinstance(value, dict):
        return [leaf for k, v in value.items() for leaf in leaves(v, (*path, k))]
    return [path]


def test_every_changed_field_is_found(issued: tuple[Certificate, Path]) -> None:
    _, path = issued
    text = path.read_text()
    found = leaves(json.loads(text))
    assert len(found) > 50
    for leaf in found:
        data = json.loads(text)
        place = data
        for key in leaf[:-1]:
            place = place[key]
        old = place[leaf[-1]]
        place[leaf[-1]] = (
            (not old)
            if isinstance(old, bool)
            else old + 1
            if isinstance(old, (int, float))
            else []
            if isinstance(old, list)
            else f"{old}0"
        )
        if place[leaf[-1]] == old:
            continue
        path.write_text(json.dumps(data))
        with pytest.raises(KlabError):
            read_certificate(path)


def test_another_key_cannot_sign_for_the_laboratory(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    write_certificate(path, certificate.signed(SigningKey.generate()))
    with pytest.raises(LedgerFault, match=f"signature does not fit key {certificate.signer.fingerprint}"):
        read_certificate(path)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"format": 1}'])
def test_other_files_are_no_certificates(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UsageError, match="not a certificate"):
        read_certificate(tmp_path / "x.json")


def test_what_is_wrong_is_said_in_words(issued: tuple[Certificate, Path]) -> None:
    _, path = issued
    data = json.loads(path.read_text())
    for changed, words in (
        ([], "it holds no fields"),
        ({**data, "speed": {**data["speed"], "note": 1}}, r"speed\.note: extra"),
    ):
        path.write_text(json.dumps(changed))
        with pytest.raises(UsageError, match=rf"is not a certificate \({words}"):
            read_certificate(path)


def test_a_key_that_stands_twice_is_refused(issued: tuple[Certificate, Path]) -> None:
    _, path = issued
    path.write_text('{"speed": {"speedup": 99},' + path.read_text().removeprefix("{"))
    with pytest.raises(UsageError, match="'speed' stands in it twice"):
        read_certificate(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no\.json cannot be read"):
        read_certificate(tmp_path / "no.json")


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(KlabError):
        write_whole(tmp_path / "taken", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_certificate_from_before_abilities_were_listed_is_still_genuine(issued: tuple[Certificate, Path]) -> None:
    certificate, path = issued
    assert certificate.kernel.abilities is not None
    older = certificate.model_copy(update={"kernel": certificate.kernel.model_copy(update={"abilities": None})})
    write_certificate(path, older.signed(load_or_create_key()))
    assert "abilities" not in json.loads(path.read_text())["kernel"]
    assert read_certificate(path).kernel.abilities is None
