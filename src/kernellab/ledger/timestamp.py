"""Time stamps of RFC 3161: the request for a ledger's root, and what a time-stamping authority's reply proves.

The message is the root as people see it: 64 hex digits, no newline; its SHA-256 is the imprint. So anybody can check a reply
with `openssl ts -verify -digest IMPRINT -in root.tsr -CAfile CA.pem`.
Covered: the imprint, the status, the signature by the certificate in the reply, that this certificate is one for time stamps
and, with a CA given, that the CA vouches for it at that time. Not covered: revoked certificates; without a CA anybody can
play the authority, which is said. Signatures other than RSA (PKCS #1) and ECDSA are left to openssl, which is said too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from kernellab.ledger import der

_SHA256 = "2.16.840.1.101.3.4.2.1"
_HASHES: dict[str, type[hashes.SHA256 | hashes.SHA384 | hashes.SHA512]] = {
    _SHA256: hashes.SHA256, "2.16.840.1.101.3.4.2.2": hashes.SHA384, "2.16.840.1.101.3.4.2.3": hashes.SHA512,
}  # fmt: skip
_SHA256_DER = bytes.fromhex("0609608648016503040201")
_SIGNED_DATA, _TST_INFO = "1.2.840.113549.1.7.2", "1.2.840.113549.1.9.16.1.4"
_CONTENT_TYPE, _MESSAGE_DIGEST = "1.2.840.113549.1.9.3", "1.2.840.113549.1.9.4"
_RSA = ("1.2.840.113549.1.1.1", "1.2.840.113549.1.1.11", "1.2.840.113549.1.1.12", "1.2.840.113549.1.1.13")
_ECDSA = ("1.2.840.10045.4.3.2", "1.2.840.10045.4.3.3", "1.2.840.10045.4.3.4")
Chain = Literal["ca", "not-asked", "unchecked"]


class BadReply(ValueError):
    """A reply that proves nothing, and why."""


@dataclass(frozen=True)
class TimeStamp:
    """`signed`: "ca" where a given CA vouches for the authority, "not-asked" where none was given, "unchecked" where the
    signature is of a kind that is not read here."""

    imprint: str
    time: str
    authority: str
    certificate: str
    signed: Chain


def imprint_of(root: str) -> str:
    return hashlib.sha256(root.encode()).hexdigest()


def request(root: str) -> bytes:
    """A TimeStampReq that asks for the authority's certificate too."""
    algorithm = der.value(der.SEQUENCE, _SHA256_DER, der.value(der.NULL))
    imprint = der.value(der.SEQUENCE, algorithm, der.value(der.OCTETS, bytes.fromhex(imprint_of(root))))
    return der.value(der.SEQUENCE, der.value(der.INTEGER, b"\x01"), imprint, der.value(der.BOOLEAN, b"\xff"))


def read_reply(data: bytes, ca: bytes = b"") -> TimeStamp:
    """What a TimeStampResp proves; BadReply where it is refused, damaged, forged or not vouched for. `ca`: PEM."""
    try:
        status, *token = der.read(data).inner(der.SEQUENCE)
        granted = int.from_bytes(status.inner(der.SEQUENCE)[0].want(der.INTEGER).held, "big")
        if granted not in (0, 1) or not token:
            raise BadReply(f"the authority did not grant it (status {granted})")
        return _token(token[0], x509.load_pem_x509_certificates(ca) if ca else [])
    except BadReply:
        raise
    except (ValueError, IndexError, TypeError) as error:
        raise BadReply(f"it is not a time-stamp reply: {error}") from error


def _token(token: der.Node, roots: Sequence[x509.Certificate]) -> TimeStamp:
    kind, content = token.inner(der.SEQUENCE)
    if kind.text() != _SIGNED_DATA:
        raise BadReply("its token is not signed data")
    parts = content.inner(der.EXPLICIT_0)[0].inner(der.SEQUENCE)
    inside, held = parts[2].inner(der.SEQUENCE)
    if inside.text() != _TST_INFO:
        raise BadReply("what is signed is not a time stamp")
    info = held.inner(der.EXPLICIT_0)[0].want(der.OCTETS).held
    certificates = [
        x509.load_der_x509_certificate(n.raw) for p in parts[3:] if p.tag == der.EXPLICIT_0 for n in p.parts()
    ]
    (signer,) = parts[-1].inner(der.SET)
    imprint, time = _info(info)
    certificate = _signer(signer, certificates)
    checked = _signature(signer, info, certificate)
    if roots:
        _vouched(certificate, certificates, roots, time)
    signed: Chain = "unchecked" if not checked else "ca" if roots else "not-asked"
    name = certificate.subject.rfc4514_string()
    return TimeStamp(imprint, time.isoformat(), name, certificate.fingerprint(hashes.SHA256()).hex()[:16], signed)


def _info(data: bytes) -> tuple[str, datetime]:
    """Imprint and time of a TSTInfo."""
    _, _, imprint, _, time, *_ = der.read(data).inner(der.SEQUENCE)
    algorithm, hashed = imprint.inner(der.SEQUENCE)
    if algorithm.inner(der.SEQUENCE)[0].text() != _SHA256:
        raise BadReply("its imprint is not a SHA-256")
    text = time.want(der.TIME).held.decode("ascii")
    whole, _, fraction = text.removesuffix("Z").partition(".")
    if not text.endswith("Z"):
        raise BadReply(f"its time is not in UTC: {text}")
    moment = datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    micros = int((fraction + "000000")[:6]) if fraction else 0
    return hashed.want(der.OCTETS).held.hex(), moment.replace(microsecond=micros)


def _signer(signer: der.Node, certificates: Iterable[x509.Certificate]) -> x509.Certificate:
    """The certificate that the signature names, by issuer and serial number."""
    issuer, serial = signer.inner(der.SEQUENCE)[1].inner(der.SEQUENCE)
    number = int.from_bytes(serial.want(der.INTEGER).held, "big", signed=True)
    for certificate in certificates:
        if certificate.serial_number == number and certificate.issuer.public_bytes() == issuer.raw:
            return certificate
    raise BadReply("it does not carry the certificate that signed it (ask with certReq)")


def _signature(signer: der.Node, info: bytes, certificate: x509.Certificate) -> bool:
    """False for a kind of signature that is not read here; BadReply for one that does not fit."""
    _, _, method, attributes, algorithm, signature, *_ = signer.inner(der.SEQUENCE)
    known = _HASHES.get(method.inner(der.SEQUENCE)[0].text())
    sort = algorithm.inner(der.SEQUENCE)[0].text()
    if attributes.tag != der.EXPLICIT_0 or known is None:
        return False
    _attributes(attributes, hashlib.new(known.name, info).digest())
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    if list(usage) != [ExtendedKeyUsageOID.TIME_STAMPING]:
        raise BadReply("the certificate that signed it is not one for time stamps")
    statement = bytes([der.SET]) + attributes.raw[1:]
    key, proof = certificate.public_key(), signature.want(der.OCTETS).held
    try:
        if isinstance(key, rsa.RSAPublicKey) and sort in _RSA:
            key.verify(proof, statement, padding.PKCS1v15(), known())
        elif isinstance(key, ec.EllipticCurvePublicKey) and sort in _ECDSA:
            key.verify(proof, statement, ec.ECDSA(known()))
        else:
            return False
    except InvalidSignature:
        raise BadReply("the authority's signature does not fit: it was edited") from None
    return True


def _attributes(attributes: der.Node, digest: bytes) -> None:
    found = {}
    for attribute in attributes.parts():
        kind, values = attribute.inner(der.SEQUENCE)
        found[kind.text()] = values.inner(der.SET)[0]
    if _CONTENT_TYPE not in found or found[_CONTENT_TYPE].text() != _TST_INFO:
        raise BadReply("what was signed is not named as a time stamp")
    if _MESSAGE_DIGEST not in found or found[_MESSAGE_DIGEST].want(der.OCTETS).held != digest:
        raise BadReply("the time stamp is not the one that was signed: it was edited")


def _vouched(
    leaf: x509.Certificate, given: Sequence[x509.Certificate], roots: Sequence[x509.Certificate], at: datetime
) -> None:
    """From the authority's certificate up to one of the trusted ones, each good at that time."""
    trusted = {_der(root) for root in roots}
    current, seen = leaf, 0
    while _der(current) not in trusted:
        seen += 1
        _in_force(current, at)
        above = next(_issuers(current, (*roots, *given)), None)
        if above is None or seen > 8:
            raise BadReply(f"no given CA vouches for '{leaf.subject.rfc4514_string()}'")
        current = above
    _in_force(current, at)


def _issuers(certificate: x509.Certificate, pool: Iterable[x509.Certificate]) -> Iterator[x509.Certificate]:
    for other in pool:
        try:
            certificate.verify_directly_issued_by(other)
            if other.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
                yield other
        except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            continue


def _in_force(certificate: x509.Certificate, at: datetime) -> None:
    if not certificate.not_valid_before_utc <= at <= certificate.not_valid_after_utc:
        raise BadReply(
            f"the certificate of '{certificate.subject.rfc4514_string()}' was not in force at {at.isoformat()}"
        )


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)
