"""The signing key of a person or machine: Ed25519, one file, readable by its owner only.

A key that cannot be kept signs nothing: nobody could resume or certify such a run. Reading needs no key at all.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from kernellab.core.errors import EnvironmentFault

KEY_FILE = "signing-key"
_ELSEWHERE = "set KLAB_HOME to a folder that you can write to (KLAB_HOME=FOLDER klab ...)"


@dataclass(frozen=True)
class PublicKey:
    """The half that stands in the genesis entry; `fingerprint` is the short form that people compare."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != 32:
            raise ValueError(f"an Ed25519 public key has 32 bytes, not {len(self.raw)}")

    @cached_property
    def _verifier(self) -> Ed25519PublicKey:
        return Ed25519PublicKey.from_public_bytes(self.raw)

    @property
    def hex(self) -> str:
        return self.raw.hex()

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()[:16]

    def verifies(self, signature: bytes, data: bytes) -> bool:
        try:
            self._verifier.verify(signature, data)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class SigningKey:
    private: Ed25519PrivateKey

    @classmethod
    def generate(cls) -> SigningKey:
        return cls(Ed25519PrivateKey.generate())

    @cached_property
    def public(self) -> PublicKey:
        encoding, form = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        return PublicKey(self.private.public_key().public_bytes(encoding, form))

    @property
    def fingerprint(self) -> str:
        return self.public.fingerprint

    def sign(self, data: bytes) -> bytes:
        return self.private.sign(data)


def default_key_path(environ: Mapping[str, str]) -> Path:
    if home := environ.get("KLAB_HOME"):
        return Path(home) / KEY_FILE
    if config := environ.get("XDG_CONFIG_HOME"):
        return Path(config) / "kernellab" / KEY_FILE
    return Path("~/.config/kernellab").expanduser() / KEY_FILE


def load_or_create_key(path: Path | None = None) -> SigningKey:
    """The key at `path` (default: the user's), made on first use; a fault where it cannot be kept or read."""
    try:
        path = path or default_key_path(os.environ)
        return _load(path) if path.exists() else _create(path)
    except RuntimeError as error:  # no home folder is known for this user
        raise EnvironmentFault(f"there is no place for a signing key: {error}", fix=_ELSEWHERE) from error
    except OSError as error:
        raise EnvironmentFault(
            f"the signing key {path} cannot be made or read: {error.strerror or error}; "
            "a run without it could never be resumed or certified",
            fix=_ELSEWHERE,
        ) from error


def existing_key(path: Path) -> SigningKey | None:
    """The key at `path`, or None where there is none or it is not this user's to read."""
    try:
        return _load(path) if path.exists() else None
    except OSError:
        return None


def _load(path: Path) -> SigningKey:
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise _unusable(path) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise _unusable(path)
    return SigningKey(private)


def _unusable(path: Path) -> EnvironmentFault:
    return EnvironmentFault(
        f"{path} does not hold an Ed25519 signing key",
        fix=f"restore it, or move it away (mv {path} {path}.bad) and a new key is made",
    )


def _create(path: Path) -> SigningKey:
    """Write aside, then link: the name appears whole or not at all, and of two creators one wins."""
    key = SigningKey.generate()
    pem = key.private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        os.link(aside, path)
    except FileExistsError:
        return _load(path)
    finally:
        aside.unlink(missing_ok=True)
    return key
